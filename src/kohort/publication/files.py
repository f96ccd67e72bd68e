"""The files of a release: table, certificate, signature, report, maps and more, all or none."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.algorithms import Progress
from kohort.data.streamed_dataset import StreamedDataset
from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.files.outputs import Outputs
from kohort.io.baskets import BasketShape
from kohort.io.columns import Slices, rows_per_slice
from kohort.io.data_files import write_data_slices
from kohort.io.databases import DatabaseTable
from kohort.io.databases.table_draft import TableDraft, table_draft
from kohort.io.hierarchies import write_hierarchy
from kohort.io.hierarchy_folder import columns_with_files, hierarchies_of, hierarchy_files
from kohort.io.order_file import write_order
from kohort.io.salt import NO_SALT, Salt, write_salt
from kohort.io.signature import sign_file, signature_path
from kohort.io.tables import format_of, writes_slices
from kohort.pipeline import Request
from kohort.pipeline.public import public_version
from kohort.publication.into_database import load_release, refuse_target
from kohort.publication.ledger import next_in, write_entry
from kohort.publication.release import Release
from kohort.publication.written import check_file, write_verified
from kohort.report.asked import check_report_path, check_version
from kohort.report.dossier.asked import check_dossier

_LEVELS = ("all", "above")


@dataclass(frozen=True)
class ReleaseFiles:
    """The files that a release is written to; the table itself may be one of a database.

    out               the published table
    events            of people and events: the published events, while `out` has the people; where that is
                      a table of a database, another table of it
    certificate_version  public, or internal: with all figures, for the holder
    key               the private key that signs the certificate, as `read_private_key` gives it
    hierarchies       a folder that gets a file per hierarchy
    hierarchy_levels  all, or above: without the leaves, which are values of the data
    force             whether hierarchy files that exist already are replaced
    salt              the secret of the commitment to the original, and the file that a new one is written to
    order             the order file, which only its owner may read
    dossier           the dossier for those who approve the release; its version as that of the report
    ledger            the ledger that the release becomes a part of, which only its owner may read
    """

    out: Path | DatabaseTable
    report: Path | None = None
    report_version: str = "internal"
    certificate: Path | None = None
    certificate_version: str = "public"
    key: Any = None
    maps: Path | None = None
    hierarchies: Path | None = None
    hierarchy_levels: str = "all"
    force: bool = False
    salt: Salt = NO_SALT
    order: Path | None = None
    events: Path | DatabaseTable | None = None
    dossier: Path | None = None
    dossier_version: str = "internal"
    ledger: Path | None = None

    @property
    def single(self) -> list[Path]:
        """All files except those in the folder of hierarchies."""
        chosen = (
            *(None if isinstance(path, DatabaseTable) else path for path in (self.out, self.events)),
            self.certificate,
            self.report,
            self.dossier,
            self.maps,
            self.signature,
            *self.private,
        )
        return [path for path in chosen if path is not None]

    @property
    def signature(self) -> Path | None:
        """The file of the certificate's signature; None if nothing is signed."""
        if self.certificate is None or self.key is None:
            return None
        return signature_path(self.certificate)

    @property
    def private(self) -> list[Path]:
        """The files that nobody but their owner may read."""
        return [path for path in (self.salt.new_file, self.order, self.ledger) if path is not None]

    @property
    def with_values(self) -> list[Path]:
        """The files that list values of the data as they are."""
        leaves = self.hierarchies if self.hierarchy_levels == "all" else None
        return [path for path in (self.maps, leaves) if path is not None]

    @property
    def written(self) -> list[Path | DatabaseTable]:
        """What is written, as people are told: the release first, and the folder of hierarchies last."""
        first = [table for table in (self.out, self.events) if isinstance(table, DatabaseTable)]
        return [*first, *self.single, *([] if self.hierarchies is None else [self.hierarchies])]

    def outputs(
        self,
        request: Request,
        shape: BasketShape | None,
        reads: Collection[Path | DatabaseTable | None],
    ) -> Outputs:
        """All files of a run, refused unless they can be written; best called before long work.

        `shape` is that of a file of baskets, None for tables; `reads` are the files and the tables of
        databases that the run reads.
        """
        self._check_options(request, shape)
        files = [source.file if isinstance(source, DatabaseTable) else source for source in reads]
        listed = list(self._hierarchy_files(request).values())
        secret = [path for path in [self.salt.new_file] if path is not None]
        found = Outputs(
            (*self.single, *listed),
            secret if self.force else [*secret, *listed],
            reads=files,
            folder=self.hierarchies,
            private=self.private,
        )
        found.check()
        if isinstance(self.out, DatabaseTable):
            assert not isinstance(self.events, Path)
            refuse_target(self.out, self.events, shape, reads)
        return found

    def write(
        self, release: Release, outputs: Outputs, *, progress: Progress | None = None
    ) -> dict[str, Any]:
        """Write everything, or nothing if a part fails; returns the facts that the certificate holds."""
        if not isinstance(self.out, DatabaseTable):
            with next_in(self.ledger), outputs.drafts(self._files_of(release)) as draft_of:
                return self._write(release, draft_of, draft_of[self.out], None, progress)
        assert not isinstance(self.events, Path)
        with (
            table_draft(self.out, self.events) as table,
            outputs.drafts(self._files_of(release), commit=table.commit) as draft_of,
        ):
            facts = self._write(release, draft_of, table.path, table, progress)
            load_release(release, table, progress)
        return facts

    def _files_of(self, release: Release) -> list[Path]:
        return [*self.single, *self._trees(release)]

    def _trees(self, release: Release) -> dict[Path, Any]:
        """The hierarchies by their files."""
        trees, files = hierarchies_of(release), self._hierarchy_files(release.request)
        return {files[name]: tree for name, tree in trees.items()} if files else {}

    def _write(
        self,
        release: Release,
        draft_of: Mapping[Path, Path],
        out: Path,
        table: TableDraft | None,
        progress: Progress | None,
    ) -> dict[str, Any]:
        """Write all drafts; `out` is that of the release, and `table` what becomes of it in a database."""
        start = time.perf_counter()
        events = draft_of[self.events] if isinstance(self.events, Path) else None
        if table is not None and table.events is not None:
            events = table.events.path
        written = self._write_tables(release, out, events, progress)
        release.seconds["write"] = time.perf_counter() - start
        if table is not None:
            written = [draft.sha256 for draft in (table, table.events) if draft is not None]
        hashes = {"input": release.origin.sha256, **dict(zip(("output", "events"), written))}
        hashed: dict[str, Any] = {"sha256": hashes, "salt": self.salt.value}
        facts = release.facts(**hashed)
        public = self.certificate_version == "public"
        self._write_certificate(public_version(facts) if public else facts, draft_of)
        self._write_report(release, draft_of, hashed | {"progress": progress})
        self._write_dossier(release, draft_of, hashed | {"progress": progress})
        self._write_private_files(release, draft_of)
        if self.ledger is not None:
            write_entry(release, self.ledger, draft_of[self.ledger], hashes)
        for path, tree in self._trees(release).items():
            write_hierarchy(tree, draft_of[path], leaves=self.hierarchy_levels == "all")
        return facts

    def _check_options(self, request: Request, shape: BasketShape | None) -> None:
        if (request.events is None) != (self.events is None):
            raise InputError(
                "A release of people and events is two files: name that of the events, too (--events-out, in "
                "Python: write(out, events=...))."
                if self.events is None
                else "The release is one file: leave out the one for the events."
            )
        if self.events is not None:
            self._check_two_tables()
        if self.ledger is not None and isinstance(self.out, DatabaseTable):
            raise UnsupportedError(
                "A release that is tied to a ledger is written to a file: both are replaced, or neither is. "
                "Write a file, and load it into the database."
            )
        for path in (self.out, self.events):
            if shape is None and isinstance(path, Path):
                format_of(path)
        check_version(self.report_version)
        check_version(self.certificate_version)
        if self.report is not None:
            check_report_path(self.report)
        check_dossier(self.dossier, self.dossier_version)
        if self.hierarchy_levels not in _LEVELS:
            raise InputError(
                f"Unknown hierarchy levels {self.hierarchy_levels!r}. "
                f"{did_you_mean(self.hierarchy_levels, _LEVELS)}"
            )

    def _check_two_tables(self) -> None:
        """Refuse people and events in places that are not written by one step."""
        in_database = [isinstance(place, DatabaseTable) for place in (self.out, self.events)]
        if any(in_database) and not all(in_database):
            raise InputError("People and events are written to two files, or to two tables of one database.")
        if isinstance(self.out, DatabaseTable) and isinstance(self.events, DatabaseTable):
            if self.out.address != self.events.address:
                raise InputError("People and events are two tables of one database: give one URL for both.")
            if self.out.table == self.events.table:
                raise InputError("People and events are two tables: give them two names.")

    def _write_tables(
        self, release: Release, out: Path, events: Path | None, progress: Progress | None
    ) -> list[str]:
        """Write the tables, and read each back; their hashes."""
        origin, hashes = release.origin, []
        if isinstance(release.dataset, StreamedDataset) and writes_slices(out):
            delimiter = None if origin.file is None or ".tsv" in out.suffixes else origin.file.delimiter
            options: dict[str, Any] = {"delimiter": delimiter, "formulas": release.request.formulas}
            with release.slices(rows_per_slice, out.parent, progress) as (schema, tables, check):
                write_data_slices(Slices(schema, tables), out, **options)
            return [check_file(check.of_written, out, **options)]
        for table, path, file in zip(release.parted, (out, events), (origin.file, origin.events_file)):
            if table is None or path is None:
                continue
            delimiter = None if file is None or ".tsv" in path.suffixes else file.delimiter
            formulas = release.request.formulas
            shape = None if isinstance(self.out, DatabaseTable) else origin.shape  # there, lists are cells
            hashes.append(write_verified(table, path, shape, delimiter=delimiter, formulas=formulas))
        return hashes

    def _write_certificate(self, facts: dict[str, Any], draft_of: Mapping[Path, Path]) -> None:
        if self.certificate is not None:
            from kohort.io.certificate import write_certificate

            write_certificate(facts, draft_of[self.certificate])
            if self.signature is not None:
                sign_file(draft_of[self.certificate], draft_of[self.signature], self.key)

    def _write_report(self, release: Release, draft_of: Mapping[Path, Path], more: dict[str, Any]) -> None:
        if self.report is not None:
            from kohort.report.html import write_report

            making = {**release.origin.making, "release": self.out.name}
            options = {"version": self.report_version, "making": making, **more}
            write_report(release, draft_of[self.report], **options)

    def _write_dossier(self, release: Release, draft_of: Mapping[Path, Path], more: dict[str, Any]) -> None:
        if self.dossier is not None:
            from kohort.report.dossier.write import write_dossier

            making = {**release.origin.making, "release": self.out.name}
            options = {"version": self.dossier_version, "making": making, **more}
            write_dossier(release, draft_of[self.dossier], **options)

    def _write_private_files(self, release: Release, draft_of: Mapping[Path, Path]) -> None:
        """Write what stays with the steward: maps, the salt and the order file."""
        if self.maps is not None:
            from kohort.io.maps import write_maps

            write_maps(release.value_maps(release.origin.spec_sha256), draft_of[self.maps])
        if self.salt.new_file is not None:
            write_salt(self.salt, draft_of[self.salt.new_file])
        if self.order is not None:
            write_order(release.original_rows, draft_of[self.order])

    def _hierarchy_files(self, request: Request) -> dict[str, Path]:
        if self.hierarchies is None:
            return {}
        return hierarchy_files(self.hierarchies, columns_with_files(request))
