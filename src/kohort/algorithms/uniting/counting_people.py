"""CountingPeople: wraps an algorithm that makes groups, so that every model holds for people.

In a layer, the first record of every person, the second one, and so on, records are people: an algorithm that
counts records can solve it as a table of its own, and k records of it are of k people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kohort.algorithms.algorithm import Algorithm
from kohort.algorithms.run import Run
from kohort.data.counting import distinct_rows
from kohort.errors import InfeasibleError, UnsupportedError, counted
from kohort.late import late_function
from kohort.problem.problem import Problem
from kohort.problem.promises import KAnonymity, Model
from kohort.recoding.groups import Groups
from kohort.recoding.recoding import Recoding

diversify = late_function("kohort.algorithms.uniting.diversify", "diversify")


def needs_uniting(algorithm: Algorithm, problem: Problem) -> bool:
    """Whether an algorithm that makes groups needs `CountingPeople` around it.

    Not where the problem has one record per person, and not where the algorithm counts people itself and
    every model survives unions. Raises UnsupportedError for an algorithm that cannot count people at all.
    """
    if problem.persons is None:
        return False
    if algorithm.people == "refuses":
        raise UnsupportedError(
            f"{algorithm.name} counts records, and in this table people have several. Choose mondrian, "
            "full-domain or improve, which count people."
        )
    if algorithm.people == "counts":
        return issubclass(algorithm.recoding, Groups) and not problem.all_survive_unions
    return True


@dataclass(frozen=True)
class CountingPeople:
    """An algorithm around an algorithm that makes groups, for tables in which people have several records.

    One that counts records solves layer after layer, in each of which a person has one record. Then groups
    are united until every model holds for people; records in no layer begin as groups of their own.

    inner   the algorithm whose groups are united
    weight  how much the cost counts against the models when groups are chosen for a union, 0 to 1
    """

    inner: Algorithm
    weight: float

    def refuse(self, problem: Problem) -> None:
        """Raise UnsupportedError for a problem that the inner algorithm cannot solve."""
        if self.inner.people == "counts":
            self.inner.refuse(kept_by_whole_table(problem))
            return
        layers = Layers.of(problem).of_layer
        met = self._met(problem, layers)
        for records in layers:
            self.inner.refuse(_layer_problem(problem, records, met))

    def solve(self, problem: Problem, run: Run) -> Recoding:
        """The inner algorithm's groups, united until every model holds for people."""
        if self.inner.people == "counts":
            groups = self.inner.solve(kept_by_whole_table(problem), run)
            assert isinstance(groups, Groups)
        else:
            groups = self._by_layers(problem, run)
        united = diversify(problem, groups, run, w=self.weight)
        if united is groups:
            return groups
        note = (
            f"{counted(groups.n_groups, 'group')} were united into {united.n_groups:,}, until every promise "
            "held for people (diversify)."
        )
        return replace(united, notes=(*united.notes, note))

    def _by_layers(self, problem: Problem, run: Run) -> Groups:
        """Groups of each layer, and a group of its own for each record that is in none."""
        layers = Layers.of(problem)
        group_of_record = np.full(problem.n_records, -1, dtype=np.int32)
        n_groups = 0
        left, met = sum(map(len, layers.of_layer)), self._met(problem, layers.of_layer)
        for number, records in enumerate(layers.of_layer):
            share = len(records) / left
            part = self._timed(run, share).part(f"layer {number + 1}", 1 - left / problem.n_records, 1.0)
            groups = self.inner.solve(_layer_problem(problem, records, met), part)
            assert isinstance(groups, Groups)
            found = groups.group_of_record
            group_of_record[records] = np.where(found < 0, -1, found + n_groups)
            n_groups += groups.n_groups
            left -= len(records)
        group_of_record[layers.left_over] = n_groups + np.arange(len(layers.left_over))
        note = (
            f"Solved in {counted(len(layers.of_layer), 'layer')}, in which nobody has two records "
            f"({counted(len(layers.left_over), 'record')} beside them)."
        )
        _withhold_fewer(group_of_record, layers.same_as, problem.max_withheld)
        return Groups(group_of_record[layers.same_as], notes=(note,))

    def _timed(self, run: Run, share: float) -> Run:
        """A part of the run for a share of what is left to do; without a limit, of the algorithm's own."""
        if run.seconds_left is not None:
            return run.share_of_time(share)
        own = self.inner.own_time_limit
        return run.at_most(None if own is None else own * share)

    def _met(self, problem: Problem, layers: Sequence[np.ndarray]) -> tuple[str, ...]:
        """The models that the inner algorithm is asked to meet in every layer, as they are asked."""
        met = tuple(self.inner.models)
        try:
            for records in layers:
                self.inner.refuse(_layer_problem(problem, records, met))
        except UnsupportedError:
            return (KAnonymity.name,)
        return met


def _withhold_fewer(group_of_record: np.ndarray, same_as: np.ndarray, most: int) -> None:
    """Make groups of withheld records that, with those that go together with them, are more than `most`.

    A layer counts one record where a person has several that look alike.
    """
    withheld = same_as[group_of_record[same_as] < 0]
    records, together = np.unique(withheld, return_counts=True)
    order = np.argsort(together, kind="stable")
    too_many = records[order][np.cumsum(together[order]) > most]
    group_of_record[too_many] = group_of_record.max(initial=-1) + 1 + np.arange(len(too_many))


def kept_by_whole_table(problem: Problem) -> Problem:
    """The problem without models that all records as one class break; for these, groups are united later."""
    kept = tuple(
        model
        for model in problem.models
        if model.holds(problem.counts_of_whole(model), problem.context(model)).all()
    )
    return problem.varied(models=kept or (KAnonymity(1),))


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


def _layer_problem(problem: Problem, records: np.ndarray, met: tuple[str, ...]) -> Problem:
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
