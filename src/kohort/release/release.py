"""The release: a published table that passed its verification, judged, shown and written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from kohort.errors import InputError, counted
from kohort.files.atomic import Outputs
from kohort.io.databases import DatabaseTable
from kohort.job.columns import ItemsPart
from kohort.job.figures import gap_to
from kohort.job.order import PublishedOrder
from kohort.job.public import HoldsOriginal, committed, public_version, release_facts
from kohort.job.publish import Published
from kohort.job.two_files import OneFile, TwoFiles
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.recoding import Recoding
from kohort.release.artefacts import (
    Artefact,
    CertificateFile,
    DossierFile,
    MapsFile,
    OrderFile,
    ReleaseFiles,
    ReportFile,
    wanted,
)
from kohort.release.origin import Origin
from kohort.statement import Statement
from kohort.tables.table import Table
from kohort.verification import Claim, Verdict

if TYPE_CHECKING:
    from kohort.data.numeric_labels import How, Star
    from kohort.job.maps import Maps
    from kohort.job.sides import BeforeAfter
    from kohort.job.tie import TiedRelease
    from kohort.release.job import Untied
    from kohort.release.targets import Target
    from kohort.report.summary import Summary

Version = Literal["internal", "public"]


@dataclass(frozen=True, eq=False, repr=False)
class Release(HoldsOriginal):
    """A release that has passed its verification. `table` is the published table, of the kind that came in.

    `write` writes all files of a release at once; `to_csv`, `to_parquet`, `report`, `dossier`, `certificate`,
    `maps` and `order_file` write one. `summary` shows what came of it.

    loss      every cost by its name, measured on what is published; means over records are weighted by a
              column with the role weight, if there is one
    unweighted_loss  these means with all records counted alike; None without such a column
    claims    what is known of the least possible value of the chosen cost, with the evidence of each figure
    notes     sentences that the person who signs should read
    items     what became of the column of items, or None
    scheme    of a search for a scheme: the columns' schemes, and what is proven of their recodings; or None
    recoding  how each record is published, in codes
    cut_by_time  whether a time limit ended the search; only then may the same input, spec, version and seed
              give a different release
    published the table as it is published, in its order: the one that was verified
    order     what the order in which the records are published gives away
    tied      its place among all releases of the same people
    origin    the files that it was made from
    """

    _instead = (
        "Keep release.table and release.facts() or release.certificate(path) instead; other processes should "
        "send these back."
    )

    dataset: Table
    request: Statement
    roles: Roles
    problem: Problem
    published: Published
    verdict: Verdict
    loss: dict[str, float]
    algorithm: str
    parameters: dict[str, Any]
    claims: Mapping[str, Claim]
    notes: tuple[str, ...]
    seconds: dict[str, float]
    recoding: Recoding
    order: PublishedOrder
    tied: TiedRelease | Untied
    origin: Origin
    unweighted_loss: dict[str, float] | None = None
    items: ItemsPart | None = None
    scheme: dict[str, Any] | None = None
    cut_by_time: bool = False

    @property
    def files(self) -> OneFile | TwoFiles:
        """The table, or the two that were joined for it."""
        return self.published.files

    @property
    def table(self) -> Any:
        """The published table: pandas, Polars or PyArrow, as it came. Of two tables, that of the people."""
        return self._native[0]

    @property
    def events(self) -> Any:
        """The published table of events, of the kind that came in; None where there is one table."""
        return self._native[1] if len(self._native) > 1 else None

    @property
    def arrow(self) -> pa.Table:
        """The published table in Arrow, with dictionaries where values repeat; two tables are joined."""
        return self.published.arrow

    @cached_property
    def _native(self) -> tuple[Any, ...]:
        return self.files.native(self.published)

    @cached_property
    def sides(self) -> BeforeAfter:
        """The original and the published table in codes, read once for risk, utility and report.

        Of a table on a cluster, they are counts, and where to count.
        """
        if self.dataset.in_one_place:
            from kohort.job.sides import before_after as read
        else:
            from kohort.job.spark.sides import counted_sides as read
        return read(self)

    @property
    def cost(self) -> float:
        """The value of the cost that was asked for."""
        return self.loss[self.problem.cost.name]

    @property
    def bound(self) -> float | None:
        """A lower bound on the least possible value of the chosen cost that verification proved, or None."""
        return self._claimed("bound")

    @property
    def solver_bound(self) -> float | None:
        """A higher lower bound, or the only one, that a solver or the search gives; nothing checked it."""
        return self._claimed("solver_bound")

    @property
    def guarantee(self) -> float | None:
        """The approximation factor of this run, or None; `claims` says what it rests on."""
        return self._claimed("guarantee")

    def _claimed(self, name: str) -> float | None:
        return self.claims[name].figure if name in self.claims else None

    @property
    def gap(self) -> float | None:
        """How far the cost is above the bound, as a share of the bound; 0 where only rounding is between."""
        return gap_to(self.bound, self.cost)

    @property
    def solver_gap(self) -> float | None:
        """How far the cost is above `solver_bound`: a solver's word, too."""
        return gap_to(self.solver_bound, self.cost)

    @property
    def original_rows(self) -> np.ndarray:
        """The number of the original of each published record, counted from 0; -1 for a counterfeit."""
        return self.published.originals

    @property
    def suppressed_as(self) -> str | None:
        """How withheld records are published: star, drop (left out), or None if there are none."""
        if not self.verdict.withheld:
            return None
        return "drop" if self.published.n_left_out else "star"

    def __repr__(self) -> str:
        promises = "; ".join(model.promise for model in self.verdict.models)
        return (
            f"<Release of {counted(self.dataset.n_records, 'record')} in "
            f"{counted(self.verdict.classes, 'class', 'classes')}: "
            f"{promises}; {self.problem.cost.name} {self.cost:.4g}>"
        )

    def facts(
        self,
        *,
        sha256: Mapping[str, str | None] | None = None,
        salt: bytes | None = None,
        version: Version = "internal",
    ) -> dict[str, Any]:
        """The facts that certificate, report and `--json` show, without any cell of the data.

        The public version has only figures that follow from the release or that test no guess of the
        original; the internal one, for the holder, has all of them in full.

        `sha256` holds the hashes of the files, `input` and `output`. That of the input lets anybody test
        guesses of the original, so it is left out; with a secret `salt` there is a commitment to it instead.
        """
        found = release_facts(self) | committed(sha256, salt)
        return found if version == "internal" else public_version(found)

    # -- judging ---------------------------------------------------------------------------------------

    def risk(self, **options: Any) -> dict[str, Any]:
        """How likely people are found, before and after; the options are those of `kohort.assess_risk`."""
        from kohort.risk import assess_risk

        return assess_risk(self, **options)

    def utility(self, **options: Any) -> dict[str, Any]:
        """How useful the release still is; the options are those of `kohort.measure_utility`."""
        from kohort.utility import measure_utility

        return measure_utility(self, **options)

    def summary(self) -> Summary:
        """What a person asks first: is it safe, what did it cost, what became of each column.

        It prints well in a terminal and in a notebook, shows no value, and `to_dict()` makes it plain data.

        >>> import pyarrow as pa, kohort as ko
        >>> people = pa.table({"age": [21, 22, 41, 42]})
        >>> print(ko.anonymize(people, quasi_identifiers=["age"], k=2).summary())  # doctest: +ELLIPSIS
        Every promise holds...
        4 records in 2 classes, the smallest with 2; 0 withheld...
        """
        from kohort.report.summary import summary_of

        return summary_of(self)

    def _repr_html_(self) -> str:
        """How a notebook shows a release: the verdict and its figures, no value of the data."""
        from kohort.report.html import notebook_page

        return notebook_page(self)

    def value_maps(self) -> Maps:
        """The maps of every value; refused unless a value is published alike wherever it occurs."""
        from kohort.job.maps import maps_of

        maps = maps_of(self.request, self.problem, self.recoding, algorithm=self.algorithm)
        return replace(maps, spec_sha256=self.origin.spec_sha256)

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
        from kohort.report.columns import published_numbers

        return published_numbers(self, column, how, star=star, seed=seed)

    # -- writing ---------------------------------------------------------------------------------------

    def write(
        self,
        out: str | Path | DatabaseTable,
        *,
        events: str | Path | DatabaseTable | None = None,
        **artefacts: Any,
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
        files = ReleaseFiles(self._target(out, events), wanted(artefacts, self.origin.ledger))
        if isinstance(out, DatabaseTable) and out.file is not None:
            self.origin.close()  # one process opens such a file for reading or for writing
        return files.write(self, files.outputs(self.request, self.origin.shape, self.origin.reads))

    def _target(self, out: Any, events: Any) -> Target:
        """The place that a release like this is written to."""
        if not self.dataset.in_one_place:
            from kohort.release.on_spark import ClusterTarget

            return ClusterTarget(str(out), events, named=self.dataset.files is not None)
        from kohort.release.targets import target_of

        return target_of(out, events)

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
        from kohort.io.formats import FORMATS, format_of

        (wanted,) = (known for known in FORMATS if known.name == kind)
        if self.origin.shape is not None:
            raise InputError(
                f"{method} writes tables, and this is a file of baskets. Use release.write(path)."
            )
        if format_of(path) is not wanted:
            raise InputError(
                f"{method} writes files that end in {' or '.join(wanted.suffixes)}. Got {Path(path).name!r}. "
                "For other formats, use release.write(path)."
            )
        self.write(path)

    def report(self, path: str | Path, *, version: Version = "internal", **more: Any) -> None:
        """Write a page for people, HTML or PDF by its ending: is it safe, what did it cost, what to do next.

        The internal version shows values of the original; the public one may go with the release. `more` may
        hold `sha256` and `salt` (see `facts`), `making` (the command and the spec) and `progress`.
        """
        self._write_one(ReportFile(Path(path), version), **more)

    def dossier(self, path: str | Path, *, version: Version = "internal", **more: Any) -> dict[str, Any]:
        """Write what those who must approve a release ask for, HTML or PDF by its ending; its facts.

        Attacks are carried out for it, so it takes some seconds. `more` may hold `population` (a table),
        `sampling_fraction`, `targets`, `seed`, `human` (a summary of human attempts to find people), and what
        `report` takes.
        """
        return self._write_one(DossierFile(Path(path), version), **more)

    def certificate(
        self,
        path: str | Path,
        *,
        sha256: Mapping[str, str | None] | None = None,
        salt: bytes | None = None,
        sign: str | Path | None = None,
        version: Version = "public",
    ) -> None:
        """Write the facts as JSON; with a private key (PEM), also their signature, as `path`.sig.

        `sha256`, `salt` and `version` are those of `facts`: the internal version is for the holder.
        """
        key = None if sign is None else Path(sign)
        self._write_one(CertificateFile(Path(path), version, key), sha256=sha256, salt=salt)

    def maps(self, path: str | Path, *, spec_sha256: str | None = None) -> None:
        """Write how every value is published, for `ko.apply_maps`; only global recodings have such maps."""
        origin = replace(self.origin, spec_sha256=spec_sha256)
        replace(self, origin=origin)._write_one(MapsFile(Path(path)))

    def order_file(self, path: str | Path) -> None:
        """Write which original record each published one is, for `ko.verify`, to a file for its owner only.

        Anybody who has this file and the release can undo the shuffling: do not publish it.
        """
        self._write_one(OrderFile(Path(path)))

    def _write_one(self, artefact: Artefact, **known: Any) -> Any:
        """Write an artefact alone; what the release was made from is never replaced."""
        artefact.check()
        reads = [read.file if isinstance(read, DatabaseTable) else read for read in self.origin.reads]
        paths = artefact.files_of(self)
        private = paths if artefact.private else []
        with Outputs(paths, reads=[*reads, *artefact.reads], private=private).drafts() as draft_of:
            return artefact.write(self, draft_of, {"making": self.origin.making, **known})

    def close(self) -> None:
        """Give up what a cluster holds of the release and of its original; `table` is gone there then."""
        self.published.close()
