"""Singling out: predicates made from a published table, counted as a success if they fit one original record.

A predicate says for some columns which label a record has. The adversary takes the rarest combinations of
labels in the release. The control group are predicates over the same columns that somebody makes who knows
how often each label occurs, but not which occur together: as Cohen and Nissim (2020) point out, even such a
predicate fits exactly one record now and then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.risk.criteria.chance import compared, rate
from kohort.risk.criteria.seen_columns import LabelIndex, SeenColumn
from kohort.risk.knowledge_kernel import refined

MOST_SETS = 20
Predicate = tuple[tuple[int, ...], np.ndarray]
"""Columns, and the label that a record must have in each of them."""


def single_out(
    columns: Sequence[SeenColumn],
    attempts: int,
    rng: np.random.Generator,
    persons: np.ndarray | None = None,
) -> dict[str, Any]:
    """Attack a table with the rarest predicates found in it; how often they succeed, and blind ones."""
    rarest, predicates = rarest_predicates(columns, attempts, rng)
    blind = [_independent(columns, chosen, rng) for chosen, _ in predicates]
    hits = int((matches(columns, predicates, persons) == 1).sum())
    control = int((matches(columns, blind, persons) == 1).sum())
    n = len(predicates)
    found = compared(rate(hits, n), rate(control, n))
    return found | {"columns": [column.name for column in columns], "rarest": rarest}


def rarest_predicates(
    columns: Sequence[SeenColumn], attempts: int, rng: np.random.Generator
) -> tuple[int, list[Predicate]]:
    """Predicates that fit fewest published records, and how many those are; spread over sets of columns.

    Sets are drawn at random, all columns together always among them. Only sets that reach the rarest
    combination are used.
    """
    found = []
    for chosen in _sets(len(columns), rng):
        class_of, sizes = _classes(columns, chosen)
        found.append((int(sizes.min()), chosen, class_of, sizes))
    rarest = min(entry[0] for entry in found)
    best = [entry for entry in found if entry[0] == rarest]
    predicates: list[Predicate] = []
    for number, (_, chosen, class_of, sizes) in enumerate(best):
        share = (attempts - len(predicates)) // (len(best) - number)
        predicates += _some(columns, chosen, class_of, np.flatnonzero(sizes == rarest), share, rng)
    return rarest, predicates


def _sets(n_columns: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Sets of columns: each one, all together, and others drawn at random."""
    found: dict[tuple[int, ...], None] = {(column,): None for column in range(n_columns)}
    found[tuple(range(n_columns))] = None
    for _ in range(4 * MOST_SETS):
        if len(found) >= max(MOST_SETS, n_columns + 1):
            break
        size = int(rng.integers(1, n_columns + 1))
        found[tuple(sorted(rng.choice(n_columns, size, replace=False).tolist()))] = None
    return list(found)


def _classes(columns: Sequence[SeenColumn], chosen: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The class of each published record by some columns, and the sizes of classes."""
    class_of, n_classes = np.zeros(len(columns[0].labels), dtype=np.int64), 1
    for column in chosen:
        labels = columns[column].labels
        class_of, n_classes = refined(class_of, n_classes, labels, np.argsort(labels, kind="stable"))
    return class_of, np.bincount(class_of, minlength=n_classes)


def _some(
    columns: Sequence[SeenColumn],
    chosen: tuple[int, ...],
    class_of: np.ndarray,
    rare: np.ndarray,
    most: int,
    rng: np.random.Generator,
) -> list[Predicate]:
    """Predicates of up to so many of the rare classes."""
    picked = rare if len(rare) <= most else rng.choice(rare, most, replace=False)
    record = np.empty(int(class_of.max()) + 1, dtype=np.int64)
    record[class_of] = np.arange(len(class_of))
    labels = np.column_stack([columns[column].labels[record[picked]] for column in chosen])
    return [(chosen, row) for row in labels]


def _independent(
    columns: Sequence[SeenColumn], chosen: tuple[int, ...], rng: np.random.Generator
) -> Predicate:
    """A predicate whose labels are drawn each by itself, as often as they occur."""
    drawn = [columns[c].labels[rng.integers(len(columns[c].labels))] for c in chosen]
    return chosen, np.array(drawn)


def matches(
    columns: Sequence[SeenColumn], predicates: Sequence[Predicate], persons: np.ndarray | None = None
) -> np.ndarray:
    """How many people each predicate fits: original records, unless `persons` says whose each one is.

    Those that its rarest label covers are looked up, and compared in the other columns.
    """
    indexes = [LabelIndex(column) for column in columns]
    found = [_fitting(indexes, *predicate) for predicate in predicates]
    whom = found if persons is None else [np.unique(persons[records]) for records in found]
    return np.array([len(some) for some in whom], dtype=np.int64)


def _fitting(indexes: Sequence[LabelIndex], chosen: tuple[int, ...], labels: np.ndarray) -> np.ndarray:
    """The original records that fit a predicate."""
    parts = sorted(zip(chosen, labels.tolist()), key=lambda part: indexes[part[0]].covered[part[1]])
    (rarest, label), *others = parts
    records = indexes[rarest].records(label)
    for place, label in others:
        records = records[indexes[place].covers(label, records)]
    return records


def singling_out_sentence(before: dict[str, Any], after: dict[str, Any], by: str) -> str:
    """A sentence about the attack on the original and on the release."""
    attack, control = after["attack"], after["control"]
    low, high = map(percent, attack["interval"])
    verdict = "more than" if after["beyond_chance"] else "no more than"
    return (
        f"Singling out by {by}: of {attack['trials']:,} predicates made from the release, "
        f"{percent(attack['rate'])} fitted exactly one person of the original (95 % interval {low} to "
        f"{high}), {verdict} chance explains: of predicates made blindly, {percent(control['rate'])} did. "
        f"Made from the original, {percent(before['attack']['rate'])} would."
    )
