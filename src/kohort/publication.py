"""A release on the disk: table, certificate, signature, report, maps and more, all of them or none."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.algorithms import Progress
from kohort.checked_write import write_checked
from kohort.errors import InputError, did_you_mean
from kohort.io.baskets import BasketShape, write_data
from kohort.io.hierarchies import write_hierarchy
from kohort.io.hierarchy_folder import columns_with_files, hierarchies_of, hierarchy_files
from kohort.io.maps import write_maps
from kohort.io.order_file import write_order
from kohort.io.outputs import Outputs
from kohort.io.salt import NO_SALT, Salt, write_salt
from kohort.io.signature import sign_file, signature_path
from kohort.io.source_file import sha256_of
from kohort.io.tables import TableFile, format_of
from kohort.pipeline import Release, Request
from kohort.pipeline.release import certificate_text
from kohort.report.facts import check_version
from kohort.report.html import check_report_path, write_report

__all__ = ["LEVELS", "ReleaseFiles"]

LEVELS = ("all", "above")


@dataclass(frozen=True)
class ReleaseFiles:
    """The files that a release is written to.

    key               the private key that signs the certificate, as `read_private_key` gives it
    hierarchies       a folder that gets a file per hierarchy
    hierarchy_levels  all, or above: without the leaves, which are values of the data
    force             whether hierarchy files that are there already are replaced
    salt              the secret of the commitment to the original, and the file that a new one is written to
    order             the order file, which only its owner may read
    """

    out: Path
    report: Path | None = None
    report_version: str = "internal"
    certificate: Path | None = None
    key: Any = None
    maps: Path | None = None
    hierarchies: Path | None = None
    hierarchy_levels: str = "all"
    force: bool = False
    salt: Salt = NO_SALT
    order: Path | None = None

    @property
    def single(self) -> list[Path]:
        """All files but those in the folder of hierarchies."""
        signed = self.certificate is not None and self.key is not None
        signature = signature_path(str(self.certificate)) if signed else None
        chosen = (self.out, self.certificate, self.report, self.maps, signature, *self.private)
        return [path for path in chosen if path is not None]

    @property
    def private(self) -> list[Path]:
        """The files that nobody but their owner may read."""
        return [path for path in (self.salt.new_file, self.order) if path is not None]

    @property
    def with_values(self) -> list[Path]:
        """The files that list values of the data as they are."""
        leaves = self.hierarchies if self.hierarchy_levels == "all" else None
        return [path for path in (self.maps, leaves) if path is not None]

    def outputs(self, request: Request, shape: BasketShape | None, reads: Collection[Path | None]) -> Outputs:
        """All files of a run that reads these, once they are known to be writable. Asked before long work."""
        if shape is None:
            format_of(self.out)
        check_version(self.report_version)
        if self.report is not None:
            check_report_path(self.report)
        if self.hierarchy_levels not in LEVELS:
            raise InputError(
                f"There are no hierarchy levels {self.hierarchy_levels!r}. "
                f"{did_you_mean(self.hierarchy_levels, LEVELS)}"
            )
        listed = list(self._hierarchy_files(request).values())
        secret = [path for path in [self.salt.new_file] if path is not None]
        found = Outputs(
            (*self.single, *listed),
            secret if self.force else [*secret, *listed],
            reads=reads,
            folder=self.hierarchies,
            private=self.private,
        )
        found.check()
        return found

    def write(
        self,
        release: Release,
        outputs: Outputs,
        source: TableFile,
        *,
        shape: BasketShape | None = None,
        making: Mapping[str, str] | None = None,
        spec_sha256: str | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Write everything or nothing; the facts as the certificate holds them."""
        trees, files = hierarchies_of(release), self._hierarchy_files(release.request)
        with outputs.drafts([*self.single, *(files[name] for name in trees if files)]) as draft_of:
            start = time.perf_counter()
            delimiter = None if ".tsv" in self.out.suffixes else source.delimiter
            formulas = release.request.formulas
            write_data(release.arrow, draft_of[self.out], shape, delimiter=delimiter, formulas=formulas)
            release.seconds["write"] = time.perf_counter() - start
            sha256 = {"input": source.sha256, "output": sha256_of(draft_of[self.out])}
            if self.certificate is not None:
                draft = draft_of[self.certificate]
                write_checked(draft, certificate_text(release.facts(sha256=sha256, salt=self.salt.value)))
                if self.key is not None:
                    sign_file(draft, draft_of[signature_path(self.certificate)], self.key)
            if self.report is not None:
                options = {"version": self.report_version, "making": making, "progress": progress}
                write_report(release, draft_of[self.report], sha256=sha256, salt=self.salt.value, **options)
            if self.maps is not None:
                write_maps(release.maps_of_values(spec_sha256=spec_sha256), draft_of[self.maps])
            for name in trees if files else ():
                write_hierarchy(trees[name], draft_of[files[name]], leaves=self.hierarchy_levels == "all")
            if self.salt.new_file is not None:
                write_salt(self.salt, draft_of[self.salt.new_file])
            if self.order is not None:
                write_order(release.original_rows, draft_of[self.order])
        return release.facts(sha256=sha256, salt=self.salt.value)

    def _hierarchy_files(self, request: Request) -> dict[str, Path]:
        if self.hierarchies is None:
            return {}
        return hierarchy_files(self.hierarchies, columns_with_files(request))
