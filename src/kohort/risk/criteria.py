"""Singling out, linkability and inference: attacks that are carried out, each with a control group.

The three criteria of the Article 29 Working Party (opinion 05/2014 on anonymisation techniques); inference is
in `kohort.risk.inference`.

Singling out: predicates made from a published table, counted as a success if they fit one original record.

A predicate says for some columns which label a record has. The adversary takes the rarest combinations of
labels in the release. The control group are predicates over the same columns that somebody makes who knows
how often each label occurs, but not which occur together: as Cohen and Nissim (2020) point out, even such a
predicate fits exactly one record now and then.

Linkability: do two sources that know different columns of a person find out that it is the same one?

One source knows some quasi-identifiers of a person, the other one the rest of them, of several people. The
adversary asks the release which of these fits best: of the published records that fit the second part, how
large a share fits the first one, too? The control group is asked of the release without the person's own
record: what it finds, it finds because such columns go together, not because the person is in the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.data.column import Column
from kohort.errors import percent
from kohort.job.sides import BeforeAfter
from kohort.parameters import Seed, Within, check_option
from kohort.risk.inference import Fitting, compared, infer, rate
from kohort.risk.kernels import refined
from kohort.risk.seen_columns import (
    LabelIndex,
    Lookups,
    SeenColumn,
    as_it_was,
    drawn_targets,
    of_original,
    of_release,
    other_columns,
    quasi_identifiers,
    unchanged,
)

if TYPE_CHECKING:
    from kohort.release.release import Release


MOST_SETS = 20
Predicate = tuple[tuple[int, ...], np.ndarray]
"""Columns, and the label that a record must have in each of them."""


def single_out(
    columns: Sequence[SeenColumn], attempts: int, rng: np.random.Generator, persons: np.ndarray | None = None
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


CANDIDATES = 10
_SPLITS = 4


def link(table: Lookups, targets: np.ndarray, rng: np.random.Generator) -> dict[str, Any] | None:
    """Carry the attack out on these original records; None with fewer than two columns or too few people."""
    n_columns = len(table.labels)
    if n_columns < 2 or len(targets) < _SPLITS * CANDIDATES:
        return None
    hits, control = 0, 0
    for some in np.array_split(rng.permutation(targets), _SPLITS):
        order = rng.permutation(n_columns)
        found = _linked(table, order[: n_columns // 2], order[n_columns // 2 :], some, rng)
        hits, control = hits + found[0], control + found[1]
    found_all = compared(rate(hits, len(targets)), rate(control, len(targets)))
    return found_all | {"candidates": CANDIDATES, "chance": 1 / CANDIDATES}


def _linked(
    table: Lookups, first: np.ndarray, second: np.ndarray, targets: np.ndarray, rng: np.random.Generator
) -> tuple[int, int]:
    """How many targets are linked right by the release, and by the release without their own records."""
    one, other = (_fitting_part(table, part, targets) for part in (first, second))
    classes = table.classes
    sizes = classes.sizes.astype(np.float64)
    in_second = np.array([sizes[fits].sum() for fits in other])
    whose = targets if table.persons is None else table.persons[targets]
    hits, control = 0, 0
    for t in range(len(targets)):
        others = np.flatnonzero(whose != whose[t])
        decoys = rng.choice(others, min(CANDIDATES - 1, len(others)), replace=False)
        people = np.append(decoys, t)
        fitting = np.flatnonzero(one[t])
        both = other[np.ix_(people, fitting)] @ sizes[fitting]
        every = in_second[people]
        own = table.own_classes(int(targets[t]))
        own_fits = other[np.ix_(people, own)]
        own_both = (own_fits & one[t, own]).sum(axis=1)
        hits += _picks_last(both, every, rng)
        control += _picks_last(both - own_both, every - own_fits.sum(axis=1), rng)
    return hits, control


def _fitting_part(table: Lookups, columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """For each target and class whether the class fits what is known of the target in these columns."""
    return np.concatenate([fits for _, fits in table.fitting(columns.tolist(), targets)])


def _picks_last(both: np.ndarray, every: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether picking the person with the largest share, at random among equals, picks the last one."""
    share = np.where(every > 0, both / np.maximum(every, 1), 0.0)
    best = np.flatnonzero(share >= share.max() - 1e-12)
    return bool(best[rng.integers(len(best))] == len(share) - 1)


def linkability_sentence(before: dict[str, Any], after: dict[str, Any]) -> str:
    """A sentence about the attack on the original and on the release."""
    attack, control = after["attack"], after["control"]
    low, high = map(percent, attack["interval"])
    verdict = "more than" if after["beyond_chance"] else "no more than"
    return (
        f"Linkability: two sources with different columns of a person matched {percent(attack['rate'])} of "
        f"{attack['trials']:,} people with the help of the release, among {after['candidates']} each (95 % "
        f"interval {low} to {high}), {verdict} without the person's own record, {percent(control['rate'])}. "
        f"With the original it would be {percent(before['attack']['rate'])}."
    )


def three_criteria(
    release: Release, *, targets: int = 500, seed: int = 0, progress: Progress | None = None
) -> dict[str, Any] | None:
    """Singling out, linkability and inference, carried out on a release and on its original.

    Each attack has a control group that could not have learnt anything from the record in question, and
    rates have 95 % intervals. `targets` people, or predicates, are tried, drawn at random; the tables in
    which they are looked up are whole. None without quasi-identifiers, or where records are linked.
    """
    check_option("targets", targets, Annotated[int, Within(1)])
    check_option("seed", seed, Seed)
    sides, run = release.sides, Run(progress=progress)
    if not sides.attributes or sides.histories is not None:
        return None
    people = drawn_targets(sides, targets, np.random.default_rng(seed))
    run.report("singling out", 0.0)
    singled = _singling_out(release, sides, targets, seed)
    run.report("linking", 0.3)
    before, after = of_original(sides), of_release(sides)
    linked = _linkability(before, after, people, seed)
    run.report("inferring", 0.6)
    columns = [column for column in sides.sensitive if len(column.texts) > 1]
    shown = [sides.rows[records] for records in after.records_that_fit(people)] if columns else []
    fitting = Fitting(before.records_that_fit(people) if columns else [], shown)
    guessed = [infer(fitting, before.known, column, people, seed, sides.persons) for column in columns]
    return {
        "targets": len(people),
        "of": len(sides.rows) - int(sides.withheld.sum()),
        "seed": seed,
        "singling_out": singled,
        "linkability": linked,
        "inference": guessed,
    }


def _singling_out(release: Release, sides: BeforeAfter, attempts: int, seed: int) -> list[dict[str, Any]]:
    """The attack by quasi-identifiers and, where others are published as they are, by all columns."""
    quasi, others = [attribute.column for attribute in sides.attributes], other_columns(release)
    shown = quasi_identifiers(sides)
    ways: list[tuple[str, Sequence[Column]]] = [("the quasi-identifiers", [])]
    ways += [("all published columns", others)] if others else []
    found = []
    for by, more in ways:
        of = {
            "before": as_it_was([*quasi, *more]),
            "after": [*shown, *(unchanged(column, sides.rows) for column in more)],
        }
        facts = {
            side: single_out(columns, attempts, np.random.default_rng(seed), sides.persons)
            for side, columns in of.items()
        }
        found.append({"by": by, **facts, "sentence": singling_out_sentence(**facts, by=by)})
    return found


def _linkability(before: Lookups, after: Lookups, people: np.ndarray, seed: int) -> dict[str, Any] | None:
    facts = {
        side: link(table, people, np.random.default_rng(seed))
        for side, table in (("before", before), ("after", after))
    }
    if facts["before"] is None or facts["after"] is None:
        return None
    return facts | {"sentence": linkability_sentence(facts["before"], facts["after"])}
