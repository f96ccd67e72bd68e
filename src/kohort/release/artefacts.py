"""What is written with a release. Each artefact is a class here and a name in ARTEFACTS.

The keywords of `Release.write`, the options of the command line, the files that a run may write and the order
of writing follow from that list. Nothing is loaded before it is needed, so that `--help` answers at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from kohort.errors import InputError, did_you_mean
from kohort.report.asked import check_page, check_version

if TYPE_CHECKING:
    from kohort.algorithms import Progress
    from kohort.data.ledger import Ledger
    from kohort.files.atomic import Outputs
    from kohort.io.databases import DatabaseTable
    from kohort.io.private_files import Salt
    from kohort.release.release import Release
    from kohort.release.targets import Target
    from kohort.statement import Statement
    from kohort.statement.items import BasketShape

Drafts = Mapping[Path, Path]


@dataclass(frozen=True)
class Said:
    """What may be said about an artefact: its keyword, its help, a check, and why it is nothing by itself."""

    keyword: str
    help: str
    check: Callable[[Any], None] | None = None
    beside: str = ""


@dataclass(frozen=True)
class Artefact:
    """A file that is written with a release; a subclass says more about it in its fields.

    name     its keyword in `Release.write` and, with dashes, its option on the command line
    private  whether only its owner may read it
    is_folder  whether it is a folder of files, which is made for it
    spark    whether a release on a cluster can have it
    names_original  whether it needs the hash of the original's file
    """

    name = help = ""
    private = spark = names_original = is_folder = False

    path: Path

    @classmethod
    def said(cls) -> Iterator[tuple[str, Any, Any, Said]]:
        """What may be said about it besides its path: field, type, default and words."""
        hints = get_type_hints(cls, include_extras=True)
        for field in fields(cls):
            if field.name != "path":
                kind, words = hints[field.name].__origin__, hints[field.name].__metadata__[0]
                yield field.name, kind, field.default, words

    @property
    def written(self) -> list[Path]:
        """What is written, as people are told."""
        return [self.path]

    @property
    def reads(self) -> list[Path | None]:
        """What is read for it, which is never written."""
        return []

    @property
    def values_note(self) -> str:
        """A note that it lists values of the data as they are; empty where it does not."""
        return ""

    def files(self, request: Statement) -> list[Path]:
        """All files that it may have."""
        return self.written

    def files_of(self, release: Release) -> list[Path]:
        """The files that it has for this release."""
        return self.files(release.request)

    def new(self, request: Statement) -> list[Path]:
        """Those of its files that must not exist yet."""
        return []

    def check(self) -> None:
        """Refuse what cannot be written, and read what is needed for it: best asked before long work."""

    def refuse(self, release: Release) -> None:
        """Refuse a release that does not have it."""

    def held(self) -> AbstractContextManager[None]:
        """What is locked while it is written."""
        return nullcontext()

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> Any:
        """Write its drafts; `known` has the keywords of `report_facts`."""
        raise NotImplementedError


@dataclass(frozen=True)
class CertificateFile(Artefact):
    """The facts as JSON, and their signature beside them."""

    name = "certificate"
    help = "Also write a certificate (JSON)."
    spark = True
    version: Annotated[
        str,
        Said(
            "certificate_version",
            "'public' may be published with the release; 'internal' has all figures in full.",
            check_version,
        ),
    ] = "public"
    sign: Annotated[
        Path | None,
        Said(
            "sign",
            "Sign the certificate with this private key (PEM); see 'kohort key'.",
            beside="signs the certificate: name the file of the certificate, too (--certificate).",
        ),
    ] = None

    @cached_property
    def key(self) -> Any:
        from kohort.io.private_files import read_private_key

        return None if self.sign is None else read_private_key(self.sign)

    @property
    def written(self) -> list[Path]:
        from kohort.io.private_files import signature_path

        return [self.path] if self.sign is None else [self.path, signature_path(self.path)]

    @property
    def reads(self) -> list[Path | None]:
        return [self.sign]

    def check(self) -> None:
        self.key  # noqa: B018  a wrong key is refused now

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.certificate import write_certificate
        from kohort.io.private_files import sign_file

        asked: dict[str, Any] = {"version": self.version, "sha256": known.get("sha256")}
        write_certificate(release.facts(**asked, salt=known.get("salt")), draft_of[self.path])
        if self.key is not None:
            certificate, signature = (draft_of[path] for path in self.written)
            sign_file(certificate, signature, self.key)


@dataclass(frozen=True)
class ReportFile(Artefact):
    """A page for people."""

    name = "report"
    help = "Also write a report to read (.html or .pdf)."
    spark = names_original = True
    version: Annotated[
        str,
        Said(
            "report_version",
            "'internal' shows values of the data; 'public' may be published with the release.",
            check_version,
        ),
    ] = "internal"

    def check(self) -> None:
        check_page(self.path, self.name)

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> Any:
        from kohort.report.html import write_report

        write_report(release, draft_of[self.path], version=self.version, **known)


@dataclass(frozen=True)
class DossierFile(ReportFile):
    """The document for those who must approve the release."""

    name = "dossier"
    help = "Also write a dossier for those who approve it (.html or .pdf)."
    spark = False
    version: Annotated[
        str, Said("dossier_version", "'internal' shows values of the data; 'public' does not.", check_version)
    ] = "internal"

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> dict[str, Any]:
        from kohort.report.dossier.write import write_dossier

        return write_dossier(release, draft_of[self.path], version=self.version, **known)


@dataclass(frozen=True)
class MapsFile(Artefact):
    """How each value is published, for use on other tables."""

    name = "maps"
    help = "Also write how each value is published (JSON), for 'kohort apply'. It lists values of the data."
    spark = True

    @property
    def values_note(self) -> str:
        return "keep it with the original."

    def refuse(self, release: Release) -> None:
        from kohort.job.maps import refuse_no_maps

        refuse_no_maps(release.problem, release.recoding, release.algorithm)

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.maps import write_maps

        write_maps(release.value_maps(), draft_of[self.path])


@dataclass(frozen=True)
class SaltFile(Artefact):
    """The secret of a commitment to the original: read, or new and written."""

    name = "salt"
    help = (
        "Commit to the original with this secret, which is created if the file does not exist. Keep it "
        "private."
    )
    private = spark = names_original = True

    @cached_property
    def salt(self) -> Salt:
        from kohort.io.private_files import salt_for

        return salt_for(self.path)

    @property
    def written(self) -> list[Path]:
        return [] if self.salt.new_file is None else [self.path]

    @property
    def reads(self) -> list[Path | None]:
        return [self.salt.read_from]

    def new(self, request: Statement) -> list[Path]:
        return self.written

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.private_files import write_salt

        for path in self.written:
            write_salt(self.salt, draft_of[path])


@dataclass(frozen=True)
class OrderFile(Artefact):
    """Which original record each published one is."""

    name = "order_file"
    help = (
        "Also write which original record each published one is (JSON), for 'kohort verify'. Keep it private."
    )
    private = True

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.private_files import write_order

        write_order(release.original_rows, draft_of[self.path])


@dataclass(frozen=True)
class ProofFile(Artefact):
    """What proves the lower bound."""

    name = "proof"
    help = (
        "Also write the proof of the lower bound, for 'kohort-check'. Keep it private: it says which "
        "original record each published one is, and has a price for each."
    )
    private = True

    def refuse(self, release: Release) -> None:
        from kohort.release.beside import refuse_no_proof

        refuse_no_proof(release)

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.release.beside import proof_file_of

        proof_file_of(release).write(draft_of[self.path])


def _check_levels(levels: str) -> None:
    if levels not in (allowed := ("all", "above")):
        raise InputError(f"Unknown hierarchy levels {levels!r}. {did_you_mean(levels, allowed)}")


@dataclass(frozen=True)
class HierarchyFolder(Artefact):
    """A folder that gets a file per hierarchy."""

    name = "hierarchies"
    help = "Also write the hierarchies to this folder, to explain the labels. They list values of the data."
    is_folder = True
    levels: Annotated[
        str,
        Said(
            "hierarchy_levels",
            "What --hierarchies writes: all, or above (only what is above the values).",
            _check_levels,
            beside="says what --hierarchies writes: add --hierarchies with the folder.",
        ),
    ] = "all"
    force: Annotated[bool, Said("force", "Replace hierarchy files that already exist.")] = False

    @property
    def values_note(self) -> str:
        if self.levels != "all":
            return ""
        return "keep it with the original. --hierarchy-levels above leaves them out."

    def files(self, request: Statement) -> list[Path]:
        from kohort.release.beside import columns_with_files, hierarchy_files

        return list(hierarchy_files(self.path, columns_with_files(request)).values())

    def files_of(self, release: Release) -> list[Path]:
        return list(self._trees(release))

    def new(self, request: Statement) -> list[Path]:
        return [] if self.force else self.files(request)

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.hierarchies import write_hierarchy

        for path, tree in self._trees(release).items():
            write_hierarchy(tree, draft_of[path], leaves=self.levels == "all")

    def _trees(self, release: Release) -> dict[Path, Any]:
        """The hierarchies by their files."""
        from kohort.release.beside import columns_with_files, hierarchies_of

        files = dict(zip(columns_with_files(release.request), self.files(release.request)))
        return {files[name]: tree for name, tree in hierarchies_of(release).items()}


@dataclass(frozen=True)
class LedgerEntry(Artefact):
    """The ledger with this release as its last entry; said when a release is made, not when it is written."""

    name = "ledger"
    private = names_original = True

    def held(self) -> AbstractContextManager[None]:
        """No other run adds a release after this one was compared: one that finds it held is refused."""
        from kohort.files.lock import only_one

        return only_one(
            self.path,
            f"Another run is writing to the ledger {str(self.path)!r}, so what was checked here no longer "
            "fits. Make the release again when it has ended.",
        )

    def write(self, release: Release, draft_of: Drafts, known: Mapping[str, Any]) -> None:
        from kohort.io.ledger_file import read_ledger, write_ledger
        from kohort.job.tie import TiedRelease

        tied, key = release.tied, release.request.key
        if not isinstance(tied, TiedRelease):
            raise InputError("The release was made without a ledger: name the ledger when it is made.")
        if not tied.found.holds:
            raise InputError("The release was made for comparison only: it gives people away.")
        now = read_ledger(self.path, key).seal if self.path.exists() else b""
        if now != tied.ledger.seal:
            raise InputError(
                f"The ledger {str(self.path)!r} has another release by now, so what was checked no longer "
                "fits. Make the release again."
            )
        certified = {
            "loss": release.loss.get("loss"),
            "candidates": tied.found.candidates,
            "people": tied.people,
            "suppressed": release.verdict.withheld,
        }
        write_ledger(tied.with_files(dict(known["sha256"]), certified), draft_of[self.path], key)


def ledger_for(path: str | Path | None, key: bytes | None, person: str | None) -> Ledger | None:
    """The ledger that a release is to be a part of: read, or new where there is no such file; None: none."""
    if path is None:
        return None
    from kohort.io.ledger_file import open_ledger

    return open_ledger(path, key, person)


ARTEFACTS: tuple[type[Artefact], ...] = (
    CertificateFile,
    ReportFile,
    DossierFile,
    MapsFile,
    SaltFile,
    OrderFile,
    ProofFile,
    HierarchyFolder,
)


def wanted(said: Mapping[str, Any], ledger: Path | None = None) -> tuple[Artefact, ...]:
    """The artefacts that these keywords name, and the ledger; what cannot be meant is refused.

    A keyword that is None says nothing, and `force` is about hierarchies wherever it is said.
    """
    left = {keyword: value for keyword, value in said.items() if value is not None}
    found: list[Artefact] = []
    for kind in ARTEFACTS:
        path, given = left.pop(kind.name, None), {}
        for field, of, _, words in kind.said():
            value = left.pop(words.keyword, None)
            if value is None:
                continue
            if words.check is not None:
                words.check(value)
            if path is None and words.beside:
                raise InputError(f"--{words.keyword.replace('_', '-')} {words.beside}")
            given[field] = value if of in (str, bool) else Path(value)
        if path is not None:
            found.append(kind(Path(path), **given))
    if left:
        known = [kind.name for kind in ARTEFACTS] + [w.keyword for kind in ARTEFACTS for *_, w in kind.said()]
        raise TypeError(f"write() has no keyword {min(left)!r}. {did_you_mean(min(left), known)}")
    return tuple(found) if ledger is None else (*found, LedgerEntry(ledger))


@dataclass(frozen=True)
class ReleaseFiles:
    """All that is written of a release: its tables, in a place of their kind, and artefacts."""

    target: Target
    artefacts: tuple[Artefact, ...] = ()

    @property
    def written(self) -> list[Any]:
        """What is written, as people are told: the release first."""
        return [*self.target.written, *(path for each in self.artefacts for path in each.written)]

    @property
    def values_notes(self) -> list[str]:
        """Notes about what lists values of the data as they are."""
        return [
            f"{each.path} lists values as they are, not generalized: {each.values_note}"
            for each in self.artefacts
            if each.values_note
        ]

    def outputs(
        self, request: Statement, shape: BasketShape | None, reads: Iterable[Path | DatabaseTable | None]
    ) -> Outputs:
        """All files of a run, refused unless they can be written; best called before long work.

        `shape` is that of a file of baskets, None for tables; `reads` are the files and the tables of
        databases that the run reads.
        """
        from kohort.files.atomic import Outputs
        from kohort.io.databases import DatabaseTable

        reads = [*reads, *(path for each in self.artefacts for path in each.reads)]
        for each in self.artefacts:
            each.check()
        self.target.refuse(request, shape, self.artefacts)
        found = Outputs(
            [*self.target.files, *(path for each in self.artefacts for path in each.files(request))],
            new=[path for each in self.artefacts for path in each.new(request)],
            reads=[source.file if isinstance(source, DatabaseTable) else source for source in reads],
            folder=next((each.path for each in self.artefacts if each.is_folder), None),
            private=[path for each in self.artefacts if each.private for path in each.files(request)],
        )
        found.check()
        self.target.refuse_reads(shape, reads)
        return found

    def write(
        self, release: Release, outputs: Outputs, *, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Write everything, or nothing if a part fails; returns the facts that the certificate holds."""
        for each in self.artefacts:
            each.refuse(release)
        paths = [*self.target.files, *(path for each in self.artefacts for path in each.files_of(release))]
        named = any(each.names_original for each in self.artefacts)
        known: dict[str, Any] = {
            "salt": next((each.salt.value for each in self.artefacts if isinstance(each, SaltFile)), None),
            "making": {**release.origin.making, "release": self.target.name},
            "progress": progress,
        }
        with ExitStack() as stack:
            for each in self.artefacts:
                stack.enter_context(each.held())
            made = stack.enter_context(self.target.tables(release, outputs, paths, progress))
            original = release.dataset.sha256() or release.origin.sha256 if named else None
            known["sha256"] = {"input": original, **made.sha256}
            told = replace(release, notes=(*release.notes, *made.notes)) if made.notes else release
            facts = told.facts(sha256=known["sha256"], salt=known["salt"])
            for each in self.artefacts:
                each.write(told, made.draft_of, known)
        return facts
