"""The sensitive columns of people with several records each, and the models over them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kohort.data.column import Column
from kohort.data.dataset import distinct_rows
from kohort.problem.models import Model
from kohort.problem.models.over_records import OverRecords, ValueSets
from kohort.problem.models.person_cells import representatives
from kohort.problem.problem import Problem
from kohort.problem.sensitive import SensitiveAttribute

__all__ = ["wide_models"]

Wide = tuple[dict[str, SensitiveAttribute], tuple[Model, ...]]


def wide_models(problem: Problem, records: np.ndarray) -> Wide:
    """The sensitive columns and the models of people, given the records of each (people by slots).

    A column that is the same in all records of every person stays as it is. Otherwise a model must hold for
    the values of all records of the people together and, where there are slots, in every slot by itself.
    People without events have no value of a column of the events, so nothing is asked of them there.
    """
    assert problem.histories is not None
    sensitive: dict[str, SensitiveAttribute] = {}
    models: list[Model] = []
    for model in problem.models:
        if model.attribute is None:
            models.append(model)
            continue
        if not problem.histories.having(model.attribute, records[:, 0]).all():
            continue
        of = problem.sensitive[model.attribute]
        codes = of.column.codes[records]
        if (codes == codes[:, :1]).all():
            sensitive[model.attribute] = _column(of, codes[:, 0], model.attribute)
            models.append(model)
            continue
        models.append(_over_all_records(model, of, codes, sensitive))
        if problem.histories.slots is not None:
            models += _in_each_slot(model, of, codes, sensitive)
    return sensitive, tuple(models)


def _column(of: SensitiveAttribute, codes: np.ndarray, name: str) -> SensitiveAttribute:
    column = replace(of.column, name=name, codes=np.ascontiguousarray(codes))
    return replace(of, column=column, persons=None)


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
