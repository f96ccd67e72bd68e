"""Which published record is which original: by their order, an order file, or any assignment that fits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.counting import Pairs, stretches_of
from kohort.errors import InputError, counted
from kohort.tables.table import Table
from kohort.verification.against_original import (
    Original,
    check_columns,
    check_conserved,
    check_coverage,
    check_together,
    label_pairs,
    matching_rows,
)
from kohort.verification.assignment import assign_records, count_without_original
from kohort.verification.counterfeits import check_number
from kohort.verification.item_coverage import BasketFit, CoveredBaskets, TooLarge, basket_fit, cover_baskets
from kohort.verification.reading import Reading, read_column
from kohort.verification.treated import SIGMAS, TREATED, check_shifted
from kohort.verification.verdict import Check

if TYPE_CHECKING:
    from kohort.statement import Statement


@dataclass(frozen=True, eq=False)
class Alignment:
    """Published records beside their originals.

    rows       per published record an original that it may come from; a slice where all are in their order;
               None where none was found
    checks     of columns, numbers of records, coverage and untouched columns
    sure       whether `rows` are the true originals, as far as anybody can tell
    readings   what the labels of each quasi-identifier cover
    items_ncp  what was lost of the items, where there are any and their originals are known
    pairs      per quasi-identifier its labels with the original values below them, counted
    counterfeits  how many published records have no original, where nobody says which
    """

    rows: np.ndarray | slice | None
    checks: tuple[Check, ...]
    sure: bool = True
    readings: Sequence[Reading] = ()
    items_ncp: float | None = None
    pairs: Sequence[Pairs] = ()
    counterfeits: int = 0


def align(published: Table, original: Original, demands: Statement, shown: Baskets | None) -> Alignment:
    """Find the originals of the published records, and compare the two.

    shown  the published baskets; None where no column holds items
    """
    roles = original.roles
    treated = {name for name, treatment in demands.treatments.items() if treatment in TREATED}
    expected = [*(a.name for a in original.attributes), *treated, *roles.having("items")]
    columns = check_columns(published, original.untouched, roles.dropped(demands.treatments), expected)
    missing = [attribute.name for attribute in original.attributes if attribute.name not in published.names]
    if missing:
        return Alignment(None, (columns,))
    readings = [read_column(published.column(a.name), a) for a in original.attributes]
    found = _Comparison(published, original, demands, readings, shown).found()
    people = _people(published, original, demands, found)
    return replace(found, checks=(columns, *found.checks, *people), readings=readings)


def _people(published: Table, original: Original, demands: Statement, found: Alignment) -> list[Check]:
    """Check that linked records are linked as in the original, and dates are shifted person by person."""
    person = demands.linked_by
    if person is None or found.rows is None or person not in published.names:
        return []
    assert not isinstance(found.rows, slice)  # records of people are looked at one by one
    checks = [_check_people(published, original, found.rows, person, sure=found.sure)]
    if found.sure:
        persons = original.dataset.column(person).codes[found.rows]
        names = [n for n, how in demands.treatments.items() if how == "shift" and n in published.names]
        checks += [
            check_shifted(published, original.dataset, n, found.rows, persons, demands.shift_days)
            for n in names
        ]
    return checks


def _check_people(
    published: Table, original: Original, rows: np.ndarray, person: str, *, sure: bool
) -> Check:
    """Check that pseudonyms link exactly the records that are of one person in the original.

    rows  per published record its original
    sure  whether these are the true originals
    """
    name = "people"
    if not sure:
        detail = "Whether pseudonyms link the records of the same person, only the order file can tell."
        return Check(name, None, detail)
    after = published.column(person).codes.astype(np.int64)
    before = original.dataset.column(person).codes[rows]
    pairs = len(np.unique(after * (int(before.max()) + 1) + before))
    fine = pairs == len(np.unique(after)) == len(np.unique(before))
    detail = (
        f"Each pseudonym in {person!r} stands for one person, and each person has one."
        if fine
        else f"The pseudonyms in {person!r} do not link the records that are of one person in the original."
    )
    return Check(name, fine, detail)


def _are_different(rows: np.ndarray | slice, n_published: int, n_originals: int) -> bool:
    """Whether every published record has an original, and no two of them the same one."""
    if isinstance(rows, slice):
        return n_published == n_originals
    if len(rows) != n_published or rows.min() < 0 or rows.max() >= n_originals:
        return False
    found = np.zeros(n_originals, dtype=bool)
    found[rows] = True
    return int(np.count_nonzero(found)) == n_published


def _correlation(rows: np.ndarray) -> float:
    """How records' numbers and their places in the table go together, from -1 to 1."""
    n, mean = len(rows), float(rows.mean())
    products = squares = 0.0
    for part in stretches_of(n):
        apart = rows[part] - mean
        places = np.arange(part.start, part.stop) - (n - 1) / 2
        products += float(np.einsum("i,i->", places, apart))  # np.dot would wake threads: ten times as dear
        squares += float(np.einsum("i,i->", apart, apart))
    return products / sqrt(squares * n * (n * n - 1) / 12)


@dataclass(frozen=True, eq=False)
class _Comparison:
    published: Table
    original: Original
    demands: Statement
    readings: Sequence[Reading]
    shown: Baskets | None

    def found(self) -> Alignment:
        if self.original.rows is not None:
            return self._aligned(self.original.rows, self._stated(self.original.rows))
        return self._without_file() if self.original.order is None else self._by_file(self.original.order)

    def _stated(self, rows: np.ndarray | slice) -> tuple[Check, ...]:
        """A failing check where the publisher does not state a different original for every record."""
        if _are_different(rows, self.published.n_records, self.original.dataset.n_records):
            return self._order_told(rows)
        detail = "Some original records are published more than once, or not all have an original."
        return (Check("records", False, detail),)

    def _order_told(self, rows: np.ndarray | slice) -> tuple[Check, ...]:
        """A failing check where shuffled records follow the original order more than by chance: 1 in 10^11.

        The records of a person may stand together: then chance decides about people, not about records.
        """
        person, n = self.demands.linked_by, self.published.n_records
        most = 1 if person is None else int(self.published.column(person).counts.max())
        if self.demands.shuffle is False or n < SIGMAS**2 * most + 2:
            return ()
        alike = 1.0 if isinstance(rows, slice) else _correlation(rows)
        if abs(alike) * sqrt((n - 1) / most) <= SIGMAS:
            return ()
        return (Check("order", False, "The records follow the original order, and were to be shuffled."),)

    def _by_file(self, order: np.ndarray) -> Alignment:
        before, after = self.original.dataset.n_records, self.published.n_records
        if len(order) != after or len(np.unique(order)) != after or order.min() < 0 or order.max() >= before:
            raise InputError(
                f"The order file is not that of this release: it must name {after:,} different records of "
                f"the {before:,} of the original. Give the one that was written with it."
            )
        detail = f"The order file names an original for each of the {after:,} published records."
        return self._aligned(order, (self._number(), Check("records", True, detail)))

    def _without_file(self) -> Alignment:
        if not self.demands.counterfeits or self.original.counterfeits == 0:
            return self._all_with_originals()
        if self.original.counterfeits is None:
            found = self._all_with_originals()
            if self._fits(found):
                return found
        return self._some_without_originals()

    def _some_without_originals(self) -> Alignment:
        """Count the records that must be counterfeits: no assignment gives more of them an original."""
        try:
            left = count_without_original(
                self.published, self.original.dataset, self.original.attributes, self.original.untouched
            )
        except TooLarge:
            detail = "The records are in another order, and are too many to be matched. Give the order file."
            return Alignment(None, (Check("records", None, detail),))
        announced = self.original.counterfeits
        number = left if announced is None else announced
        detail = (
            f"All but {left:,} of the {self.published.n_records:,} published records can be assigned to "
            "different original records that they cover, with all untouched values the same. Only the order "
            "file can show which are counterfeits."
        )
        few = Check("records", self.published.n_records - number <= self.original.dataset.n_records, detail)
        check = check_number(left, self.demands, self.original, least=True)
        return Alignment(None, (few, check), sure=False, counterfeits=number)

    def _all_with_originals(self) -> Alignment:
        number = self._number()
        if number.holds is False:
            return Alignment(None, (number,))
        kept = self._in_order()
        if self.demands.shuffle is False or self._fits(kept):
            return kept or Alignment(None, (Check("records", False, self._no_order_fits("this order")),))
        try:
            found = assign_records(
                self.published,
                self.original.dataset,
                self.original.attributes,
                self.original.untouched,
                self._basket_fit(),
            )
        except TooLarge:
            detail = "The records are in another order, and are too many to be matched. Give the order file."
            return Alignment(None, (number, Check("records", None, detail), *self._taken_together()))
        if found is None:
            return self._nothing_fits(kept)
        return self._assigned(found.rows, found.sure)

    def _basket_fit(self) -> BasketFit | None:
        if self.shown is None or self.original.items is None:
            return None
        return basket_fit(self.shown, self.original.items)

    def _fits(self, kept: Alignment | None) -> bool:
        return kept is not None and all(check.holds for check in kept.checks)

    def _in_order(self) -> Alignment | None:
        """Compare the records in their order; None if records are left out and the others do not fit."""
        before, after = self.original.dataset.n_records, self.published.n_records
        if before == after:
            rows: np.ndarray | None = np.arange(before)
            detail = f"The release has all {counted(before, 'record')}, in the original order."
        else:
            untouched = self.original.untouched
            rows = matching_rows(self.published, self.original.dataset, self.readings, untouched)
            detail = f"The {after} published records are some of the original's, in the same order."
        if rows is None:
            return None
        return self._aligned(rows, (Check("records", True, detail),))

    def _nothing_fits(self, kept: Alignment | None) -> Alignment:
        """Report that no order fits.

        Where the order was kept after all, the records are compared in it. Else only an order file can show
        where the fault is, and untouched columns are compared as a whole.
        """
        if kept is not None and self.demands.shuffle is not True and self._kept_order(kept):
            detail = f"{self._no_order_fits('this order or any other')} They are compared in this order."
            return replace(kept, checks=(Check("records", None, detail), *kept.checks[1:]))
        detail = (
            f"{self._no_order_fits('this order or any other')} Give the order file (--order-file), which "
            "shows where; if the records are in their original order, say so in the spec: shuffle: false."
        )
        return Alignment(None, (Check("records", False, detail), *self._taken_together()))

    def _kept_order(self, kept: Alignment) -> bool:
        """Whether at most half as many columns are broken in the order of the file as in the reversed one."""
        turned = self._aligned(np.arange(self.published.n_records)[::-1], ())
        wrong, wrong_turned = (sum(c.holds is False for c in found.checks) for found in (kept, turned))
        return 2 * wrong <= wrong_turned

    def _taken_together(self) -> list[Check]:
        """Labels that mean nothing, and untouched columns as a whole."""
        unclear = [reading for reading in self.readings if not reading.understood.all()]
        unread = [(~r.understood).nonzero()[0] for r in unclear]
        uses = [self.published.column(r.attribute.name).counts[n] for r, n in zip(unclear, unread)]
        pairs = [(label, np.zeros_like(label), n) for label, n in zip(unread, uses)]
        together = check_together(self.published, self.original.dataset, self.original.untouched)
        return [*check_coverage(unclear, pairs), *together]

    def _no_order_fits(self, which: str) -> str:
        return (
            f"The {self.published.n_records} published records are not those of the original: in {which}, "
            "some value does not cover its original, or an untouched one differs."
        )

    def _assigned(self, rows: np.ndarray, sure: bool) -> Alignment:
        detail = (
            f"The {self.published.n_records} published records are in another order than the original's. "
        )
        if sure:
            detail += "Each fits one original record only."
            return self._aligned(rows, (Check("records", True, detail),))
        detail += (
            "They can be assigned to different original records that they cover, with all untouched values "
            "the same. Only the order file can show whether this is the true assignment."
        )
        found = self._aligned(rows, ())
        assigned = [replace(check, detail=f"With this assignment: {check.detail}") for check in found.checks]
        return Alignment(rows, (Check("records", True, detail), *assigned), sure=False)

    def _aligned(self, rows: np.ndarray | slice, checks: Sequence[Check]) -> Alignment:
        """Compare the records one by one; `checks` were made before, and come first."""
        covered = self._covered_items(rows)
        pairs = label_pairs(self.published, self.readings, rows)
        compared = (
            *check_coverage(self.readings, pairs),
            *check_conserved(self.published, self.original.dataset, self.original.untouched, rows),
            *(() if covered is None else covered.checks),
        )
        ncp = None if covered is None else covered.ncp
        return Alignment(rows, (*checks, *compared), items_ncp=ncp, pairs=pairs)

    def _covered_items(self, rows: np.ndarray | slice) -> CoveredBaskets | None:
        if self.shown is None or self.original.items is None:
            return None
        assert not isinstance(rows, slice)  # and so are baskets
        return cover_baskets(self.shown, self.original.items, rows)

    def _number(self) -> Check:
        before, after = self.original.dataset.n_records, self.published.n_records
        fine = after == before or (self.demands.may_drop and after < before)
        return Check(
            "number of records", fine, f"The original has {counted(before, 'record')}, the release {after:,}."
        )
