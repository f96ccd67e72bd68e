"""The privacy models of a problem as rules for compiled code, and its records as units for them."""

from __future__ import annotations

import numpy as np

from kohort.algorithms.improve.kernels.promises import (
    CLOSE,
    DISTINCT,
    ENTROPY,
    MOST,
    RULE,
    TOGETHER,
    WITHIN,
    Promises,
)
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.problem.promises import Model, TallyRule

_KINDS = {
    "most": MOST,
    "together": TOGETHER,
    "distinct": DISTINCT,
    "entropy": ENTROPY,
    "close": CLOSE,
    "within": WITHIN,
}


def refuse_other_models(problem: Problem) -> None:
    """Raise UnsupportedError for a privacy model that cannot be turned into a rule for compiled code."""
    for model in problem.models:
        if not model.only_counts:
            _rule(model)


def _rule(model: Model) -> TallyRule:
    """The rule of a privacy model; raises UnsupportedError if it has none."""
    rule = model.tally_rule()
    if rule is None:
        raise UnsupportedError(
            f"improve does not support this kind of {model.name} ({model.describe()}). Choose mondrian."
        )
    return rule


def units_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The unit of each record, and the row of each unit: distinct rows with their sensitive values."""
    unit = problem.rows.of_record.astype(np.int64)
    for name in _attributes(problem):
        sensitive = problem.sensitive[name]
        _, unit = np.unique(unit * sensitive.n_values + sensitive.column.codes, return_inverse=True)
    n_units = int(unit.max()) + 1
    row_of_unit = np.empty(n_units, dtype=np.int64)
    row_of_unit[unit] = problem.rows.of_record
    return unit, row_of_unit


def promises_of(problem: Problem, unit: np.ndarray, n_slots: int, n_tallies: int | None = None) -> Promises:
    """The rules of slots, with room to tally the values of each open slot. Memory: records / k * values.

    n_tallies  how many slots are tallied at a time; None: as many as can be open
    """
    names = _attributes(problem)
    starts = dict(zip(names, np.cumsum([0, *(problem.sensitive[n].n_values for n in names)])))
    n_values = sum(problem.sensitive[name].n_values for name in names)
    models = [model for model in problem.models if model.attribute is not None]
    rules = np.zeros(len(models), dtype=RULE).view(np.recarray)
    listed = np.ones((len(models), n_values), dtype=bool)
    low, high = np.zeros((len(models), n_values)), np.ones((len(models), n_values))
    for number, model in enumerate(models):
        assert model.attribute is not None
        sensitive, start = problem.sensitive[model.attribute], int(starts[model.attribute])
        rule = _rule(model)
        rules[number] = _KINDS[rule.kind], start, start + sensitive.n_values, rule.limit
        if rule.values is not None:
            listed[number] = False
            listed[number, [start + code for code in sensitive.context.codes(rule.values)]] = True
        if rule.band is not None:
            values = slice(start, start + sensitive.n_values)
            low[number, values], high[number, values] = rule.band(sensitive.column.counts / problem.n_records)
    value = np.empty((int(unit.max()) + 1, len(names)), dtype=np.int64)
    share = np.zeros(n_values)
    for place, name in enumerate(names):
        codes = problem.sensitive[name].column.codes + starts[name]
        value[unit, place] = codes
        share += np.bincount(codes, minlength=n_values) / problem.n_records
    if n_tallies is None:
        n_tallies = 2 * problem.n_records // problem.k + 4
    n_tallies = n_tallies if models else 0
    return Promises(
        k=problem.k,
        rules=rules,
        listed=listed,
        share=share,
        low=low,
        high=high,
        value=value,
        tally=np.zeros((n_tallies, n_values), dtype=np.int64),
        tally_of=np.full(n_slots if models else 0, -1, dtype=np.int64),
        free=np.concatenate([[n_tallies], np.arange(n_tallies)]),
    )


def _attributes(problem: Problem) -> list[str]:
    """The sensitive attributes that some model is about."""
    return list(dict.fromkeys(m.attribute for m in problem.models if m.attribute is not None))
