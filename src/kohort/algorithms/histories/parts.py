"""The parts of a problem of linked records: people with the same slots, one wide record for each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

import numpy as np

from kohort.algorithms.histories.over_records import OverRecords, ValueSets
from kohort.algorithms.histories.patterns import WITHHELD, Pattern, settled_patterns
from kohort.data.column import Column
from kohort.data.counting import distinct_rows
from kohort.errors import InfeasibleError, UnsupportedError, counted
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.promises import NO_CONTEXT, ClassCounts, Model
from kohort.problem.promises.counts import representatives
from kohort.problem.units import SensitiveAttribute, Units, Weights


@dataclass(frozen=True, eq=False)
class Part:
    """The people who are published with the same slots.

    records  people by slots: the number of each record
    """

    records: np.ndarray

    @property
    def n_slots(self) -> int:
        return self.records.shape[1]


def parts_of(problem: Problem) -> list[Part]:
    """The people of the problem by the slots that they are published with, the largest part first.

    Records in no part are withheld. Raises InfeasibleError where these are more than may be withheld.
    """
    patterns, number = problem.units.histories.patterns()
    rows = _people_by_pattern(problem, number, len(patterns))
    closed: set[Pattern] = set()
    while True:
        parts = _parts(problem, patterns, rows, closed)
        broken = {pattern for pattern, part in parts.items() if not _holds(problem, part)}
        if not broken:
            break
        closed |= broken
    found = sorted(parts.values(), key=lambda part: -part.records.size)
    _refuse_withholding(problem, problem.n_records - sum(part.records.size for part in found), bool(closed))
    return found


def _people_by_pattern(problem: Problem, number: np.ndarray, n_patterns: int) -> list[np.ndarray]:
    """For each pattern its people by their slots: the number of each record."""
    histories = problem.units.histories
    records = histories.ordered([a.leaves for a in problem.attributes])
    of_record = number[histories.persons[records]]
    size = np.zeros(n_patterns, dtype=np.int64)
    size[number] = histories.sizes
    return [records[of_record == pattern].reshape(-1, size[pattern]) for pattern in range(n_patterns)]


def _parts(
    problem: Problem, patterns: list[Pattern], rows: list[np.ndarray], closed: set[Pattern]
) -> dict[Pattern, Part]:
    """The part of each pattern that is published, where none of the `closed` patterns may be."""
    people = {pattern: len(found) for pattern, found in zip(patterns, rows)}
    becomes = settled_patterns(people, problem.k, closed)
    is_bag = problem.units.histories.slots is None
    rng = np.random.default_rng(problem.seed)
    parts: dict[Pattern, list[np.ndarray]] = {}
    for pattern, found in zip(patterns, rows):
        kept = becomes[pattern]
        if kept == WITHHELD:
            continue
        taken = _drawn(found, len(kept), rng) if is_bag else found[:, _places(pattern, kept)]
        parts.setdefault(kept, []).append(taken)
    return {pattern: Part(np.concatenate(found)) for pattern, found in parts.items()}


def _places(pattern: Pattern, kept: Pattern) -> list[int]:
    return [place for place, slot in enumerate(sorted(pattern)) if slot in kept]


def _drawn(records: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """n records of each person, drawn at random, in their order."""
    if n == records.shape[1]:
        return records
    places = np.sort(rng.random(records.shape).argsort(axis=1)[:, :n], axis=1)
    return np.take_along_axis(records, places, axis=1)


def _holds(problem: Problem, part: Part) -> bool:
    """Whether the people of a part keep every model as one class."""
    sensitive, models = _wide_models(problem, part.records)
    everybody = np.zeros(len(part.records), dtype=np.int64)
    for model in models:
        if not model.attribute:
            counts, context = ClassCounts.of_sizes(np.array([len(everybody)])), NO_CONTEXT
        else:
            of = sensitive[model.attribute]
            counts = ClassCounts.from_records(everybody, of.column.codes, 1, of.n_values)
            context = of.context
        if not model.holds(counts, context).all():
            return False
    return True


def _refuse_withholding(problem: Problem, withheld: int, by_models: bool) -> None:
    if withheld <= problem.max_withheld:
        return
    what = "number of records" if problem.units.histories.slots is None else "pattern of slots"
    why = f"fewer than {problem.k} people" + (" or too few different sensitive values" if by_models else "")
    share = ceil(Fraction(withheld, problem.n_records) * 10_000) / 10_000
    raise InfeasibleError(
        f"Linked records show the {what} of every person, and some are those of {why}: "
        f"{counted(withheld, 'record')} of {problem.n_records:,} must be withheld, and "
        f"{problem.max_withheld:,} may be. Set suppression: {share:g} or more, or do not link the records."
    )


def wide_problem(problem: Problem, part: Part, max_withheld: int = 0) -> Problem:
    """The problem of the people of a part: one record each, with an attribute for each slot.

    A quasi-identifier that is the same in all records of every person of the part is one attribute. Weights
    are such that a person costs as much as its records do on average.
    """
    attributes = [wide for a in problem.attributes for wide in _wide_attributes(a, part.records)]
    if len(attributes) > _MOST:
        raise UnsupportedError(
            f"Histories of {part.n_slots:,} records with {len(problem.attributes)} quasi-identifiers are too "
            f"wide: they make {len(attributes):,} attributes, and at most {_MOST:,} are possible. Publish "
            "fewer records of each person, or do not link them."
        )
    people = len(part.records)
    sensitive, models = _wide_models(problem, part.records)
    return Problem(
        attributes=tuple(attributes),
        models=models,
        cost=problem.cost,
        sensitive=sensitive,
        suppression=min((max_withheld + 0.5) / people, 1.0) if max_withheld else 0.0,
        seed=problem.seed,
        masses=_person_masses(problem.masses, part.records),
    )


def _person_masses(masses: Weights, records: np.ndarray) -> Weights:
    """How much each person counts in the cost of their part: as much as their records on average."""
    return masses if masses.even else Weights(masses.each[records].mean(axis=1)).scaled()


_MOST = 1_000


def _wide_attributes(attribute: Attribute, records: np.ndarray) -> list[Attribute]:
    codes = attribute.column.codes[records]
    n_slots = records.shape[1]
    if (codes == codes[:, :1]).all():
        return [_of_slot(attribute, codes[:, 0], attribute.name, attribute.weight * n_slots)]
    return [
        _of_slot(attribute, codes[:, slot], f"{attribute.name} of record {slot + 1}", attribute.weight)
        for slot in range(n_slots)
    ]


def _of_slot(attribute: Attribute, codes: np.ndarray, name: str, weight: float) -> Attribute:
    column = replace(attribute.column, name=name, codes=np.ascontiguousarray(codes))
    return replace(attribute, column=column, weight=weight)


Wide = tuple[dict[str, SensitiveAttribute], tuple[Model, ...]]


def _wide_models(problem: Problem, records: np.ndarray) -> Wide:
    """The sensitive columns and the models of people, given the records of each (people by slots).

    A column that is the same in all records of every person stays as it is. Otherwise a model must hold for
    the values of all records of the people together and, where there are slots, in every slot by itself.
    People without events have no value of a column of the events, so nothing is asked of them there.
    """
    sensitive: dict[str, SensitiveAttribute] = {}
    models: list[Model] = []
    for model in problem.models:
        if not model.attribute:
            models.append(model)
            continue
        if not problem.units.histories.having(model.attribute, records[:, 0]).all():
            continue
        of = problem.sensitive[model.attribute]
        codes = of.column.codes[records]
        if (codes == codes[:, :1]).all():
            sensitive[model.attribute] = _column(of, codes[:, 0], model.attribute)
            models.append(model)
            continue
        models.append(_over_all_records(model, of, codes, sensitive))
        if problem.units.histories.slots is not None:
            models += _in_each_slot(model, of, codes, sensitive)
    return sensitive, tuple(models)


def _column(of: SensitiveAttribute, codes: np.ndarray, name: str) -> SensitiveAttribute:
    column = replace(of.column, name=name, codes=np.ascontiguousarray(codes))
    return replace(of, column=column, units=Units())


def _over_all_records(
    model: Model, of: SensitiveAttribute, codes: np.ndarray, sensitive: dict[str, SensitiveAttribute]
) -> Model:
    """The model over the sets of values that people have, which become a sensitive column."""
    spread = model.of_people == "spread"
    if not spread:  # a person who has one of several values that are not distinguished, or all, counts once
        codes = representatives(model.distinguishes(of.context))[codes]
    sets, _, number = distinct_rows(np.sort(codes, axis=1))
    name = f"{of.column.name} of all records"
    texts = tuple(map(str, range(len(sets))))
    sensitive[name] = SensitiveAttribute(Column(name, "string", number.astype(np.int32), texts, None))
    return OverRecords(model, ValueSets.of(sets, of.n_values), of.context, name, spread=spread)


def _in_each_slot(
    model: Model, of: SensitiveAttribute, codes: np.ndarray, sensitive: dict[str, SensitiveAttribute]
) -> list[Model]:
    """The model in every slot, where the values that people have there become a sensitive column."""
    found = []
    for slot in range(codes.shape[1]):
        name = f"{of.column.name} of record {slot + 1}"
        sensitive[name] = _column(of, codes[:, slot], name)
        found.append(type(model)(**(model.to_dict() | {"attribute": name})))
    return found
