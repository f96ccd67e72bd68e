"""A release: the published table, the verdict on it, and everything that a certificate holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa

from kohort.checked_write import write_checked
from kohort.data.dataset import Dataset
from kohort.pipeline.commitment import committed
from kohort.pipeline.items import ItemsPart
from kohort.pipeline.maps import Maps, maps_of
from kohort.pipeline.order import PublishedOrder
from kohort.pipeline.private import HoldsOriginal
from kohort.pipeline.publish import as_arrow, as_native
from kohort.pipeline.request import Request
from kohort.problem.problem import Problem
from kohort.problem.roles import Roles
from kohort.recoding.recoding import Recoding
from kohort.verification import Verdict
from kohort.version import __version__

if TYPE_CHECKING:
    from kohort.io.outputs import Outputs

__all__ = ["Release", "certificate_text"]


@dataclass(frozen=True, eq=False, repr=False)
class Release(HoldsOriginal):
    """A verified release. `table` is the published table, of the kind that came in.

    loss      every cost by its name, measured on what is published
    bound     a proven lower bound on the least possible value of the chosen cost, or None
    guarantee the approximation factor proven for this run, or None
    verdict   what was checked and what was measured
    notes     sentences that the one who signs should read
    problem   what was asked of the quasi-identifiers; None where baskets of items are all there is
    items     what became of the column of items, or None
    scheme    of a search for a scheme: the columns' schemes, and what is proven of their recodings; or None
    recoding  how each record is published, in codes
    cut_by_time  whether a time limit cut the search: only then may the same input, spec, version and seed
              give another release
    order     in which order the records are published, and what the original order tells
    reads     the files that it was made from, which no method replaces
    """

    _instead = (
        "Keep release.table and release.facts() or release.certificate(path) instead; other processes should "
        "send these back."
    )

    dataset: Dataset
    request: Request
    roles: Roles
    problem: Problem | None
    columns: Mapping[str, pa.Array | None]
    rows: np.ndarray | None
    verdict: Verdict
    loss: dict[str, float]
    algorithm: str
    parameters: dict[str, Any]
    guarantee: float | None
    bound: float | None
    notes: tuple[str, ...]
    seconds: dict[str, float]
    items: ItemsPart | None = None
    scheme: dict[str, Any] | None = None
    recoding: Recoding | None = None
    cut_by_time: bool = False
    order: PublishedOrder | None = None
    reads: tuple[Path, ...] = ()

    @cached_property
    def table(self) -> Any:
        """The published table: pandas, Polars or PyArrow, as it came."""
        return as_native(self.dataset, dict(self.columns), self.rows)

    @cached_property
    def arrow(self) -> pa.Table:
        """The published table in Arrow, with dictionaries where values repeat."""
        return as_arrow(self.dataset, dict(self.columns), self.published_names, self.rows)

    @property
    def published_names(self) -> list[str]:
        return [name for name in self.dataset.names if self.columns.get(name, ...) is not None]

    @property
    def cost(self) -> float:
        """The value of the cost that was asked for."""
        return self.loss[self.cost_name]

    @property
    def cost_name(self) -> str:
        return "ncp" if self.problem is None else self.problem.cost.name

    @property
    def gap(self) -> float | None:
        """How far the cost is above the bound, as a share of the bound."""
        if self.bound is None:
            return None
        if self.bound == 0:
            return 0.0 if self.cost == 0 else None
        return self.cost / self.bound - 1

    @property
    def original_rows(self) -> np.ndarray:
        """Per published record the number of its original, from 0 on."""
        return np.arange(self.dataset.n_records) if self.rows is None else self.rows

    @property
    def suppressed_as(self) -> str | None:
        """What withheld records became: star, drop (left out), or None if there are none."""
        if not self.verdict.withheld:
            return None
        return "star" if self.rows is None or len(self.rows) == self.dataset.n_records else "drop"

    def __repr__(self) -> str:
        promises = "; ".join(model.promise for model in self.verdict.models)
        return (
            f"<Release of {self.dataset.n_records:,} records in {self.verdict.classes:,} classes: "
            f"{promises}; {self.cost_name} {self.cost:.4g}>"
        )

    def facts(
        self, *, sha256: Mapping[str, str | None] | None = None, salt: bytes | None = None
    ) -> dict[str, Any]:
        """What the certificate, the report and `--json` all print. No cell of the data is in it.

        `sha256` holds the hashes of the files, `input` and `output`. That of the input lets anybody test
        guesses of the original, so it is left out; with a secret `salt` there is a commitment to it instead.
        """
        verdict = self.verdict.to_dict()
        return {
            "kohort": "release",
            "version": __version__,
            "holds": verdict["holds"],
            "records": self.dataset.n_records,
            "suppressed": verdict["suppressed"],
            "suppressed_as": self.suppressed_as,
            "classes": verdict["classes"],
            "smallest_class": verdict["smallest_class"],
            "models": verdict["models"],
            "checks": verdict["checks"],
            "cautions": verdict["cautions"],
            "cost": self.cost_name,
            "loss": self.loss,
            "labels": self.request.labels,
            "bound": self.bound,
            "gap": self.gap,
            "guarantee": self.guarantee,
            "algorithm": self.algorithm,
            "parameters": self.parameters,
            "scheme": self.scheme,
            "seed": self.request.seed,
            "cut_by_time": self.cut_by_time,
            "quasi_identifiers": self.roles.having("quasi-identifier"),
            "items": None if self.items is None else self.items.facts(),
            "roles": dict(self.roles.of),
            "suppression": self.request.suppression,
            "order": None if self.order is None else self.order.facts(),
            "notes": list(self.notes),
            "seconds": {phase: round(value, 4) for phase, value in self.seconds.items()},
            **committed(sha256, salt),
        }

    def risk(self, **options: Any) -> dict[str, Any]:
        """How likely people are found, before and after; the options are those of `kohort.assess_risk`."""
        from kohort.risk import assess_risk

        return assess_risk(self, **options)

    def utility(self, **options: Any) -> dict[str, Any]:
        """How useful the release still is; the options are those of `kohort.measure_utility`."""
        from kohort.utility import measure_utility

        return measure_utility(self, **options)

    def report(
        self, path: str | Path, *, version: Literal["internal", "public"] = "internal", **more: Any
    ) -> None:
        """Write a page for people, HTML or PDF by its ending: is it safe, what did it cost, what to do next.

        The internal version shows values of the original; the public one may go with the release. `more` may
        hold `sha256` and `salt` (see `facts`), `making` (the command and the spec) and `progress`.
        """
        from kohort.report.html import check_report_path, write_report

        check_report_path(path)
        with self._outputs(path).drafts() as draft_of:
            write_report(self, draft_of[Path(path)], version=version, **more)

    def _repr_html_(self) -> str:
        """How a notebook shows a release: the verdict and its figures, no value of the data."""
        from kohort.report.html import notebook_page

        return notebook_page(self)

    def certificate(
        self,
        path: str | Path,
        *,
        sha256: Mapping[str, str | None] | None = None,
        salt: bytes | None = None,
        sign: str | Path | None = None,
    ) -> None:
        """Write the facts as JSON; with a private key (PEM), also their signature, as `path`.sig.

        `sha256` and `salt` are those of `facts`.
        """
        from kohort.io.signature import read_private_key, sign_file, signature_path

        path, signature = Path(path), signature_path(path)
        key = None if sign is None else read_private_key(sign)
        outputs = self._outputs(path) if sign is None else self._outputs(path, signature).reading(Path(sign))
        with outputs.drafts() as draft_of:
            write_checked(draft_of[path], certificate_text(self.facts(sha256=sha256, salt=salt)))
            if key is not None:
                sign_file(draft_of[path], draft_of[signature], key)

    def order_file(self, path: str | Path) -> None:
        """Write which original record each published one is, for `ko.verify`, to a file for its owner only.

        Whoever has the file and the release can undo the shuffling: keep it, and do not publish it.
        """
        from kohort.io.order_file import write_order

        with replace(self._outputs(path), private=[Path(path)]).drafts() as draft_of:
            write_order(self.original_rows, draft_of[Path(path)])

    def maps(self, path: str | Path, *, spec_sha256: str | None = None) -> None:
        """Write how every value is published, for `ko.apply_maps`; only global recodings can."""
        from kohort.io.maps import write_maps

        maps = self.maps_of_values(spec_sha256=spec_sha256)
        with self._outputs(path).drafts() as draft_of:
            write_maps(maps, draft_of[Path(path)])

    def maps_of_values(self, *, spec_sha256: str | None = None) -> Maps:
        """How every value is published; only global recodings can say."""
        maps = maps_of(self.request, self.problem, self.recoding, algorithm=self.algorithm)
        return replace(maps, spec_sha256=spec_sha256)

    def _outputs(self, *paths: str | Path) -> Outputs:
        from kohort.io.outputs import Outputs

        return Outputs([Path(path) for path in paths], reads=self.reads)


def certificate_text(facts: Mapping[str, Any]) -> str:
    """The text of a certificate that holds these facts."""
    return json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
