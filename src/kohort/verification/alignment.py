"""Which published record is which original: by their order, an order file, or any assignment that fits.

Counterfeits have no original: as many published records as were announced, and no more. They look like the
others, each with the labels of a class of at least k people. What is measured of people, and every cost, is
measured without them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import sqrt
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from kohort.data.baskets import Baskets
from kohort.data.counting import Pairs, distinct_rows, stretches_of
from kohort.errors import InputError, counted
from kohort.tables.memory import MemoryTable
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
from kohort.verification.item_coverage import TooLarge, basket_fit, cover_baskets
from kohort.verification.promises import stated
from kohort.verification.reading import Reading, read_column
from kohort.verification.treated import SIGMAS, TREATED, check_shifted
from kohort.verification.verdict import Check, Verdict

if TYPE_CHECKING:
    from kohort.statement import Statement

_TOO_MANY = "The records are in another order, and are too many to be matched. Give the order file."


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
    if any(attribute.name not in published.names for attribute in original.attributes):
        return Alignment(None, (columns,))
    readings = [read_column(published.column(a.name), a) for a in original.attributes]
    found = _Comparison(published, original, demands, readings, shown).found()
    people = _check_people(published, original, demands, found)
    return replace(found, checks=(columns, *found.checks, *people), readings=readings)


def _check_people(published: Table, original: Original, demands: Statement, found: Alignment) -> list[Check]:
    """Check that pseudonyms link exactly the records of one person, whose dates are shifted alike."""
    person, rows = demands.linked_by, found.rows
    if person is None or rows is None or person not in published.names:
        return []
    assert not isinstance(rows, slice)  # records of people are looked at one by one
    if not found.sure:
        detail = "Whether pseudonyms link the records of the same person, only the order file can tell."
        return [Check("people", None, detail)]
    after = published.column(person).codes.astype(np.int64)
    before = original.dataset.column(person).codes[rows]
    pairs = len(np.unique(after * (int(before.max()) + 1) + before))
    good = f"Each pseudonym in {person!r} stands for one person, and each person has one."
    bad = f"The pseudonyms in {person!r} do not link the records that are of one person in the original."
    wrong = not pairs == len(np.unique(after)) == len(np.unique(before))
    shifted = [n for n, how in demands.treatments.items() if how == "shift" and n in published.names]
    return [
        Check.of("people", wrong, good, bad),
        *(check_shifted(published, original.dataset, n, rows, before, demands.shift_days) for n in shifted),
    ]


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
        if self.original.order is not None:
            return self._by_file(self.original.order)
        if not self.demands.counterfeits or self.original.counterfeits == 0:
            return self._all_with_originals()
        if self.original.counterfeits is None:
            found = self._all_with_originals()
            if all(check.holds for check in found.checks):
                return found
        return self._some_without_originals()

    def _stated(self, rows: np.ndarray | slice) -> list[Check]:
        """Failing checks where the publisher does not state a different original for every record.

        Or where shuffled records follow the original order more than by chance: 1 in 10^11. The records of a
        person may stand together: then chance decides about people, not about records.
        """
        n, n_originals = self.published.n_records, self.original.dataset.n_records
        if isinstance(rows, slice):
            different = n == n_originals
        else:
            different = len(rows) == n and rows.min() >= 0 and rows.max() < n_originals
            if different:
                found = np.zeros(n_originals, dtype=bool)
                found[rows] = True
                different = int(np.count_nonzero(found)) == n
        if not different:
            detail = "Some original records are published more than once, or not all have an original."
            return [Check("records", False, detail)]
        person = self.demands.linked_by
        most = 1 if person is None else int(self.published.column(person).counts.max())
        if self.demands.shuffle is False or n < SIGMAS**2 * most + 2:
            return []
        alike = 1.0 if isinstance(rows, slice) else _correlation(rows)
        if abs(alike) * sqrt((n - 1) / most) <= SIGMAS:
            return []
        return [Check("order", False, "The records follow the original order, and were to be shuffled.")]

    def _by_file(self, order: np.ndarray) -> Alignment:
        before, after = self.original.dataset.n_records, self.published.n_records
        if len(order) != after or len(np.unique(order)) != after or order.min() < 0 or order.max() >= before:
            raise InputError(
                f"The order file is not that of this release: it must name {after:,} different records of "
                f"the {before:,} of the original. Give the one that was written with it."
            )
        detail = f"The order file names an original for each of the {after:,} published records."
        return self._aligned(order, [self._number(), Check("records", True, detail)])

    def _some_without_originals(self) -> Alignment:
        """Count the records that must be counterfeits: no assignment gives more of them an original."""
        original = self.original
        try:
            left = count_without_original(
                self.published, original.dataset, original.attributes, original.untouched
            )
        except TooLarge:
            return Alignment(None, (Check("records", None, _TOO_MANY),))
        number = left if original.counterfeits is None else original.counterfeits
        detail = (
            f"All but {left:,} of the {self.published.n_records:,} published records can be assigned to "
            "different original records that they cover, with all untouched values the same. Only the order "
            "file can show which are counterfeits."
        )
        few = Check("records", self.published.n_records - number <= original.dataset.n_records, detail)
        check = _check_number(left, self.demands, original, least=True)
        return Alignment(None, (few, check), sure=False, counterfeits=number)

    def _all_with_originals(self) -> Alignment:
        number = self._number()
        if number.holds is False:
            return Alignment(None, (number,))
        kept = self._in_order()
        if self.demands.shuffle is False:
            return kept or Alignment(None, (Check("records", False, self._no_order_fits("this order")),))
        if kept is not None and all(check.holds for check in kept.checks):
            return kept
        original = self.original
        try:
            found = assign_records(
                self.published,
                original.dataset,
                original.attributes,
                original.untouched,
                None
                if self.shown is None or original.items is None
                else basket_fit(self.shown, original.items),
            )
        except TooLarge:
            return Alignment(None, (number, Check("records", None, _TOO_MANY), *self._taken_together()))
        return self._nothing_fits(kept) if found is None else self._assigned(found.rows, found.sure)

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
        return None if rows is None else self._aligned(rows, [Check("records", True, detail)])

    def _nothing_fits(self, kept: Alignment | None) -> Alignment:
        """Report that no order fits.

        Where the order was kept after all, as at most half as many columns are broken in it as in the
        reversed one, the records are compared in it. Else only an order file can show where the fault is, and
        untouched columns are compared as a whole.
        """
        no_order = self._no_order_fits("this order or any other")
        if kept is not None and self.demands.shuffle is not True:
            turned = self._aligned(np.arange(self.published.n_records)[::-1])
            wrong, wrong_turned = (sum(c.holds is False for c in each.checks) for each in (kept, turned))
            if 2 * wrong <= wrong_turned:
                check = Check("records", None, f"{no_order} They are compared in this order.")
                return replace(kept, checks=(check, *kept.checks[1:]))
        detail = (
            f"{no_order} Give the order file (--order-file), which shows where; if the records are in their "
            "original order, say so in the spec: shuffle: false."
        )
        return Alignment(None, (Check("records", False, detail), *self._taken_together()))

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
            return self._aligned(rows, [Check("records", True, detail)])
        detail += (
            "They can be assigned to different original records that they cover, with all untouched values "
            "the same. Only the order file can show whether this is the true assignment."
        )
        checks = self._aligned(rows).checks
        assigned = [replace(check, detail=f"With this assignment: {check.detail}") for check in checks]
        return Alignment(rows, (Check("records", True, detail), *assigned), sure=False)

    def _aligned(self, rows: np.ndarray | slice, checks: Sequence[Check] = ()) -> Alignment:
        """Compare the records one by one; `checks` were made before, and come first."""
        original, covered = self.original, None
        if self.shown is not None and original.items is not None:
            assert not isinstance(rows, slice)  # baskets are looked at one by one
            covered = cover_baskets(self.shown, original.items, rows)
        pairs = label_pairs(self.published, self.readings, rows)
        compared = (
            *check_coverage(self.readings, pairs),
            *check_conserved(self.published, original.dataset, original.untouched, rows),
            *(() if covered is None else covered.checks),
        )
        ncp = None if covered is None else covered.ncp
        return Alignment(rows, (*checks, *compared), items_ncp=ncp, pairs=pairs)

    def _number(self) -> Check:
        before, after = self.original.dataset.n_records, self.published.n_records
        fine = after == before or (self.demands.may_drop and after < before)
        detail = f"The original has {counted(before, 'record')}, the release {after:,}."
        return Check("number of records", fine, detail)


@dataclass(frozen=True, eq=False)
class SetApart:
    """The published records without the counterfeits, and the original beside them.

    genuine  per published record whether it is somebody's; empty where nobody says which are not
    """

    published: Table
    original: Original | None
    genuine: np.ndarray = field(default_factory=lambda: np.ones(0, dtype=bool))
    checks: tuple[Check, ...] = ()

    @property
    def number(self) -> int:
        """How many records were set apart."""
        return int((~self.genuine).sum())


def set_apart(published: Table, demands: Statement, original: Original | None) -> SetApart:
    """Set the records apart that, by the publisher or the order file, have no original (number -1)."""
    given = None if original is None else original.rows if original.rows is not None else original.order
    if original is None or not isinstance(given, np.ndarray) or given.min(initial=0) != -1:
        return SetApart(published, original)
    if len(given) != published.n_records:  # of another release, which the comparison refuses
        return SetApart(published, original)
    genuine = given != -1
    assert not isinstance(original.rows, slice)
    rows, order = (None if part is None else part[genuine] for part in (original.rows, original.order))
    names = [attribute.name for attribute in original.attributes]
    somebodys = np.flatnonzero(genuine)
    return SetApart(
        MemoryTable(pa.table(published.taken_columns(published.names, somebodys))),
        replace(original, rows=rows, order=order),
        genuine,
        (
            _check_number(int((~genuine).sum()), demands, original),
            _check_classes(published, names, genuine, demands),
        ),
    )


def _check_number(number: int, demands: Statement, original: Original, *, least: bool = False) -> Check:
    """Whether no more records without an original are published than announced, or else than allowed.

    least  whether so many have none at least, as nobody says which
    """
    have = "has no original" if number == 1 else "have no original"
    what = f"{'At least ' if least else ''}{counted(number, 'published record')} {have}"
    announced = original.counterfeits
    if announced is not None:
        same = number <= announced if least else number == announced
        fits = f"{announced:,} counterfeits were announced"
        return Check("counterfeits", same and announced <= demands.counterfeits, f"{what}; {fits}.")
    fits = f"the spec allows {counted(demands.counterfeits, 'counterfeit')}"
    return Check("counterfeits", number <= demands.counterfeits, f"{what}; {fits}.")


def _check_classes(published: Table, names: Sequence[str], genuine: np.ndarray, demands: Statement) -> Check:
    """Whether every counterfeit looks like at least k people."""
    k = max((int(p.number("k")) for p in stated(demands.table_models) if p.name == "k-anonymity"), default=1)
    class_of = distinct_rows(np.column_stack([published.column(name).codes for name in names]))[2]
    people = np.bincount(class_of, weights=genuine)
    few = int((people[class_of[~genuine]] < k).sum())
    good = f"Every counterfeit has the labels of at least {k:,} people."
    bad = f"{counted(few, 'counterfeit has', 'counterfeits have')} the labels of fewer than {k:,} people."
    return Check.of("classes of counterfeits", few, good, bad)


def counting_people(verdict: Verdict, alone: Verdict) -> Verdict:
    """A verdict with what is about numbers of people taken from one on the records of people alone.

    alone  by the models that are not about values: these are judged with counterfeits
    """
    own = iter(alone.models)
    models = tuple(next(own) if model.attribute is None else model for model in verdict.models)
    return replace(verdict, models=models, people=alone.people, risk=alone.risk)
