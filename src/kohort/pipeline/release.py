"""What the job makes: the published table, the verdict on it, and every fact that a certificate holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from kohort.algorithms import Progress
from kohort.data.dataset import Dataset
from kohort.errors import counted
from kohort.pipeline.again.tie import TiedRelease
from kohort.pipeline.before_after import BeforeAfter, before_after
from kohort.pipeline.commitment import committed
from kohort.pipeline.figures import gap_to
from kohort.pipeline.order import PublishedOrder
from kohort.pipeline.private import HoldsOriginal
from kohort.pipeline.public import public_version
from kohort.pipeline.publish import Published
from kohort.pipeline.published_items import ItemsPart
from kohort.pipeline.request import Request
from kohort.pipeline.streaming import published_slices
from kohort.pipeline.two_files import TwoFiles
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.recoding import Recoding
from kohort.verification import Claim, SliceCheck, Verdict
from kohort.version import __version__


@dataclass(frozen=True, eq=False, repr=False)
class VerifiedRelease(HoldsOriginal):
    """A release that has passed its verification. `table` is the published table, of the kind that came in.

    It touches no file. `kohort.publication.Release` is the same with methods that judge and write it.

    loss      every cost by its name, measured on what is published; means over records are weighted by a
              column with the role weight, if there is one
    unweighted_loss  these means with all records counted alike; None without such a column
    claims    what is known of the least possible value of the chosen cost, with the evidence of each figure
    verdict   what was checked and what was measured
    notes     sentences that the person who signs should read
    problem   what was asked, in codes
    items     what became of the column of items, or None
    scheme    of a search for a scheme: the columns' schemes, and what is proven of their recodings; or None
    recoding  how each record is published, in codes
    cut_by_time  whether a time limit ended the search; only then may the same input, spec, version and seed
              give a different release
    published the table as it is published, in its order: the one that was verified
    order     what the order in which the records are published gives away
    files     the tables of people and of events that were joined for it; None where there is one table
    tied      its place among all releases of the same people; None without a ledger
    """

    _instead = (
        "Keep release.table and release.facts() or release.certificate(path) instead; other processes should "
        "send these back."
    )

    dataset: Dataset
    request: Request
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
    unweighted_loss: dict[str, float] | None = None
    items: ItemsPart | None = None
    scheme: dict[str, Any] | None = None
    cut_by_time: bool = False
    order: PublishedOrder | None = None
    files: TwoFiles | None = None
    tied: TiedRelease | None = None

    @property
    def columns(self) -> Mapping[str, pa.Array | None]:
        """The columns that are changed, in the order of the original; None: the column is dropped."""
        return self.published.columns

    @property
    def rows(self) -> np.ndarray | None:
        """The records that are published, in this order; None: all of them, as they came."""
        return self.published.kept

    @property
    def counterfeits(self) -> int:
        """How many of the published records are nobody's."""
        return self.published.counterfeits

    @property
    def table(self) -> Any:
        """The published table: pandas, Polars or PyArrow, as it came. Of two tables, that of the people."""
        return self.published.native if self.files is None else self._native_files[0]

    @property
    def events(self) -> Any:
        """The published table of events, of the kind that came in; None where there is one table."""
        return None if self.files is None else self._native_files[1]

    @property
    def arrow(self) -> pa.Table:
        """The published table in Arrow, with dictionaries where values repeat; two tables are joined."""
        return self.published.arrow

    @property
    def shown(self) -> Dataset:
        """The published table in codes; two tables are joined."""
        return self.published.shown

    def slices(
        self, rows_per_slice: Callable[[int], int], folder: Path, progress: Progress | None = None
    ) -> AbstractContextManager[tuple[pa.Schema, Iterator[pa.Table], SliceCheck]]:
        """The published table in slices, of an original that is read in batches: see `published_slices`."""
        return published_slices(self.published, rows_per_slice, folder, progress)

    @property
    def parted(self) -> tuple[pa.Table, pa.Table | None]:
        """The published tables in Arrow, as they were verified: the one, or that of people and of events."""
        return self.published.parted

    @cached_property
    def _native_files(self) -> tuple[Any, Any]:
        assert self.files is not None
        return self.files.native(self.published)

    @cached_property
    def sides(self) -> BeforeAfter:
        """The original and the published table in codes, read once for risk, utility and report."""
        return before_after(self)

    @property
    def published_names(self) -> list[str]:
        return self.published.names

    @property
    def cost(self) -> float:
        """The value of the cost that was asked for."""
        return self.loss[self.cost_name]

    @property
    def cost_name(self) -> str:
        return self.problem.cost.name

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
        if self.rows is None or len(self.rows) - self.counterfeits == self.dataset.n_records:
            return "star"
        return "drop"

    def __repr__(self) -> str:
        promises = "; ".join(model.promise for model in self.verdict.models)
        return (
            f"<Release of {counted(self.dataset.n_records, 'record')} in "
            f"{counted(self.verdict.classes, 'class', 'classes')}: "
            f"{promises}; {self.cost_name} {self.cost:.4g}>"
        )

    def facts(
        self,
        *,
        sha256: Mapping[str, str | None] | None = None,
        salt: bytes | None = None,
        version: Literal["internal", "public"] = "internal",
    ) -> dict[str, Any]:
        """The facts that certificate, report and `--json` show, without any cell of the data.

        The public version has only figures that follow from the release or that test no guess of the
        original; the internal one, for the holder, has all of them in full.

        `sha256` holds the hashes of the files, `input` and `output`. That of the input lets anybody test
        guesses of the original, so it is left out; with a secret `salt` there is a commitment to it instead.
        """
        verdict = self.verdict.to_dict()
        found = {
            "kohort": "release",
            "audience": "internal",
            "version": __version__,
            "title": self.request.title,
            "owner": self.request.owner,
            "holds": verdict["holds"],
            "records": self.dataset.n_records,
            "suppressed": verdict["suppressed"],
            "suppressed_as": self.suppressed_as,
            "counterfeits": self.counterfeits,
            "classes": verdict["classes"],
            "smallest_class": verdict["smallest_class"],
            "counted": verdict["counted"],
            "people": verdict["people"],
            "smallest_class_people": verdict["smallest_class_people"],
            "risk": verdict["risk"],
            "models": verdict["models"],
            "checks": verdict["checks"],
            "cautions": verdict["cautions"],
            "cost": self.cost_name,
            "loss": self.loss,
            "unweighted_loss": self.unweighted_loss,
            "labels": self.request.labels,
            "bound": self.bound,
            "gap": self.gap,
            "solver_bound": self.solver_bound,
            "solver_gap": self.solver_gap,
            "guarantee": self.guarantee,
            "evidence": {
                name: {"evidence": claim.evidence, "reason": claim.reason}
                for name, claim in self.claims.items()
            },
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "scheme": self.scheme,
            "seed": self.request.seed,
            "cut_by_time": self.cut_by_time,
            "quasi_identifiers": self.roles.having("quasi-identifier"),
            "items": None if self.items is None else self.items.facts(),
            "roles": dict(self.roles.of),
            "linked": self._linked_facts(),
            "events": None if self.files is None else self.files.facts(),
            "together": None if self.tied is None else self.tied.facts(self.cost),
            "suppression": self.request.suppression,
            "order": None if self.order is None else self.order.facts(),
            "notes": list(self.notes),
            "seconds": {phase: round(value, 4) for phase, value in self.seconds.items()},
            **committed(sha256, salt),
        }
        return found if version == "internal" else public_version(found)

    def _linked_facts(self) -> dict[str, Any] | None:
        """How records are linked; None if they are not."""
        if self.request.linked_by is None or self.problem.histories is None:
            return None
        people = self.problem.histories.n_people
        return {"person": self.request.linked_by, "slot": self.request.slot, "people": people}
