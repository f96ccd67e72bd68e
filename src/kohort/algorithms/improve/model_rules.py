"""The privacy models of a problem as rules for compiled code, and its records as units for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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
    new_met,
)
from kohort.errors import UnsupportedError
from kohort.problem.problem import Problem
from kohort.problem.promises import Model, TallyRule, counted_as

_KINDS = {
    "most": MOST,
    "together": TOGETHER,
    "distinct": DISTINCT,
    "entropy": ENTROPY,
    "close": CLOSE,
    "within": WITHIN,
}


def refuse_other_models(problem: Problem) -> None:
    """Raise UnsupportedError for a privacy model that cannot be turned into a rule for compiled code.

    Where people have several records, groups are united until such a model holds, as they may have to be
    for the others.
    """
    for model in () if problem.units.several else problem.models:
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


def only_counts_records(problem: Problem) -> bool:
    """Whether k records are all that a group needs: then groups can be cut freely."""
    return not problem.units.several and all(not model.attribute for model in problem.models)


def units_of(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The unit of each record, and the row of each unit: distinct rows by sensitive values and person."""
    unit = problem.rows.of_record.astype(np.int64)
    told_apart = [(s.column.codes, s.n_values) for s in (problem.sensitive[n] for n in _attributes(problem))]
    if problem.units.several:
        told_apart.append((problem.units.persons, problem.n_people))
    for codes, n_codes in told_apart:
        _, unit = np.unique(unit * n_codes + codes, return_inverse=True)
    n_units = int(unit.max()) + 1
    row_of_unit = np.empty(n_units, dtype=np.int64)
    row_of_unit[unit] = problem.rows.of_record
    return unit, row_of_unit


@dataclass(frozen=True, eq=False)
class _View:
    """The values of a sensitive column as some models look at them, numbered from `start`.

    stands_for  per value another one, or itself, that it is not told apart from
    is_spread   whether people are spread over their records, or have a value or not
    """

    start: int
    stands_for: np.ndarray
    is_spread: bool


def _views(problem: Problem) -> tuple[list[_View], int]:
    """How each model looks at its column, and how many values there are in all.

    Where records are counted, all models look at a column in the same way.
    """
    known: dict[tuple[str, bool, bytes], _View] = {}
    views, end = [], 0
    for model in _of_values(problem):
        sensitive = problem.sensitive[model.attribute]
        stands_for, is_spread = np.arange(sensitive.n_values), False
        if problem.units.several:
            stands_for, is_spread = counted_as(model, sensitive.context), model.of_people == "spread"
        key = model.attribute, is_spread, stands_for.tobytes()
        if key not in known:
            known[key] = _View(end, stands_for + end, is_spread)
            end += sensitive.n_values
        views.append(known[key])
    return views, end


def promises_of(problem: Problem, unit: np.ndarray, n_slots: int, n_tallies: int | None = None) -> Promises:
    """The rules of slots, with room to tally the values of each open slot. Memory: records / k * values.

    n_tallies  how many slots are tallied at a time; None: as many as can be open
    """
    models = _of_values(problem)
    views, n_values = _views(problem)
    rules = np.zeros(len(models), dtype=RULE).view(np.recarray)
    listed = np.ones((len(models), n_values), dtype=bool)
    low, high = np.zeros((len(models), n_values)), np.ones((len(models), n_values))
    share, is_spread = np.zeros(n_values), np.zeros(n_values, dtype=bool)
    for number, (model, view) in enumerate(zip(models, views)):
        sensitive, rule = problem.sensitive[model.attribute], _rule(model)
        values = slice(view.start, view.start + sensitive.n_values)
        rules[number] = _KINDS[rule.kind], values.start, values.stop, rule.limit
        if rule.values is not None:
            listed[number] = False
            listed[number, [view.start + code for code in sensitive.context.codes(rule.values)]] = True
        overall = sensitive.context.overall.astype(float)
        share[values], is_spread[values] = overall / overall.sum(), view.is_spread
        if rule.band is not None:
            low[number, values], high[number, values] = rule.band(share[values])
    looks = {
        v.start: v.stands_for[problem.sensitive[m.attribute].column.codes] for m, v in zip(models, views)
    }
    value = np.empty((int(unit.max()) + 1, len(looks)), dtype=np.int64)
    for place, codes in enumerate(looks.values()):
        value[unit, place] = codes
    if n_tallies is None:
        n_tallies = 2 * problem.n_records // problem.k + 4
    n_tallies = 0 if only_counts_records(problem) else n_tallies
    person, own_start, own = _people(problem, unit, looks, is_spread)
    return Promises(
        k=problem.k,
        rules=rules,
        listed=listed,
        share=share,
        low=low,
        high=high,
        value=value,
        tally=np.zeros((n_tallies, n_values + 1)),
        tally_of=np.full(n_slots if n_tallies else 0, -1, dtype=np.int64),
        free=np.concatenate([[n_tallies], np.arange(n_tallies)]),
        person=person,
        own_start=own_start,
        own=own,
        is_spread=is_spread,
        met=new_met(len(unit) if len(person) else 0, 1 + len(looks)),
    )


def _people(
    problem: Problem, unit: np.ndarray, looks: Mapping[int, np.ndarray], is_spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The person of each unit, and the values that people are spread over; empty if records are counted."""
    nothing = np.empty(0, dtype=np.int64)
    if not problem.units.several:
        return nothing, nothing, nothing
    person = np.empty(int(unit.max()) + 1, dtype=np.int64)
    person[unit] = problem.units.persons
    spread = [codes for start, codes in looks.items() if is_spread[start]]
    keys = [problem.units.persons.astype(np.int64) * len(is_spread) + codes for codes in spread]
    whose, own = np.divmod(np.unique(np.concatenate([nothing, *keys])), max(len(is_spread), 1))
    return person, np.searchsorted(whose, np.arange(problem.n_people + 1)), own


def promises_for(promises: Promises, units: np.ndarray) -> Promises:
    """The rules for some of the units, numbered from 0, with tallies of their own, for a thread."""
    person = promises.person[units] if len(promises.person) else promises.person
    return promises._replace(
        value=promises.value[units],
        tally=promises.tally.copy(),
        tally_of=promises.tally_of.copy(),
        free=promises.free.copy(),
        person=person,
        met=new_met(len(person), 1 + promises.value.shape[1]),
    )


def _of_values(problem: Problem) -> list[Model]:
    """The models about sensitive values that are rules for compiled code."""
    return [m for m in problem.models if m.attribute and m.tally_rule() is not None]


def _attributes(problem: Problem) -> list[str]:
    """The sensitive attributes that some model is about."""
    return list(dict.fromkeys(model.attribute for model in _of_values(problem)))
