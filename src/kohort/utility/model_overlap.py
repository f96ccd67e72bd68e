"""Do analyses of the release say the same as of the original? Regressions, means and quantiles, both ways.

The confidence intervals of every coefficient are compared (Karr, Kohnen, Oganian, Reiter and Sanil, 2006): 1
if they are the same, 0 if they are apart.

Columns of a release and of its original as an analyst reads them: as numbers, or as shares of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kohort.data.column import Column
from kohort.errors import InputError, did_you_mean, percent
from kohort.job.sides import BeforeAfter
from kohort.utility.regression import Fit, fit_linear, fit_logistic, interval_overlap
from kohort.verification.covering import Covering

if TYPE_CHECKING:
    from kohort.release.release import Release


Labels = Literal["midpoint", "spread"]
MOST_VALUES = 20


def numbers_before(column: Column) -> np.ndarray:
    """The numbers of a column by code; a missing one is NaN."""
    assert column.numbers is not None
    numbers = np.full(len(column.texts), np.nan)
    numbers[: len(column.numbers)] = column.numbers
    return numbers


def midpoints(column: Column, covering: Covering) -> np.ndarray:
    """Per label the middle between the least and the greatest number that it covers; NaN: it covers none."""
    low, high = covering.extremes(numbers_before(column))
    return (low + high) / 2


def drawn_codes(labels: np.ndarray, covering: Covering, rng: np.random.Generator) -> np.ndarray:
    """For each record a value that its label covers, every one of them as likely."""
    width = np.maximum(covering.last - covering.first + 1, 0)
    scattered, starts = covering.listed
    listed = np.diff(starts)
    place = np.floor(rng.random(len(labels)) * np.maximum((width + listed)[labels], 1)).astype(np.int64)
    in_range = place < width[labels]
    ranks = np.where(in_range, covering.first[labels] + place, 0)
    beyond = np.flatnonzero(~in_range & (listed[labels] > 0))
    ranks[beyond] = scattered[starts[labels[beyond]] + place[beyond] - width[labels[beyond]]]
    return covering.code_of_rank[ranks]


def shares_before(column: Column) -> np.ndarray:
    """Indicators of the values by code, without the most frequent one, which the others are compared with."""
    n = len(column.texts)
    if n > MOST_VALUES:
        raise InputError(
            f"Column {column.name!r} has {n} values, and a model can have a coefficient for at most "
            f"{MOST_VALUES} of a column that is no number. Leave it out of the model, or group its values."
        )
    return np.delete(np.eye(n), int(np.argmax(column.counts)), axis=1)


_HOW = {
    "midpoint": "labels of numbers are read as the middle of what they cover, other labels as equal shares "
    "of the values they cover",
    "spread": "every label is read as one of the values it covers, drawn at random, each as likely",
}


def model_overlap(
    release: Release, formulas: Sequence[str], *, labels: Labels = "midpoint", seed: int = 0
) -> list[dict[str, Any]]:
    """For each model its coefficients, before and after, and how much their 95 % intervals overlap."""
    read = [read_formula(text) for text in formulas]
    return [_compared(release, formula, labels, seed) for formula in read]


def _compared(release: Release, formula: Formula, labels: Labels, seed: int) -> dict[str, Any]:
    columns = {name: _column(release, name, formula) for name in formula.names}
    kind = "linear" if _is_number(columns[formula.response]) else "logistic"
    fits = [_fitted(side, formula, kind) for side in _features(release.sides, columns, labels, seed)]
    names = ["intercept", *(name for column in formula.columns for name in _names(columns[column]))]
    rows = [
        {
            "coefficient": name,
            "before": _estimate(fits[0], place),
            "after": _estimate(fits[1], place),
            "overlap": interval_overlap(fits[0].intervals[place], fits[1].intervals[place]),
        }
        for place, name in enumerate(names)
        if np.isfinite(fits[0].coefficients[place])
    ]
    overlap = float(np.mean([row["overlap"] for row in rows[1:] or rows]))
    facts = {"model": formula.text, "kind": kind, "labels": labels, "coefficients": rows, "overlap": overlap}
    return facts | {"sentence": _sentence(facts)}


def _column(release: Release, name: str, formula: Formula) -> Column:
    """The original column; refused unless it is published and can be a part of a model."""
    roles = release.roles
    published = [
        other
        for other in release.published_names
        if roles.of.get(other) in ("quasi-identifier", "sensitive", "insensitive")
    ]
    if name not in published:
        raise InputError(
            f"The model {formula.text!r} names {name!r}, which is no published column that can be analysed. "
            f"{did_you_mean(name, published)}"
        )
    attributes = {attribute.name: attribute.column for attribute in release.problem.attributes}
    column = attributes.get(name) or release.dataset.column(name)
    if name == formula.response and not _is_number(column) and len(column.texts) != 2:
        raise InputError(
            f"The model {formula.text!r} explains {name!r}, which must be numbers or have two values; it has "
            f"{len(column.texts)} values."
        )
    return column


def _is_number(column: Column) -> bool:
    return column.kind in ("integer", "float") and not column.listed and len(column.texts) > 2


_Features = dict[str, np.ndarray]
"""The columns of one table as an analyst reads them: by name the values of its records."""


def _features(
    sides: BeforeAfter, columns: dict[str, Column], labels: Labels, seed: int
) -> tuple[_Features, _Features]:
    """The columns of the original and of the published records that are not withheld."""
    rng = np.random.default_rng(seed)
    place_of = {attribute.name: place for place, attribute in enumerate(sides.attributes)}
    kept = np.flatnonzero(~sides.withheld)
    before: _Features = {}
    after: _Features = {}
    for name, column in columns.items():
        by_code = numbers_before(column)[:, None] if _is_number(column) else shares_before(column)
        before[name] = by_code[column.codes]
        if name not in place_of:
            after[name] = by_code[column.codes[sides.rows[kept]]]
            continue
        covering, shown = sides.coverings[place_of[name]], sides.labels[place_of[name]].codes[kept]
        if labels == "spread":
            after[name] = by_code[drawn_codes(shown, covering, rng)]
        elif _is_number(column):
            after[name] = midpoints(column, covering)[shown][:, None]
        else:
            after[name] = covering.shares(by_code)[shown]
    return before, after


def _names(column: Column) -> list[str]:
    """The names of the coefficients of a column."""
    if _is_number(column):
        return [column.name]
    usual = int(np.argmax(column.counts))
    return [f"{column.name} = {text}" for code, text in enumerate(column.texts) if code != usual]


def _fitted(features: _Features, formula: Formula, kind: str) -> Fit:
    """The model fitted to the records that have a value in each of its columns."""
    response = features[formula.response][:, 0]
    parts = [np.ones((len(response), 1)), *(features[name] for name in formula.columns)]
    explaining = np.column_stack(parts)
    known = np.isfinite(response) & np.isfinite(explaining).all(axis=1)
    return (fit_linear if kind == "linear" else fit_logistic)(explaining[known], response[known])


def _estimate(fit: Fit, place: int) -> dict[str, Any] | None:
    """A coefficient with its interval; None where it cannot be estimated."""
    if not np.isfinite(fit.coefficients[place]):
        return None
    return {"value": float(fit.coefficients[place]), "interval": fit.intervals[place].tolist()}


def _sentence(facts: dict[str, Any]) -> str:
    rows = facts["coefficients"][1:] or facts["coefficients"]
    kept = sum(_same_conclusion(row) for row in rows)
    return (
        f"The {facts['kind']} regression {facts['model']!r} has 95 % intervals that overlap by "
        f"{percent(facts['overlap'])} on average between the original and the release, and {kept} of "
        f"{len(rows)} coefficients have the same sign and significance ({_HOW[facts['labels']]})."
    )


def _same_conclusion(row: dict[str, Any]) -> bool:
    """Whether both tables say that a coefficient is above 0, below 0, or not known to be either."""
    return row["after"] is not None and _conclusion(row["before"]) == _conclusion(row["after"])


def _conclusion(estimate: dict[str, Any]) -> int:
    low, high = estimate["interval"]
    return int(low > 0) - int(high < 0)


def number_overlap(release: Release, *, labels: Labels = "midpoint", seed: int = 0) -> list[dict[str, Any]]:
    """Mean and quartiles of every quasi-identifier of numbers, before and after, the means with intervals."""
    sides = release.sides
    columns = {a.name: a.column for a in sides.attributes if _is_number(a.column)}
    if not columns:
        return []
    features = _features(sides, columns, labels, seed)
    found = []
    for name in columns:
        pair = [side[name][:, 0] for side in features]
        values = [numbers[np.isfinite(numbers)] for numbers in pair]
        if not all(map(len, values)):
            continue
        one, other = map(_described, values)
        overlap = interval_overlap(np.array(one["interval"]), np.array(other["interval"]))
        found.append({"column": name, "before": one, "after": other, "overlap": overlap, "labels": labels})
    return found


def _described(numbers: np.ndarray) -> dict[str, Any]:
    fit = fit_linear(np.ones((len(numbers), 1)), numbers)
    quartiles = np.quantile(numbers, [0.25, 0.5, 0.75]).tolist()
    return {"mean": float(fit.coefficients[0]), "interval": fit.intervals[0].tolist(), "quartiles": quartiles}


_NAME = re.compile(r"`([^`]+)`|([^`~+*:()^|]+)")


@dataclass(frozen=True)
class Formula:
    """A response and the columns that explain it."""

    text: str
    response: str
    columns: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return (self.response, *self.columns)


def read_formula(text: object) -> Formula:
    """Read `response ~ column + column`; a name with signs in it stands in backticks.

    >>> read_formula("income ~ age + `hours per week`").columns
    ('age', 'hours per week')
    """
    sides = text.split("~") if isinstance(text, str) else []
    if len(sides) != 2:
        raise InputError(
            f"A model is written as 'income ~ age + sex': one column, a tilde, and others. Got {text!r}."
        )
    response, columns = _name(sides[0], text), tuple(_name(part, text) for part in sides[1].split("+"))
    if len({response, *columns}) != len(columns) + 1:
        raise InputError(f"The model {text!r} names a column twice. Name each one once.")
    return Formula(str(text).strip(), response, columns)


def _name(part: str, text: object) -> str:
    found = _NAME.fullmatch(part.strip())
    if found is None:
        raise InputError(
            f"The model {text!r} has {part.strip()!r} where the name of a column should be. Columns are "
            "added with +; products, powers and functions are not possible, and names with signs stand in "
            "backticks."
        )
    return (found[1] or found[2]).strip()
