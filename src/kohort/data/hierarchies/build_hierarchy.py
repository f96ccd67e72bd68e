"""Hierarchies by description: the `hierarchy:` of a release spec as a builder or a file to read."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kohort.data.column import Column
from kohort.data.hierarchies import Builder, values_of
from kohort.data.hierarchies.categories import Code, Flat, Groups, Mask
from kohort.data.hierarchies.code_systems import recognized_code
from kohort.data.hierarchies.dates import Dates, days_of, period_of
from kohort.data.hierarchies.intervals import Intervals, Quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.parameters import check_parameters

# For a column that has none in the spec: chosen from its values.


_FEW = 4  # up to this many values, a tree gains nothing
_SKEWED = 1 / 3  # a share of the range; skewed if it holds the middle nine tenths of the records
_FINEST = 0.02  # the least width of an interval, as a share of the range
_FINEST_SPAN = 1e-12  # the narrowest range that has round limits
_WIDEST_SPAN = 1e300  # above this, round widths overflow
_CODE = re.compile(r"(?=.*[0-9])[0-9A-Za-z./-]{3,16}")


@dataclass(frozen=True)
class Choice:
    """A builder and why it was chosen."""

    builder: Builder
    what: str
    why: str


@dataclass(frozen=True)
class Auto(Builder):
    """Round intervals or quantiles for numbers, periods for dates, masks for codes, else by frequency."""

    key: ClassVar[str] = "auto"

    def choose(self, column: Column) -> Choice:
        """The builder for this column; write its `to_spec()` down to keep the choice for other data."""
        values = values_of(column)
        if column.kind in ("date", "datetime"):
            return _for_dates(column)
        if len(values) <= _FEW:
            return Choice(Flat(), "value or *", f"it has {_FEW} different values or fewer")
        system = recognized_code(column)
        if system is not None:
            what = f"the levels of {Code(system).title}"
            return Choice(Code(system), what, "its name and values speak for these codes")
        if column.listed:
            return Choice(Order(), "neighbours in order", "its categories have an order")
        if column.numbers is not None:
            return _for_numbers(column, column.numbers)
        if len(set(map(len, values))) == 1 and all(map(_CODE.fullmatch, values)):
            return Choice(Mask(), "masks from the right", "its values are codes of equal length")
        return Choice(
            ByFrequency(), "groups that join rare values first", "its values are names without an order"
        )

    def build(self, column: Column) -> Hierarchy:
        return self.choose(column).builder.build(column)

    def describe(self, column: Column) -> str:
        """A sentence that says what was chosen and why; it shows no value."""
        choice = self.choose(column)
        return f"Column {column.name!r} gets {choice.what}, because {choice.why}."


auto = Auto


def _for_dates(column: Column) -> Choice:
    days = days_of(column)
    shortest = ("day", "month") if column.kind == "datetime" else ("month",)
    levels = _thinning(days, (*shortest, "quarter", "year", "decade"), len(days))
    if not levels:
        levels = _thinning(days, ("week",), len(days))
    if not levels:
        return Choice(Flat(), "value or *", "its dates lie too close together or are too few for periods")
    return Choice(
        Dates(levels), f"periods ({', '.join(levels)})", "its dates fall into several periods of each kind"
    )


def _thinning(days: np.ndarray, levels: tuple[str, ...], n: int) -> tuple[str, ...]:
    useful = []
    for level in levels:
        periods = len(np.unique(period_of(days, level)))
        if 1 < periods < n:
            useful.append(level)
            n = periods
    return tuple(useful)


def _for_numbers(column: Column, numbers: np.ndarray) -> Choice:
    span = float(numbers[-1]) - float(numbers[0])
    reach = max(abs(float(numbers[0])), abs(float(numbers[-1])))
    if not _FINEST_SPAN < span < _WIDEST_SPAN or reach > span * 2**40:
        return Choice(
            Order(),
            "neighbours in order",
            "its numbers lie too close together or too far apart for intervals with round limits",
        )
    count = f"{len(numbers)} different numbers"
    # skewed: one value has most records, or the middle nine tenths of them lie close together
    counts = column.counts[: len(numbers)]
    share = np.cumsum(counts) / counts.sum()
    low, high = np.minimum(np.searchsorted(share, [0.05, 0.95]), len(numbers) - 1)
    if counts.max() > counts.sum() / 2 or float(numbers[high]) - float(numbers[low]) < _SKEWED * span:
        why = f"most records lie in a small part of the range of its {count}"
        return Choice(Quantiles(), "intervals with about equally many records", why)
    widths = _round_widths(span, len(numbers))
    what = f"intervals of {', '.join(map(str, widths))}"
    return Choice(Intervals(widths), what, f"its {count} are spread over their range")


def _round_widths(span: float, n_values: int) -> tuple[int | float, ...]:
    """Widths 1, 2 or 5 times a power of ten, each a multiple of the one before.

    The finest is the least that has 2 % of the range and holds two values on average.
    """
    least = max(_FINEST * span, 2 * span / (n_values - 1))
    exponent = int(np.floor(np.log10(least)))
    series = [(digit, e) for e in range(exponent, exponent + 4) for digit in (1, 2, 5)]
    widths: list[tuple[int, int]] = []
    for digit, e in series:
        width = digit * 10.0**e
        fits = not widths or digit * 10 ** (e - widths[-1][1]) % widths[-1][0] == 0
        if width >= least * (1 - 1e-9) and fits and (width < span or not widths):
            widths.append((digit, e))
    return tuple(digit * 10**e if e >= 0 else float(f"{digit}e{e}") for digit, e in widths)


_FILE_OPTIONS = ("delimiter", "encoding", "header")
_KINDS = ("auto", "leaf-first", "pairs", "tree")


@dataclass(frozen=True)
class FileSource:
    """A hierarchy that is in a file; `kohort.io.hierarchies` reads it."""

    path: str
    kind: str = "auto"
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)) or not str(self.path):
            raise InputError(f"A hierarchy file must be a path. Got {self.path!r}.")
        object.__setattr__(self, "path", str(self.path))
        if self.kind not in _KINDS:
            raise InputError(
                f"Unknown kind of hierarchy file {self.kind!r}. {did_you_mean(str(self.kind), _KINDS)}"
            )
        check_parameters(self, say="The {name!r} of a hierarchy file")

    def to_spec(self) -> str | dict[str, Any]:
        said = {name: getattr(self, name) for name in _FILE_OPTIONS if getattr(self, name)}
        if self.kind == "auto" and not said:
            return self.path
        return {self.kind if self.kind in ("pairs", "tree") else "file": self.path, **said}


def from_spec(value: Any) -> Builder | FileSource | None:
    """The builder or file that a `hierarchy:` names; None where there is to be no hierarchy.

    >>> from_spec({"intervals": [5, 10]}), from_spec("education.csv").path, from_spec("none")
    (Intervals(widths=(5, 10), origin=0, top=None, bottom=None), 'education.csv', None)
    """
    if value is None:
        return None
    if value == "none":
        return None
    if isinstance(value, str) and value in ("flat", "auto"):
        return Flat() if value == "flat" else Auto()
    if isinstance(value, str) and value in _FORMS:
        raise InputError(f"The hierarchy {value!r} needs its parameter, such as {_FORMS[value].example}.")
    if isinstance(value, str):
        return FileSource(value)
    if isinstance(value, Mapping):
        return _from_mapping(dict(value))
    raise InputError(f"A hierarchy must be a file, a word (none, flat, auto) or a mapping. Got {value!r}.")


def _from_mapping(spec: dict[Any, Any]) -> Builder | FileSource:
    known = {key for name, form in _FORMS.items() for key in (name, *form.options)}
    for key in spec:
        if key not in known:
            raise InputError(f"Unknown key {key!r} in a hierarchy. {did_you_mean(str(key), known)}")
    name = next((name for name in _FORMS if name in spec), None)
    if name is None:
        raise InputError(f"A hierarchy must name the way it is built: {', '.join(_FORMS)}.")
    form = _FORMS[name]
    for key in spec:
        if key != name and key not in form.options:
            raise InputError(
                f"A hierarchy by {name!r} does not take {key!r}. Options: "
                f"{', '.join(form.options) or 'none'}."
            )
    return form.make(spec.pop(name), **spec)


def _tree(value: Any, **options: Any) -> Groups | FileSource:
    """A tree in the spec itself, with or without its root, or in a file."""
    if not isinstance(value, Mapping):
        return FileSource(value, kind="tree", **options)
    if options:
        raise InputError(f"A tree that is written out does not take {', '.join(options)}.")
    if len(value) == 1:
        [(root, below)] = value.items()
        return Groups(below, root=str(root))
    return Groups(value)


def _switch(builder: Callable[[], Builder], name: str) -> Callable[[Any], Builder]:
    def make(value: Any) -> Builder:
        if value is not True:
            raise InputError(f"The hierarchy {name!r} is switched on by {name}: true. Got {value!r}.")
        return builder()

    return make


@dataclass(frozen=True)
class _Form:
    make: Callable[..., Builder | FileSource]
    options: tuple[str, ...]
    example: str


_FORMS = {
    "intervals": _Form(Intervals, ("origin", "top", "bottom"), "{intervals: [5, 10, 20]}"),
    "quantiles": _Form(Quantiles, ("depth",), "{quantiles: 3}"),
    "mask": _Form(Mask, ("char",), "{mask: right}"),
    "code": _Form(Code, (), "{code: icd10}"),
    "date": _Form(Dates, (), "{date: [month, quarter, year]}"),
    "groups": _Form(Groups, (), "{groups: {Europe: [France, Spain]}}"),
    "tree": _Form(_tree, ("encoding",), "{tree: countries.yaml}"),
    "pairs": _Form(lambda path, **o: FileSource(path, "pairs", **o), _FILE_OPTIONS, "{pairs: products.csv}"),
    "file": _Form(lambda path, **o: FileSource(path, **o), _FILE_OPTIONS, "{file: education.csv}"),
    "order": _Form(
        lambda values="natural", fanout=4: Order("natural" if values == "id" else values, fanout),
        ("fanout",),
        "{order: natural, fanout: 4}",
    ),
    "fanout": _Form(lambda fanout: Order(fanout=fanout), (), "{fanout: 5, order: frequency}"),
    "frequency": _Form(ByFrequency, (), "{frequency: 3}"),
    "flat": _Form(_switch(Flat, "flat"), (), "{flat: true}"),
    "auto": _Form(_switch(Auto, "auto"), (), "{auto: true}"),
}
