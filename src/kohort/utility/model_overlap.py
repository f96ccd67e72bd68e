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
from kohort.verification.reading import Covering

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
        for other in release.published.names
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
    kept = sum(
        row["after"] is not None and _conclusion(row["before"]) == _conclusion(row["after"]) for row in rows
    )
    return (
        f"The {facts['kind']} regression {facts['model']!r} has 95 % intervals that overlap by "
        f"{percent(facts['overlap'])} on average between the original and the release, and {kept} of "
        f"{len(rows)} coefficients have the same sign and significance ({_HOW[facts['labels']]})."
    )


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


# -- linear and logistic regression with confidence intervals, by least squares ----------------------


_Z = 1.959963984540054
_STEPS = 60


@dataclass(frozen=True, eq=False)
class Fit:
    """The coefficients of a model and their standard errors; NaN where one cannot be estimated."""

    coefficients: np.ndarray
    errors: np.ndarray

    @property
    def intervals(self) -> np.ndarray:
        """The 95 % intervals: coefficients by two ends."""
        return np.column_stack([self.coefficients - _Z * self.errors, self.coefficients + _Z * self.errors])


def estimable(features: np.ndarray) -> np.ndarray:
    """Per column whether it is no linear combination of those before it.

    By Gram and Schmidt, each column against what is left of the earlier ones, twice for accuracy.
    """
    kept = np.zeros(features.shape[1], dtype=bool)
    basis: list[np.ndarray] = []
    for place, column in enumerate(features.T):
        rest = column.astype(np.float64)
        for _ in range(2):
            for unit in basis:
                rest = rest - unit * (unit @ rest)
        length, whole = float(np.linalg.norm(rest)), float(np.linalg.norm(column))
        if length > 1e-7 * max(whole, 1e-300):
            kept[place] = True
            basis.append(rest / length)
    return kept


def fit_linear(features: np.ndarray, response: np.ndarray) -> Fit:
    """Ordinary least squares; the variance of the errors is the same for all records."""
    kept = estimable(features)
    x = features[:, kept]
    n, p = x.shape
    solved, *_ = np.linalg.lstsq(x, response, rcond=None)
    residual = response - x @ solved
    variance = float(residual @ residual) / max(n - p, 1)
    return _spread(kept, solved, np.sqrt(np.diag(np.linalg.inv(x.T @ x)) * variance))


def fit_logistic(features: np.ndarray, response: np.ndarray) -> Fit:
    """Logistic regression by iteratively reweighted least squares; the response is a share from 0 to 1.

    Newton's steps are halved until the likelihood does not fall. Where classes can be told apart by a line,
    coefficients grow without bound: the search stops, and their errors are as large.
    """
    kept = estimable(features)
    x = features[:, kept]
    beta = np.zeros(x.shape[1])
    for _ in range(_STEPS):
        chance = _chance(x @ beta)
        weight = np.maximum(chance * (1 - chance), 1e-10)
        step = np.linalg.lstsq(x.T @ (x * weight[:, None]), x.T @ (response - chance), rcond=None)[0]
        size = 1.0
        while size > 1e-6 and _likelihood(x, response, beta + size * step) < _likelihood(x, response, beta):
            size /= 2
        beta = beta + size * step
        if np.abs(size * step).max(initial=0.0) < 1e-9:
            break
    chance = _chance(x @ beta)
    weight = np.maximum(chance * (1 - chance), 1e-10)
    covariance = np.linalg.pinv(x.T @ (x * weight[:, None]))
    return _spread(kept, beta, np.sqrt(np.maximum(np.diag(covariance), 0.0)))


def _chance(linear: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(linear, -35, 35)))


def _likelihood(x: np.ndarray, response: np.ndarray, beta: np.ndarray) -> float:
    linear = np.clip(x @ beta, -35, 35)
    return float((response * linear - np.logaddexp(0.0, linear)).sum())


def _spread(kept: np.ndarray, coefficients: np.ndarray, errors: np.ndarray) -> Fit:
    """Coefficients of all columns, NaN for those that were left out."""
    full = np.full((2, len(kept)), np.nan)
    full[0, kept], full[1, kept] = coefficients, errors
    return Fit(full[0], full[1])


def interval_overlap(one: np.ndarray, other: np.ndarray) -> float:
    """The mean of the shares of two intervals that they have in common (Karr and others, 2006); 0: apart.

    >>> interval_overlap(np.array([0.0, 2.0]), np.array([1.0, 3.0]))
    0.5
    """
    if np.isnan(one).any() or np.isnan(other).any():
        return 0.0
    common = min(one[1], other[1]) - max(one[0], other[0])
    lengths = one[1] - one[0], other[1] - other[0]
    if min(lengths) <= 0:
        return 1.0 if common >= 0 else 0.0
    return float(max(common, 0.0) * (1 / lengths[0] + 1 / lengths[1]) / 2)
