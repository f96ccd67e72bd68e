"""Which published record is which original: by their order, an order file, or any assignment that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.pipeline.request import Request
from kohort.problem.attribute import Attribute
from kohort.problem.items import ItemsProblem
from kohort.problem.roles import Roles
from kohort.verification import (
    Check,
    TooLarge,
    assign_records,
    basket_fit,
    check_columns,
    check_conserved,
    check_coverage,
    cover_baskets,
    matching_rows,
)
from kohort.verification.items import CoveredBaskets

__all__ = ["Alignment", "Items", "align", "may_drop"]


@dataclass(frozen=True, eq=False)
class Alignment:
    """Published records beside their originals.

    rows    per published record an original that it may come from; None where none was found
    checks  of columns, numbers of records, coverage and untouched columns
    sure    whether `rows` are the true originals, as far as anybody can tell
    """

    rows: np.ndarray | None
    checks: tuple[Check, ...]
    sure: bool = True

    @property
    def known(self) -> np.ndarray | None:
        """The originals, where they are known one by one."""
        return self.rows if self.sure else None


@dataclass(frozen=True, eq=False)
class Items:
    """The baskets as they are published, and the problem that the original ones pose."""

    shown: Baskets
    problem: ItemsProblem

    def covered(self, rows: np.ndarray) -> CoveredBaskets:
        """How published baskets compare with these originals."""
        return cover_baskets(self.shown, self.problem, rows)


def may_drop(request: Request) -> bool:
    """Whether records may be left out: asked for, or because they could not be published as `*`."""
    return request.suppressed == "drop" or request.suppression > 0


def align(
    published: Dataset,
    original: Dataset,
    request: Request,
    roles: Roles,
    attributes: Sequence[Attribute],
    untouched: Sequence[str],
    *,
    order: np.ndarray | None = None,
    items: Items | None = None,
) -> Alignment:
    """Find the originals of the published records, and compare the two.

    order  per published record the number of its original, from the order file
    items  the published and the original baskets
    """
    treated = {name for name, treatment in request.treatments.items() if treatment != "drop"}
    hidden = [name for name in roles.having("identifier") if name not in treated]
    expected = [*(a.name for a in attributes), *treated, *roles.having("items")]
    columns = check_columns(published, untouched, hidden, expected)
    job = _Comparison(published, original, request, attributes, untouched, items)
    found = job.by_file(order) if order is not None else job.without_file()
    return replace(found, checks=(columns, *found.checks))


@dataclass(frozen=True, eq=False)
class _Comparison:
    published: Dataset
    original: Dataset
    request: Request
    attributes: Sequence[Attribute]
    untouched: Sequence[str]
    items: Items | None

    def by_file(self, order: np.ndarray) -> Alignment:
        before, after = self.original.n_records, self.published.n_records
        if len(order) != after or len(np.unique(order)) != after or order.min() < 0 or order.max() >= before:
            raise InputError(
                f"The order file is not that of this release: it must name {after:,} different records of "
                f"the {before:,} of the original. Give the one that was written with it."
            )
        number = self._number()
        detail = f"The order file names an original for each of the {after:,} published records."
        return Alignment(order, (number, Check("records", True, detail), *self._compared(order)))

    def without_file(self) -> Alignment:
        number = self._number()
        if number.holds is False:
            return Alignment(None, (number,))
        kept = self._in_order()
        if self.request.shuffle is False or self._fits(kept):
            return kept or Alignment(None, (Check("records", False, self._no_order_fits("this order")),))
        try:
            baskets = None if self.items is None else basket_fit(self.items.shown, self.items.problem)
            found = assign_records(self.published, self.original, self.attributes, self.untouched, baskets)
        except TooLarge:
            detail = "The records are in another order, and are too many to be matched. Give the order file."
            return Alignment(None, (number, Check("records", None, detail)))
        if found is None:
            return self._nothing_fits(kept)
        return Alignment(found.rows, self._assigned(found.rows, found.sure), found.sure)

    def _fits(self, kept: Alignment | None) -> bool:
        return kept is not None and all(check.holds for check in kept.checks)

    def _in_order(self) -> Alignment | None:
        """The records as if their order was kept; None if records are left out and the others do not fit."""
        before, after = self.original.n_records, self.published.n_records
        if before == after:
            rows: np.ndarray | None = np.arange(before)
            detail = f"All {before} records are there, in their order."
        else:
            rows = matching_rows(self.published, self.original, self.attributes, self.untouched)
            detail = f"The {after} published records are, in their order, some of the original's."
        if rows is None:
            return None
        return Alignment(rows, (Check("records", True, detail), *self._compared(rows)))

    def _nothing_fits(self, kept: Alignment | None) -> Alignment:
        """What is wrong, told for the order of the file where that may have been kept."""
        detail = self._no_order_fits("this order or any other")
        if kept is None or self.request.shuffle is True:
            return Alignment(None, (Check("records", False, detail),))
        told = f"{detail} What follows compares them in their order."
        return replace(kept, checks=(Check("records", None, told), *kept.checks[1:]))

    def _no_order_fits(self, which: str) -> str:
        return (
            f"The {self.published.n_records} published records are not those of the original: in {which}, "
            "some value does not cover its original, or an untouched one differs."
        )

    def _assigned(self, rows: np.ndarray, sure: bool) -> tuple[Check, ...]:
        detail = (
            f"The {self.published.n_records} published records are in another order than the original's. "
        )
        if sure:
            detail += "Each fits one original record only."
            return (Check("records", True, detail), *self._compared(rows))
        detail += (
            "They can be assigned to different original records that they cover, with all untouched values "
            "the same. Whether this is the true assignment, only the order file can tell."
        )
        told = [replace(check, detail=f"So assigned: {check.detail}") for check in self._compared(rows)]
        return (Check("records", True, detail), *told)

    def _compared(self, rows: np.ndarray) -> list[Check]:
        return [
            *check_coverage(self.published, self.attributes, rows),
            *check_conserved(self.published, self.original, self.untouched, rows),
            *(() if self.items is None else self.items.covered(rows).checks),
        ]

    def _number(self) -> Check:
        before, after = self.original.n_records, self.published.n_records
        fine = after == before or (may_drop(self.request) and after < before)
        return Check("number of records", fine, f"The original has {before} records, the release {after}.")
