"""The attack on linked records, which are known together; and the risk of households, by each member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.job.sides import BeforeAfter, classes_of
from kohort.problem.units import Histories
from kohort.risk.seen import Grouped, Lookup
from kohort.verification.people import history_of_record


def household_risk(sides: BeforeAfter) -> dict[str, Any]:
    """The risk of members by their own records alone, and that of their households, before and after."""
    household = sides.units.histories.persons
    codes = [attribute.column.codes for attribute in sides.attributes]
    before = _risks(codes, household)
    after = _risks([column.codes for column in sides.labels], household[sides.rows])
    sentence = (
        "Somebody who knows one member by their quasi-identifiers, and not the household, finds the record "
        f"with a chance of at most {percent(after['individual']['maximum'])}; before it was "
        f"{percent(before['individual']['maximum'])}. Somebody who looks up each member so finds at least "
        f"one of a household with a chance of {percent(after['household']['average'])} on average, "
        f"{percent(after['household']['maximum'])} at most; before it was "
        f"{percent(before['household']['average'])} and {percent(before['household']['maximum'])}."
    )
    return {"before": before, "after": after, "sentence": sentence}


def _risks(columns: list[np.ndarray], household: np.ndarray) -> dict[str, dict[str, float]]:
    """Maximum and average risk of records that look alike in these columns, and of their households."""
    classes = classes_of(columns, len(household))
    risk = 1 / classes.sizes[classes.of_record]
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    risks = {"individual": risk, "household": 1 - np.multiply.reduceat(1 - risk[order], starts)}
    return {whose: {"maximum": float(r.max()), "average": float(r.mean())} for whose, r in risks.items()}


def look_up_histories(
    sides: BeforeAfter, histories: Histories, attributes: Sequence[int], people: np.ndarray
) -> tuple[Lookup, Lookup]:
    """Look people up by some quasi-identifiers of all their records, before and after.

    A published history is a candidate if each of its records covers another one of the records that are known
    of the person and, with slots, one in the same slot; records of the person may have been withheld.
    O(people * published records that differ * attributes).
    """
    codes = [sides.attributes[a].column.codes for a in attributes]
    known = history_of_record(histories.persons, histories.slots, [*codes, *histories.marks])
    before = _Owned.of(histories.persons, known, histories.n_people)
    found = Lookup(before.sizes[before.history_of_person[people]], before.place_of_person[people])
    return found, _after(sides, histories, attributes, people)


@dataclass(frozen=True, eq=False)
class _Owned:
    """Histories as they are seen: how many people have each, and whose they are.

    history_of_person  -1 where no record of the person is published
    place_of_person    the place of a person among those with the same history; -1 likewise
    """

    sizes: np.ndarray
    history_of_person: np.ndarray
    place_of_person: np.ndarray

    @classmethod
    def of(cls, persons: np.ndarray, history: np.ndarray, n_people: int) -> _Owned:
        of_person, place = np.full((2, n_people), -1, dtype=np.int64)
        of_person[persons] = history
        shown = np.flatnonzero(of_person >= 0)
        order = shown[np.argsort(of_person[shown], kind="stable")]
        sizes = np.bincount(of_person[order])
        place[order] = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        return cls(sizes, of_person, place)


def _after(sides: BeforeAfter, histories: Histories, attributes: Sequence[int], people: np.ndarray) -> Lookup:
    persons = histories.persons[sides.rows]
    slots = None if histories.slots is None else histories.slots[sides.rows]
    labels = [sides.labels[a].codes for a in attributes]
    marks = [mark[sides.rows] for mark in histories.marks]
    history = history_of_record(persons, slots, [*labels, *marks])
    seen = _Owned.of(persons, history, histories.n_people)
    owner = np.empty(int(history.max()) + 1, dtype=np.int64)
    owner[history] = persons
    shown = np.flatnonzero(owner[history] == persons)  # the records of one person for each history
    shown = shown[np.argsort(history[shown], kind="stable")]
    table = _Shown(
        [codes[shown] for codes in labels],
        None if slots is None else slots[shown],
        np.flatnonzero(np.diff(history[shown], prepend=-1)),
    )
    records_of = Grouped(histories.persons, histories.n_people)
    covers = [sides.coverings[a].covers(np.arange(len(sides.attributes[a].column.texts))) for a in attributes]
    candidates, place = np.zeros(len(people), dtype=np.int64), np.full(len(people), -1)
    for target, person in enumerate(people.tolist()):
        own = records_of.of([person])
        known = [sides.attributes[a].column.codes[own] for a in attributes]
        fits = table.fitting(known, None if histories.slots is None else histories.slots[own], covers)
        candidates[target] = seen.sizes[fits].sum()
        mine = seen.history_of_person[person]
        if mine >= 0 and fits[mine]:
            place[target] = seen.sizes[:mine][fits[:mine]].sum() + seen.place_of_person[person]
    return Lookup(candidates, place)


@dataclass(frozen=True, eq=False)
class _Shown:
    """The different published histories, one after the other: labels, slots, and the first record of each."""

    labels: list[np.ndarray]
    slots: np.ndarray | None
    starts: np.ndarray

    def fitting(
        self, known: list[np.ndarray], slots: np.ndarray | None, covers: list[np.ndarray]
    ) -> np.ndarray:
        """For each published history whether it fits a person whose records are known."""
        fits = np.ones((len(known[0]), len(self.labels[0])), dtype=bool)
        for values, labels, table in zip(known, self.labels, covers):
            fits &= table[values][:, labels]
        if self.slots is not None:
            assert slots is not None
            fits &= slots[:, None] == self.slots
            return np.logical_and.reduceat(fits.any(axis=0), self.starts)
        fitting = np.logical_and.reduceat(fits.any(axis=0), self.starts)
        ends = np.append(self.starts[1:], fits.shape[1])
        for history in np.flatnonzero(fitting).tolist():
            fitting[history] = _all_matched(fits[:, self.starts[history] : ends[history]])
        return fitting


def _all_matched(fits: np.ndarray) -> bool:
    """Whether every column can have a row of its own that fits."""
    import rustworkx

    n_rows, n_columns = fits.shape
    graph = rustworkx.PyGraph()
    graph.add_nodes_from(range(n_rows + n_columns))
    graph.add_edges_from_no_data([(row, n_rows + column) for row, column in np.argwhere(fits).tolist()])
    return len(rustworkx.max_weight_matching(graph, max_cardinality=True)) == n_columns
