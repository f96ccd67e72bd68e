"""The release that users get: a verified release with methods that judge it, show it and write it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kohort.algorithms import Progress, Stop
from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.files.outputs import Outputs
from kohort.io.databases import DatabaseTable, is_url
from kohort.io.streamed_files import StreamedFile
from kohort.io.tables import TableFile
from kohort.pipeline import Request, VerifiedRelease, make_release
from kohort.publication.judged import JudgedRelease
from kohort.publication.origin import DATAFRAME, Origin

if TYPE_CHECKING:
    from kohort.data.numeric_labels import How, Star


def release_of(
    data: Any,
    request: Request,
    *,
    events: Any = None,
    dataset: Dataset | None = None,
    origin: Origin = DATAFRAME,
    progress: Progress | None = None,
    seconds: dict[str, float] | None = None,
    notes: Sequence[str] = (),
    stop: Stop | None = None,
) -> Release:
    """Make the release of a dataframe or of a file that was read; `seconds` may hold the time of reading it.

    `events` is the table of events, where `data` is that of people: a dataframe, or a file that was read.
    `dataset` holds the same records, where somebody looked at them already; `origin` names the other files
    that were read. Notes about the file and those given come before those of the release. Once `stop` returns
    True, the best solution so far is published.
    """
    file = data if isinstance(data, (TableFile, StreamedFile)) else None
    events_file = events if isinstance(events, TableFile) else None
    if dataset is None:
        dataset = Dataset(data) if file is None else file.dataset
    second = None
    if events is not None:
        second = Dataset(events) if events_file is None else events_file.dataset
    made = make_release(dataset, request, events=second, progress=progress, seconds=seconds, stop=stop)
    about_files = [note for found in (file, events_file) if found is not None for note in found.notes]
    made = replace(made, notes=(*about_files, *notes, *made.notes))
    return Release.from_verified(made, replace(origin, file=file, events_file=events_file))


@dataclass(frozen=True, eq=False, repr=False)
class Release(JudgedRelease, VerifiedRelease):
    """A verified release. `table` is the published table, of the kind that came in.

    loss      every cost by its name, measured on what is published
    bound     a lower bound on the least possible value of the chosen cost that was proven again, or None
    solver_bound  one that a solver or the search gives, where it is higher: nothing checked it; or None
    guarantee the approximation factor of this run, or None
    claims    these with their evidence: `checked`, `solver`, `theorem` or `stated`, and the reason
    verdict   what was checked and what was measured
    notes     sentences that the person who signs should read
    origin    the files that it was made from

    `write` writes all files of a release at once; `to_csv`, `to_parquet`, `report`, `dossier`, `certificate`,
    `maps` and `order_file` write one. `summary` shows what came of it.
    """

    origin: Origin = DATAFRAME

    @classmethod
    def from_verified(cls, made: VerifiedRelease, origin: Origin = DATAFRAME) -> Release:
        """A verified release, extended by methods that judge and write it."""
        return cls(**{field.name: getattr(made, field.name) for field in fields(made)}, origin=origin)

    # -- judging: see JudgedRelease -----------------------------------------------------------------------

    def as_numbers(self, column: str, how: How = "midpoint", *, star: Star = "missing", seed: int = 0) -> Any:
        """A published column as numbers or times to compute with; see `ko.as_numbers` for the arguments.

        Whether the values are whole numbers, dates or times is known from the original, and labels of a
        hierarchy, such as `young`, count as the values below them.

        >>> import pyarrow as pa, kohort as ko
        >>> people = pa.table({"age": [21, 22, 41, 42]})
        >>> release = ko.anonymize(people, quasi_identifiers=["age"], k=2, shuffle=False)
        >>> release.as_numbers("age").to_pylist()
        [21.5, 21.5, 41.5, 41.5]
        """
        from kohort.report.published_numbers import published_numbers

        return published_numbers(self, column, how, star=star, seed=seed)

    # -- writing ---------------------------------------------------------------------------------------

    def write(
        self,
        out: str | Path | DatabaseTable,
        *,
        events: str | Path | DatabaseTable | None = None,
        report: str | Path | None = None,
        report_version: Literal["internal", "public"] = "internal",
        dossier: str | Path | None = None,
        dossier_version: Literal["internal", "public"] = "internal",
        certificate: str | Path | None = None,
        certificate_version: Literal["internal", "public"] = "public",
        sign: str | Path | None = None,
        salt: str | Path | None = None,
        maps: str | Path | None = None,
        order_file: str | Path | None = None,
        hierarchies: str | Path | None = None,
        hierarchy_levels: Literal["all", "above"] = "all",
        force: bool = False,
    ) -> dict[str, Any]:
        """Write the release and whatever else is named: all files or, if anything fails, none.

        No file that the release was made from is ever replaced, except for the ledger: it is written with
        the release, which it then remembers. So a release with a ledger is written once.

        Parameters
        ----------
        out
            The published table: a file, whose ending names the format, or a table of a database,
            `ko.database(url, table=...)`, which is created and filled in one transaction.
        events
            The published events, where there are two tables; `out` then has the people. In a database both
            are tables of it.
        report, report_version
            A page for people, HTML or PDF by its ending; the public version may go with the release.
        dossier, dossier_version
            The document for those who must approve the release: HTML or PDF by its ending.
        certificate, certificate_version, sign
            The facts as JSON, public or in full for the holder; with a private key (PEM), also their
            signature beside them, as `.sig`.
        salt
            The file of the secret for a commitment to the original; made if it does not exist.
        maps
            How each value is published, for `ko.apply_maps`; it lists values as they are.
        order_file
            Which original each published record is, for `ko.verify`, readable by its owner only.
        hierarchies, hierarchy_levels, force
            A folder that gets a file per hierarchy: all levels, or those above the leaves, which are values
            of the data. Hierarchy files that exist are replaced only with `force`.

        Returns
        -------
        All facts, those of the internal certificate.
        """
        from kohort.io.salt import salt_for
        from kohort.io.signature import read_private_key
        from kohort.publication.files import ReleaseFiles

        if is_url(out):
            raise InputError("To write to a database, name a table of it: ko.database(url, table=...).")
        if sign is not None and certificate is None:
            raise InputError("'sign' signs the certificate: name the file of the certificate, too.")
        files = ReleaseFiles(
            out=out if isinstance(out, DatabaseTable) else Path(out),
            events=events if isinstance(events, DatabaseTable) else _path(events),
            report=_path(report),
            report_version=report_version,
            dossier=_path(dossier),
            dossier_version=dossier_version,
            certificate=_path(certificate),
            certificate_version=certificate_version,
            key=None if sign is None else read_private_key(sign),
            maps=_path(maps),
            hierarchies=_path(hierarchies),
            hierarchy_levels=hierarchy_levels,
            force=force,
            salt=salt_for(_path(salt)),
            order=_path(order_file),
            ledger=self.origin.ledger,
        )
        if isinstance(out, DatabaseTable) and out.file is not None and self.origin.database is not None:
            self.origin.database.close()  # one process opens such a file for reading or for writing
        reads = (*self.origin.reads, _path(sign), files.salt.read_from)
        return files.write(self, files.outputs(self.request, self.origin.shape, reads))

    def to_csv(self, path: str | Path) -> None:
        """Write the published table as CSV, whole or not at all; what it was made from is never replaced.

        The ending is `.csv`, `.tsv` or `.txt`, with `.gz` or another compression after it if you like.
        `write` writes it together with certificate and report.

        >>> import pyarrow as pa, kohort as ko, tempfile, pathlib
        >>> people = pa.table({"age": [21, 22, 41, 42]})
        >>> release = ko.anonymize(people, quasi_identifiers=["age"], k=2, shuffle=False)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     release.to_csv(f"{folder}/release.csv")
        ...     pathlib.Path(f"{folder}/release.csv").read_text().splitlines()
        ['age', '"[21, 22]"', '"[21, 22]"', '"[41, 42]"', '"[41, 42]"']
        """
        self._write_as("csv", path, "to_csv")

    def to_parquet(self, path: str | Path) -> None:
        """Write the published table as Parquet, in the same safe way as `to_csv`."""
        self._write_as("parquet", path, "to_parquet")

    def _write_as(self, kind: str, path: str | Path, method: str) -> None:
        """Write the published table alone; refused where the ending names another format."""
        from kohort.io.tables import SUFFIXES, format_of

        endings = [ending for ending, stands_for in SUFFIXES.items() if stands_for == kind]
        if self.origin.shape is not None:
            raise InputError(
                f"{method} writes tables, and this is a file of baskets. Use release.write(path)."
            )
        if format_of(path) != kind:
            raise InputError(
                f"{method} writes files that end in {' or '.join(endings)}. Got {Path(path).name!r}. "
                "For other formats, use release.write(path)."
            )
        self.write(path)

    def report(
        self, path: str | Path, *, version: Literal["internal", "public"] = "internal", **more: Any
    ) -> None:
        """Write a page for people, HTML or PDF by its ending: is it safe, what did it cost, what to do next.

        The internal version shows values of the original; the public one may go with the release. `more` may
        hold `sha256` and `salt` (see `facts`), `making` (the command and the spec) and `progress`.
        """
        from kohort.report.asked import check_report_path
        from kohort.report.html import write_report

        check_report_path(path)
        with self._outputs(path).drafts() as draft_of:
            write_report(
                self, draft_of[Path(path)], version=version, **{"making": self.origin.making, **more}
            )

    def dossier(
        self, path: str | Path, *, version: Literal["internal", "public"] = "internal", **more: Any
    ) -> dict[str, Any]:
        """Write what those who must approve a release ask for, HTML or PDF by its ending; its facts.

        Attacks are carried out for it, so it takes some seconds. `more` may hold `population` (a table),
        `sampling_fraction`, `targets`, `seed`, `human` (a summary of human attempts to find people), and what
        `report` takes.
        """
        from kohort.report.dossier.asked import check_dossier
        from kohort.report.dossier.write import write_dossier

        check_dossier(path, version)
        with self._outputs(path).drafts() as draft_of:
            options = {"version": version, "making": self.origin.making, **more}
            return write_dossier(self, draft_of[Path(path)], **options)

    def certificate(
        self,
        path: str | Path,
        *,
        sha256: Mapping[str, str | None] | None = None,
        salt: bytes | None = None,
        sign: str | Path | None = None,
        version: Literal["internal", "public"] = "public",
    ) -> None:
        """Write the facts as JSON; with a private key (PEM), also their signature, as `path`.sig.

        `sha256`, `salt` and `version` are those of `facts`: the internal version is for the holder.
        """
        from kohort.io.certificate import write_certificate
        from kohort.io.signature import read_private_key, sign_file, signature_path

        path, signature = Path(path), signature_path(path)
        key = None if sign is None else read_private_key(sign)
        outputs = self._outputs(path) if sign is None else self._outputs(path, signature).reading(Path(sign))
        with outputs.drafts() as draft_of:
            write_certificate(self.facts(sha256=sha256, salt=salt, version=version), draft_of[path])
            if key is not None:
                sign_file(draft_of[path], draft_of[signature], key)

    def maps(self, path: str | Path, *, spec_sha256: str | None = None) -> None:
        """Write how every value is published, for `ko.apply_maps`; only global recodings have such maps."""
        from kohort.io.maps import write_maps

        maps = self.value_maps(spec_sha256)
        with self._outputs(path).drafts() as draft_of:
            write_maps(maps, draft_of[Path(path)])

    def order_file(self, path: str | Path) -> None:
        """Write which original record each published one is, for `ko.verify`, to a file for its owner only.

        Anybody who has this file and the release can undo the shuffling: do not publish it.
        """
        from kohort.io.order_file import write_order

        with replace(self._outputs(path), private=[Path(path)]).drafts() as draft_of:
            write_order(self.original_rows, draft_of[Path(path)])

    def _outputs(self, *paths: str | Path) -> Outputs:
        """Outputs of these files; what the release was made from is never replaced."""
        reads = [read.file if isinstance(read, DatabaseTable) else read for read in self.origin.reads]
        return Outputs([Path(path) for path in paths], reads=reads)


def _path(name: str | Path | None) -> Path | None:
    return None if name is None else Path(name)
