"""Checks of columns that are published other than generalized: what can be seen of a treatment.

A treatment is told as its name and its size, as the spec writes them; the rest is by definitions of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from fractions import Fraction
from math import sqrt
from typing import TYPE_CHECKING, Any, Protocol
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.domain import STAR
from kohort.errors import counted
from kohort.problem.attribute import Attribute
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.verification.against_original import Original
from kohort.verification.classes import PublishedClasses
from kohort.verification.scale import Scale
from kohort.verification.verdict import Check

if TYPE_CHECKING:
    from kohort.statement import Statement


SIGMAS = 7
"""Chance alone exceeds so many standard deviations once in 10^11 times."""
_DAY = 86_400_000_000_000  # nanoseconds


class StatedTreatment(Protocol):
    """A treatment as it was asked for; of what it says only its size and its words are read."""

    def describe(self) -> str: ...

    def to_spec(self) -> Mapping[str, Any]: ...


def check_hidden(published: Table, original: Table | None, treatments: Mapping[str, str]) -> list[Check]:
    """A failing check for each mask that tells records apart, and for pseudonyms that are original values."""
    failing = []
    for name in (name for name in published.names if treatments.get(name) in ("mask", "pseudonym")):
        shown = {text for text in published.column(name).texts if text is not None}
        is_mask = treatments[name] == "mask"
        known = () if original is None or is_mask else original.column(name).texts
        if not (len(shown) < 2 if is_mask else shown.isdisjoint(known)):
            detail = f"Column {name!r} is published without its {treatments[name]}."
            failing.append(Check(f"column {name!r} hidden", False, detail))
    return failing


def check_perturbed(
    published: Table,
    original: Table | None,
    name: str,
    how: StatedTreatment,
    rows: np.ndarray | slice | None,
    *,
    sure: bool,
) -> Check:
    """Whether a column may have come about as the spec says.

    rows, sure  per published record its original, and whether that is known for certain
    """
    title = f"column {name!r} treated"
    if name not in published.names:
        return Check(title, False, f"Column {name!r} is missing.")
    known = None if original is None or rows is None else original.column(name)
    [(treatment, size)] = how.to_spec().items()
    seen = _Seen(published.column(name), known, rows if sure else None, slice(None) if rows is None else rows)
    wrong = _WRONG[treatment](seen, size)
    good = f"Column {name!r}: as far as it can be seen, {how.describe()}."
    return Check.of(title, wrong, good, f"Column {name!r}: {wrong}.")


@dataclass(frozen=True, eq=False)
class _Seen:
    """A published column beside its original: `rows` are known for certain, `any_rows` fit at least."""

    after: Column
    before: Column | None
    rows: np.ndarray | slice | None
    any_rows: np.ndarray | slice

    @property
    def original(self) -> np.ndarray | None:
        """The numbers of the original, in its order; None without it."""
        return None if self.before is None else _numbers(self.before)

    @property
    def known(self) -> np.ndarray | None:
        """The number that each published record had; None where that is not known."""
        before = self.original
        return None if before is None or self.rows is None else before[self.rows]


def _of_numbers(wrong: Callable[[_Seen, np.ndarray, Any], str]) -> Callable[[_Seen, Any], str]:
    def checked(seen: _Seen, size: Any) -> str:
        after = _numbers(seen.after)
        return "it does not hold numbers" if after is None else wrong(seen, after, size)

    return checked


def _not_rounded(seen: _Seen, after: np.ndarray, size: Any) -> str:
    unit, before = float(Fraction(str(size))), seen.known
    steps = after[~np.isnan(after)] / unit
    if (np.abs(steps - np.round(steps)) > 1e-6).any():
        return "some values are no multiples of what they were to be rounded to"
    far = before is not None and (np.abs(after - before) > unit * 0.5000001).any()
    return "some values are not the nearest multiples" if far else ""


def _beyond(seen: _Seen, after: np.ndarray, size: Any) -> str:
    bottom, top = size
    low = -np.inf if bottom is None else float(Fraction(str(bottom)))
    high = np.inf if top is None else float(Fraction(str(top)))
    if (after < low).any() or (after > high).any():
        return "some values lie beyond the limits"
    before = seen.known
    if before is None:
        return ""
    expected = np.minimum(np.maximum(before, low), high)
    same = (after == expected) | (np.isnan(after) & np.isnan(expected))
    return "" if same.all() else "some values within the limits were changed"


def _not_swapped(seen: _Seen, after: np.ndarray, size: Any) -> str:
    before = seen.original
    if before is None:
        return ""
    if len(before) == len(after) and not np.array_equal(np.sort(before), np.sort(after), equal_nan=True):
        return "its values are not those of the original in other places"
    if seen.rows is None:
        return ""
    known = np.sort(before[~np.isnan(before)])
    reach = max(int(float(Fraction(str(size))) * len(known)), 1)
    there = ~np.isnan(after)
    mine, now = before[seen.rows][there], after[there]
    lowest, highest = np.searchsorted(known, mine, "left"), np.searchsorted(known, mine, "right") - 1
    first, last = np.searchsorted(known, now, "left"), np.searchsorted(known, now, "right") - 1
    if len(before) == len(after) and np.array_equal(mine, now) and _must_move(known, reach):
        return "no value is in another place"
    far = (first - highest > reach) | (lowest - last > reach)
    return "some values moved by more ranks than allowed" if far.any() else ""


def _not_noisy(seen: _Seen, after: np.ndarray, size: Any) -> str:
    before = seen.original
    if before is None:
        return ""
    here, unit = before[seen.any_rows], 10.0 ** -_decimals(seen.after)
    there = ~np.isnan(here)
    n, spread = int(there.sum()), float(Fraction(str(size))) * float(np.nanstd(before))
    if n < 2 or not spread:
        return ""
    if np.isnan(after).sum() != np.isnan(here).sum():
        return "missing values are not those of the original"
    apart = float(np.nanmean(after) - here[there].mean())
    if abs(apart) > SIGMAS * spread / sqrt(n) + unit:
        return "its mean is farther from the original's than noise of this size explains"
    if seen.rows is None:
        return ""
    noise = (after - before[seen.rows])[there]
    ratio = float(noise.var() / (spread**2 + unit**2 / 12))
    if abs(ratio - 1) > SIGMAS * sqrt(2 / n):
        return f"the noise has {ratio:.3g} times the variance that was stated"
    return ""


def _not_drawn(seen: _Seen, size: Any) -> str:
    if seen.before is None:
        return ""
    texts = seen.before.texts
    before = Counter(texts[code] for code in seen.before.codes[seen.any_rows].tolist())
    after = Counter(seen.after.texts[code] for code in seen.after.codes.tolist())
    everybody = Counter(texts[code] for code in seen.before.codes.tolist())
    expected, variance = _expected(before, size, everybody)
    for text in {*after, *expected}:
        apart = abs(after[text] - expected.get(text, 0.0))
        if apart > SIGMAS * sqrt(variance.get(text, 0.0)) + 1e-9:
            return "values occur more or less often than the chances of the matrix explain"
    if seen.rows is None:
        return ""
    pairs = zip(seen.before.codes[seen.rows].tolist(), seen.after.codes.tolist())
    stayed = sum(texts[one] == seen.after.texts[two] for one, two in pairs)
    chances = [_chances(text, size, everybody).get(text, 0.0) for text in before]
    mean = sum(n * chance for n, chance in zip(before.values(), chances))
    deviation = sqrt(max(sum(n * c * (1 - c) for n, c in zip(before.values(), chances)), 0.0))
    fine = abs(stayed - mean) <= SIGMAS * deviation + 1e-6
    return "" if fine else "more or fewer records keep their value than the chances explain"


def _must_move(known: np.ndarray, reach: int) -> bool:
    """Whether rank swapping moves some value but for a chance of 10^-11: none moves where all meet equals.

    The first of equal values meets only free places above it, as many as `reach`, as long as none has moved.
    """
    _, first, equal = np.unique(known, return_index=True, return_counts=True)
    above = np.minimum(reach, len(known) - 1 - first)
    return bool(np.prod(np.minimum(1.0, (equal - 1)[above > 0] / above[above > 0])) < 1e-11)


def _chances(text: str | None, size: Any, everybody: Counter[str | None]) -> dict[str | None, float]:
    """The chance of each value where there was this one; what is missing stays so."""
    if text is None:
        return {None: 1.0}
    if isinstance(size, Mapping):
        return {to: float(Fraction(str(chance))) for to, chance in size.get(text, {}).items()}
    stays, total = float(Fraction(str(size))), everybody.total() - everybody[None]
    row: dict[str | None, float] = {
        other: (1 - stays) * n / total for other, n in everybody.items() if other is not None
    }
    return row | {text: row.get(text, 0.0) + stays}


def _expected(
    before: Counter[str | None], size: Any, everybody: Counter[str | None]
) -> tuple[dict[str | None, float], dict[str | None, float]]:
    """The expected number of each value after PRAM, and its variance."""
    total, n = sum(everybody.values()), sum(before.values())
    mean: dict[str | None, float] = {}
    variance: dict[str | None, float] = {}
    for text, count in before.items():
        for to, chance in _chances(text, size, everybody).items():
            mean[to] = mean.get(to, 0.0) + count * chance
            variance[to] = variance.get(to, 0.0) + count * chance * (1 - chance) + (chance < 1) * n / total
    return mean, variance


def _numbers(column: Column) -> np.ndarray | None:
    """The value of each record, read from its text; NaN where it is missing. None if some are no numbers."""
    try:
        values = [np.nan if text is None else float(text) for text in column.texts]
    except ValueError:
        return None
    return np.array([*values, np.nan])[column.codes]


def _decimals(column: Column) -> int:
    """How many decimals are written, at most."""
    parts = [text.partition(".")[2] for text in column.texts if text is not None and "e" not in text.lower()]
    return max((len(part) for part in parts), default=0)


_WRONG: dict[str, Callable[[_Seen, Any], str]] = {
    "noise": _of_numbers(_not_noisy),
    "swap": _of_numbers(_not_swapped),
    "limits": _of_numbers(_beyond),
    "round": _of_numbers(_not_rounded),
    "pram": _not_drawn,
}
"""What contradicts a treatment of some size, in words; empty if nothing does."""
TREATED = ("pseudonym", "mask", "shift", *_WRONG)
"""The treatments of columns that are published in another form."""


def check_shifted(
    published: Table, original: Table, name: str, rows: np.ndarray, persons: np.ndarray, most: int
) -> Check:
    """Check that all dates of a person moved by the same number of days: at most `most`, and not by 0.

    rows     per published record its original
    persons  per published record the number of its person
    """
    columns = [table.column(name) for table in (published, original)]
    shown = [(Scale(column).clocks, column.codes.tolist()) for column in columns]
    after, before = ([clocks[code] for code in codes] for clocks, codes in shown)
    zone = getattr(published.arrow(name).type, "tz", None)
    wrong = 0
    days_of: dict[int, int] = {}
    for record, (row, person) in enumerate(zip(rows.tolist(), persons.tolist())):
        new, old = after[record], before[row]
        if new is None or old is None:
            wrong += new is not old
            continue
        days, rest = divmod(new - old, _DAY)
        fine = rest == 0 or _is_skipped(new - rest, zone)
        wrong += not (fine and 1 <= abs(days) <= most and days_of.setdefault(person, days) == days)
    good = (
        f"The dates of {name!r} moved by the same number of days for all records of a person, at most {most}."
    )
    bad = (
        f"{counted(wrong, 'date')} of {name!r} did not move with the others of the same person, or by more "
        f"than {most} days, or not at all."
    )
    return Check.of(f"shift of {name!r}", wrong, good, bad)


def _is_skipped(clock: int, zone: str | None) -> bool:
    """Whether the clocks of a time zone never show this, as they are put forward there."""
    if zone is None:
        return False
    shown = datetime(1970, 1, 1) + timedelta(microseconds=clock // 1000)
    try:
        real = shown.replace(tzinfo=ZoneInfo(zone)).astimezone(timezone.utc).astimezone(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError):  # a fixed offset, whose clocks show everything
        return False
    return real.replace(tzinfo=None) != shown


Read = tuple[Table, Original | None, tuple[Check, ...]]


def read_averages(published: Table, demands: Statement, original: Original | None) -> Read:
    """The published table with intervals in the place of means, so that all else can be read as always.

    An interval is that of the originals of a class. Where it is not known which records these are, there is
    nothing to compare the table with.
    """
    averaged = {name: how for name, how in demands.publish.items() if how != "interval"}
    if not averaged or original is None:
        return published, original, ()
    rows: np.ndarray | None = original.order  # per published record its original, where that is known
    if original.rows is not None:
        is_slice = isinstance(original.rows, slice)
        rows = np.arange(original.dataset.n_records) if is_slice else original.rows  # type: ignore[assignment]
    elif rows is None and demands.shuffle is False and published.n_records == original.dataset.n_records:
        rows = np.arange(published.n_records)
    if rows is None:
        detail = (
            "Means or medians are published, and which records they are of is not known: give the order file."
        )
        return published, None, (Check("records", None, detail),)
    classes = PublishedClasses([published.column(a.name) for a in original.attributes], {})
    arrays, checks = {name: published.arrow(name) for name in published.names}, []
    for attribute in (attribute for attribute in original.attributes if attribute.name in averaged):
        name = attribute.name
        shown = published.column(name)
        arrays[name], check = _as_intervals(shown, attribute, rows, classes, averaged[name])
        checks.append(check)
    known = original if original.rows is not None else replace(original, rows=rows)
    return MemoryTable(pa.table(arrays)), known, tuple(checks)


def _as_intervals(
    labels: Column, attribute: Attribute, rows: np.ndarray, classes: PublishedClasses, how: str
) -> tuple[pa.Array, Check]:
    """A column of intervals in the place of one of means, and whether these are right."""
    codes, class_of = attribute.column.at(rows), classes.class_of_record
    starred = np.array([text == STAR for text in labels.texts], dtype=bool)[labels.codes]
    numbers = np.array([float(text) for text in attribute.column.texts if text is not None])[codes]
    order = np.lexsort((numbers, class_of))
    starts = np.flatnonzero(np.diff(class_of[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    expected = _averages(numbers[order], starts, ends, how)
    shown = np.array([np.nan if text in (STAR, None) else float(text) for text in labels.texts])[labels.codes]
    unit = 10.0 ** -(2 + _decimals(attribute.column))  # two decimals more than the originals have
    apart = np.abs(shown - expected[class_of])
    wrong = int((~starred & ~(apart <= 0.5001 * unit + 1e-9 * np.abs(shown))).sum())
    low, high = codes[order[starts]], codes[order[ends - 1]]
    texts = attribute.column.texts
    of_class = [texts[a] if a == b else f"[{texts[a]}, {texts[b]}]" for a, b in zip(low, high)]
    written = [STAR if star else of_class[number] for number, star in zip(class_of, starred)]
    name = attribute.name
    good = f"Column {name!r} publishes the {how} of every class."
    bad = f"{counted(wrong, 'value')} of {name!r} differ from the {how} of their class."
    return pa.array(written, pa.string()), Check.of(f"{how} of {name!r}", wrong, good, bad)


def _averages(numbers: np.ndarray, starts: np.ndarray, ends: np.ndarray, how: str) -> np.ndarray:
    """The mean or the median of each run of sorted numbers."""
    sizes = ends - starts
    if how == "mean":
        return np.add.reduceat(numbers, starts) / sizes
    return (numbers[starts + (sizes - 1) // 2] + numbers[starts + sizes // 2]) / 2


def lost_squares(
    attributes: Sequence[Attribute], rows: np.ndarray | slice, classes: PublishedClasses, n_records: int
) -> float | None:
    """SSE / SST of the numbers without a hierarchy; None where there are none.

    Records that are left out, or are `*` everywhere, are as far from what is published as from the mean.
    """
    chosen = [a for a in attributes if a.plain_numbers is not None and a.weight]
    if not chosen:
        return None
    shown = ~classes.all_star_records
    here = (np.arange(n_records) if isinstance(rows, slice) else rows)[shown]
    lost = sum(a.weight * _lost(a, here, classes.class_of_record[shown]) for a in chosen)
    return lost / sum(a.weight for a in chosen)


def _lost(attribute: Attribute, rows: np.ndarray, class_of: np.ndarray) -> float:
    numbers = np.array([float(text) for text in attribute.column.texts if text is not None])
    everything = numbers[attribute.column.codes]
    squares = (everything - everything.mean()) ** 2
    if not squares.sum():
        return 0.0
    here = everything[rows]
    sizes = np.bincount(class_of)
    means = np.bincount(class_of, here) / np.maximum(sizes, 1)
    withheld = squares.sum() - squares[rows].sum()
    return float((((here - means[class_of]) ** 2).sum() + withheld) / squares.sum())
