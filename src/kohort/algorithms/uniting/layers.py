"""Layers: the first record of every person, the second one, and so on. In a layer, records are people.

An algorithm that counts records can solve a layer as a table of its own: k records of it are of k people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kohort.data.dataset import distinct_rows
from kohort.errors import InfeasibleError
from kohort.problem.models import KAnonymity, Model
from kohort.problem.problem import Problem

__all__ = ["Layers", "layer_problem"]

LEAST_TIMES_K = 20
"""A layer of fewer than this many times k people is too sparse to be solved by itself."""


@dataclass(frozen=True, eq=False)
class Layers:
    """The records of a table in layers, in each of which a person has one record.

    of_layer   per layer its records
    left_over  records in none: those of the few people who have most of them
    same_as    per record one that it goes together with: the same person's, with the same values, or itself
    """

    of_layer: list[np.ndarray]
    left_over: np.ndarray
    same_as: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Layers:
        """The layers of a problem. Records of a person that look alike go together.

        Not where a model looks at shares of people: a person then counts for every value that they have in a
        group, and records with different sensitive values are better apart.
        """
        assert problem.persons is not None
        n, persons = problem.n_records, problem.persons
        same_as = np.arange(n)
        if problem.all_survive_unions:
            pairs = np.column_stack([problem.rows.of_record, persons])
            _, _, unit = distinct_rows(pairs)
            first = np.full(int(unit.max()) + 1, n)
            np.minimum.at(first, unit, np.arange(n))
            same_as = first[unit]
        kept = np.flatnonzero(same_as == np.arange(n))
        rank = _ranks(persons[kept])
        sizes = np.bincount(rank)
        least = max(problem.k, min(LEAST_TIMES_K * problem.k, int(sizes[0])))
        n_layers = int((sizes >= least).sum())
        of_layer = [kept[rank == number] for number in range(n_layers)]
        return cls(of_layer, kept[rank >= n_layers], same_as)


def _ranks(persons: np.ndarray) -> np.ndarray:
    """Per record how many records of the same person stand before it."""
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.diff(persons[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(order)))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order)) - np.repeat(starts, lengths)
    return rank


def layer_problem(problem: Problem, records: np.ndarray, met: tuple[str, ...]) -> Problem:
    """The problem of some records, one of each person: k, and those models that an algorithm meets itself.

    met  the names of these; a model that no classes of the layer alone can keep is left for later
    """
    models = tuple(model for model in problem.models if model.name in met and _is_of_a_layer(model))
    k = (KAnonymity(problem.k),)
    others = tuple(model for model in models if not isinstance(model, KAnonymity))
    changes = {
        "attributes": tuple(
            replace(a, column=replace(a.column, codes=a.column.codes[records])) for a in problem.attributes
        ),
        "sensitive": {
            name: replace(s, column=replace(s.column, codes=s.column.codes[records]), persons=None)
            for name, s in problem.sensitive.items()
        },
        "persons": None,
    }
    try:
        return problem.varied(models=k + others, **changes)
    except InfeasibleError:
        return problem.varied(models=k, **changes)


def _is_of_a_layer(model: Model) -> bool:
    """Whether a class of a layer keeps the model just as it does in the table."""
    return model.survives_unions and not model.compares_with_whole_table
