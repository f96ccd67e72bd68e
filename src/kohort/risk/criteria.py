"""Singling out, linkability and inference: attacks that are carried out, each with a control group.

The three criteria of the Article 29 Working Party (opinion 05/2014 on anonymisation techniques).

Singling out: predicates made from a published table, counted as a success if they fit one original record.
A predicate says for some columns which label a record has. The adversary takes the rarest combinations of
labels in the release. The control group are predicates over the same columns that somebody makes who knows
how often each label occurs, but not which occur together: as Cohen and Nissim (2020) point out, even such a
predicate fits exactly one record now and then.

Linkability: do two sources that know different columns of a person find out that it is the same one? One
source knows some quasi-identifiers of a person, the other one the rest of them, of several people. The
adversary asks the release which of these fits best: of the published records that fit the second part, how
large a share fits the first one, too? The control group is asked of the release without the person's own
record: what it finds, it finds because such columns go together, not because the person is in the table.

Inference: the adversary knows the quasi-identifiers of a person, takes all published records that fit, and
guesses the value that is most frequent among them. The control group guesses from the original records of
other people alone: the most likely value by naive Bayes, or the most frequent one, whichever was right more
often for a third group of people. What it gets right is true of people in general.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from kohort.algorithms import Progress, Run
from kohort.data.column import Column
from kohort.errors import percent
from kohort.parameters import Seed, Within, check_option
from kohort.risk.kernels import refined
from kohort.risk.seen import Grouped, Seen, drawn_targets, of_original, of_release, other_columns, wilson

if TYPE_CHECKING:
    from kohort.release.release import Release


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
    if not sides.attributes or sides.units.linked:
        return None
    people = drawn_targets(sides, targets, np.random.default_rng(seed))
    before, after = of_original(sides), of_release(sides)
    run.report("singling out", 0.0)
    singled = [_singled_out(before, after, "the quasi-identifiers", targets, seed)]
    if others := other_columns(release):
        every = before.beside(others), after.beside(others)
        singled.append(_singled_out(*every, "all published columns", targets, seed))
    run.report("linking", 0.3)
    linked = _linked_sources(before, after, people, seed)
    run.report("inferring", 0.6)
    columns = [column for column in sides.sensitive if len(column.texts) > 1]
    fitting = [seen.records_that_fit(people) if columns else [] for seen in (before, after)]
    return {
        "targets": len(people),
        "of": len(sides.rows) - int(sides.withheld.sum()),
        "seed": seed,
        "singling_out": singled,
        "linkability": linked,
        "inference": [infer(before, fitting, column, people, seed) for column in columns],
    }


def rate(hits: int, trials: int) -> dict[str, Any]:
    """A rate with its 95 % interval (Wilson's score interval)."""
    share = hits / trials if trials else 0.0
    return {"hits": hits, "trials": trials, "rate": share, "interval": list(wilson(hits, trials))}


def difference(one: dict[str, Any], other: dict[str, Any]) -> list[float]:
    """The 95 % interval of the difference of two rates (Newcombe, 1998, method 10).

    >>> [round(end, 4) for end in difference(rate(56, 70), rate(48, 80))]
    [0.0524, 0.3339]
    """
    first, second = one["rate"], other["rate"]
    (low1, high1), (low2, high2) = one["interval"], other["interval"]
    return [
        first - second - sqrt((first - low1) ** 2 + (high2 - second) ** 2),
        first - second + sqrt((high1 - first) ** 2 + (second - low2) ** 2),
    ]


def compared(attack: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    """An attack beside its control group.

    excess         how much more often the attack succeeds, with an interval; not below 0 where it does not
    risk           the part of the cases in which the control group fails that the attack wins
    beyond_chance  whether the interval of the excess lies above 0
    """
    interval = difference(attack, control)
    room = 1 - control["rate"]
    excess = attack["rate"] - control["rate"]
    return {
        "attack": attack,
        "control": control,
        "excess": excess,
        "excess_interval": interval,
        "risk": min(max(excess / room, 0.0), 1.0) if room > 0 else 0.0,
        "beyond_chance": bool(attack["trials"]) and interval[0] > 0,
    }


def _in_words(after: dict[str, Any]) -> dict[str, str]:
    """The figures of an attack on the release, for its sentence."""
    low, high = map(percent, after["attack"]["interval"])
    return {
        "tried": f"{after['attack']['trials']:,}",
        "rate": percent(after["attack"]["rate"]),
        "interval": f"95 % interval {low} to {high}",
        "verdict": "more than" if after["beyond_chance"] else "no more than",
        "control": percent(after["control"]["rate"]),
    }


# -- singling out ------------------------------------------------------------------------------------


MOST_SETS = 20
Predicate = tuple[tuple[int, ...], np.ndarray]
"""Columns, and the label that a record must have in each of them."""


def _singled_out(before: Seen, after: Seen, by: str, attempts: int, seed: int) -> dict[str, Any]:
    """How often the rarest predicates of the original and of the release fit one person, and blind ones."""
    found = [single_out(seen, attempts, np.random.default_rng(seed)) for seen in (before, after)]
    words = _in_words(found[1])
    sentence = (
        f"Singling out by {by}: of {words['tried']} predicates made from the release, {words['rate']} fitted "
        f"exactly one person of the original ({words['interval']}), {words['verdict']} chance explains: of "
        f"predicates made blindly, {words['control']} did. Made from the original, "
        f"{percent(found[0]['attack']['rate'])} would."
    )
    return {"by": by, "before": found[0], "after": found[1], "sentence": sentence}


def single_out(table: Seen, attempts: int, rng: np.random.Generator) -> dict[str, Any]:
    """Attack a table with the rarest predicates found in it; how often they succeed, and blind ones."""
    rarest, predicates = rarest_predicates(table, attempts, rng)
    blind = [_independent(table, chosen, rng) for chosen, _ in predicates]
    hits, control = (rate(int((matches(table, p) == 1).sum()), len(p)) for p in (predicates, blind))
    return compared(hits, control) | {"columns": list(table.names), "rarest": rarest}


def rarest_predicates(table: Seen, attempts: int, rng: np.random.Generator) -> tuple[int, list[Predicate]]:
    """Predicates that fit fewest published records, and how many those are; spread over sets of columns.

    Sets are drawn at random, all columns together always among them. Only sets that reach the rarest
    combination are used.
    """
    found = []
    for chosen in _sets(len(table.labels), rng):
        class_of, n_classes = np.zeros(len(table.rows), dtype=np.int64), 1
        for column in chosen:
            codes = table.labels[column].astype(np.int64)
            class_of, n_classes = refined(class_of, n_classes, codes, np.argsort(codes, kind="stable"))
        sizes = np.bincount(class_of, minlength=n_classes)
        found.append((int(sizes.min()), chosen, class_of, sizes))
    rarest = min(entry[0] for entry in found)
    best = [entry for entry in found if entry[0] == rarest]
    predicates: list[Predicate] = []
    for number, (_, chosen, class_of, sizes) in enumerate(best):
        most, rare = (attempts - len(predicates)) // (len(best) - number), np.flatnonzero(sizes == rarest)
        picked = rare if len(rare) <= most else rng.choice(rare, most, replace=False)
        record = np.empty(len(sizes), dtype=np.int64)
        record[class_of] = np.arange(len(class_of))
        labels = np.column_stack([table.labels[column][record[picked]] for column in chosen])
        predicates += [(chosen, row) for row in labels]
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


def _independent(table: Seen, chosen: tuple[int, ...], rng: np.random.Generator) -> Predicate:
    """A predicate whose labels are drawn each by itself, as often as they occur."""
    return chosen, np.array([table.labels[c][rng.integers(len(table.labels[c]))] for c in chosen])


def matches(table: Seen, predicates: Sequence[Predicate]) -> np.ndarray:
    """How many people of the original each predicate fits.

    Those that its rarest label covers are looked up, and compared in the other columns.
    """
    counts = [
        np.bincount(known, minlength=len(c.rank_of_code)) for known, c in zip(table.known, table.coverings)
    ]
    records = [Grouped(known, len(n)) for known, n in zip(table.known, counts)]
    found = []
    for chosen, labels in predicates:
        values = [table.coverings[c].codes_of(label) for c, label in zip(chosen, labels.tolist())]
        order = np.argsort([counts[c][some].sum() for c, some in zip(chosen, values)], kind="stable")
        fitting = records[chosen[order[0]]].of(values[order[0]])
        for place in order[1:]:
            covered = np.zeros(len(counts[chosen[place]]), dtype=bool)
            covered[values[place]] = True
            fitting = fitting[covered[table.known[chosen[place]][fitting]]]
        found.append(len(np.unique(table.persons[fitting])))
    return np.array(found, dtype=np.int64)


# -- linkability -------------------------------------------------------------------------------------


CANDIDATES = 10
_SPLITS = 4


def _linked_sources(before: Seen, after: Seen, people: np.ndarray, seed: int) -> dict[str, Any] | None:
    """The attack on the original and on the release; None with fewer than two columns or too few people."""
    if len(after.labels) < 2 or len(people) < _SPLITS * CANDIDATES:
        return None
    found = [link(seen, people, np.random.default_rng(seed)) for seen in (before, after)]
    words = _in_words(found[1])
    sentence = (
        f"Linkability: two sources with different columns of a person matched {words['rate']} of "
        f"{words['tried']} people with the help of the release, among {CANDIDATES} each "
        f"({words['interval']}), {words['verdict']} without the person's own record, {words['control']}. "
        f"With the original it would be {percent(found[0]['attack']['rate'])}."
    )
    return {"before": found[0], "after": found[1], "sentence": sentence}


def link(table: Seen, targets: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Carry the attack out on these original records."""
    n_columns = len(table.labels)
    hits, control = 0, 0
    for some in np.array_split(rng.permutation(targets), _SPLITS):
        order = rng.permutation(n_columns)
        found = _linked(table, order[: n_columns // 2], order[n_columns // 2 :], some, rng)
        hits, control = hits + found[0], control + found[1]
    every = compared(rate(hits, len(targets)), rate(control, len(targets)))
    return every | {"candidates": CANDIDATES, "chance": 1 / CANDIDATES}


def _linked(
    table: Seen, first: np.ndarray, second: np.ndarray, targets: np.ndarray, rng: np.random.Generator
) -> tuple[int, int]:
    """How many targets are linked right by the release, and by the release without their own records.

    What two sources know of the targets fits classes: `one[t, c]` and `other[t, c]`.
    """
    one, other = (
        np.concatenate([fits for _, fits in table.fitting(part.tolist(), targets)])
        for part in (first, second)
    )
    classes = table.classes
    sizes = classes.sizes.astype(np.float64)
    in_second = np.array([sizes[fits].sum() for fits in other])
    whose = table.persons[targets]
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


def _picks_last(both: np.ndarray, every: np.ndarray, rng: np.random.Generator) -> bool:
    """Whether picking the person with the largest share, at random among equals, picks the last one."""
    share = np.where(every > 0, both / np.maximum(every, 1), 0.0)
    best = np.flatnonzero(share >= share.max() - 1e-12)
    return bool(best[rng.integers(len(best))] == len(share) - 1)


# -- inference ---------------------------------------------------------------------------------------


_MOST_VALUES = 100
_LESSONS = 50_000


@dataclass(frozen=True, eq=False)
class Guesses:
    """Per target the value that is guessed, -1: no record fits; and whether all that fit have that value."""

    value: np.ndarray
    certain: np.ndarray


def infer(
    original: Seen, fitting: Sequence[Sequence[np.ndarray]], column: Column, targets: np.ndarray, seed: int
) -> dict[str, Any]:
    """Guess the values of a sensitive column, before and after, and from other people alone.

    fitting  before and after, per target the originals of the records that fit what is known of them
    targets  original records
    """
    truth, n_values = column.codes[targets], len(column.texts)
    rng = np.random.default_rng(seed)
    before, after = (guess_from_records(records, column.codes, n_values, rng) for records in fitting)
    blind = guess_from_others(original.known, column, targets, rng, original.persons)
    control = rate(int((blind == truth).sum()), len(targets))
    facts: dict[str, Any] = {"attribute": column.name}
    for side, guesses in (("before", before), ("after", after)):
        right = guesses.value == truth
        facts[side] = compared(rate(int(right.sum()), len(targets)), control)
        facts[side]["certain_and_right"] = int((guesses.certain & right).sum())
    facts["by_value"] = _by_value(
        column, truth, {"before": before.value, "after": after.value, "control": blind}
    )
    words = _in_words(facts["after"])
    facts["sentence"] = (
        f"Inference of {column.name!r}: guessed right for {words['rate']} of {words['tried']} people with "
        f"the release ({words['interval']}), {words['verdict']} by somebody who saw other people only, "
        f"{words['control']}. With the original it would be {percent(facts['before']['attack']['rate'])}."
    )
    return facts


def guess_from_records(
    fitting: Sequence[np.ndarray], values: np.ndarray, n_values: int, rng: np.random.Generator
) -> Guesses:
    """For each target the most frequent value among the records that fit; at random among equals."""
    guess, certain = np.full(len(fitting), -1, dtype=np.int64), np.zeros(len(fitting), dtype=bool)
    for target, records in enumerate(fitting):
        if len(records):
            counts = np.bincount(values[records], minlength=n_values)
            best = np.flatnonzero(counts == counts.max())
            guess[target] = best[rng.integers(len(best))]
            certain[target] = counts.max() == len(records)
    return Guesses(guess, certain)


def guess_from_others(
    known: Sequence[np.ndarray],
    column: Column,
    targets: np.ndarray,
    rng: np.random.Generator,
    persons: np.ndarray,
) -> np.ndarray:
    """For each target a guess by people who are no targets: by naive Bayes, or the most frequent value."""
    others = np.flatnonzero(~np.isin(persons, persons[targets]))
    if not len(others):  # all are targets: nothing was seen of anybody else
        return np.full(len(targets), int(np.argmax(np.bincount(column.codes))))
    others = rng.permutation(others)[: 2 * _LESSONS]
    lessons, third = others[: -(len(others) // 2) or None], others[len(others) - len(others) // 2 :]
    logs = _lessons(known, column, lessons)
    usual = int(np.argmax(np.bincount(column.codes[lessons])))
    if len(third):
        learnt = (_most_likely(logs, known, third) == column.codes[third]).sum()
        if learnt <= (column.codes[third] == usual).sum():
            return np.full(len(targets), usual)
    return _most_likely(logs, known, targets)


def _lessons(known: Sequence[np.ndarray], column: Column, lessons: np.ndarray) -> list[np.ndarray]:
    """Logarithms of how likely each sensitive value is, and each known value given it, each count plus 1."""
    n_values, seen = len(column.texts), column.codes[lessons]
    total = np.bincount(seen, minlength=n_values) + 1.0
    logs = [np.log(total / total.sum())]
    for codes in known:
        n_codes = int(codes.max()) + 1
        pairs = np.bincount(codes[lessons] * n_values + seen, minlength=n_codes * n_values) + 1.0
        table = pairs.reshape(n_codes, n_values)
        logs.append(np.log(table / table.sum(axis=0)))
    return logs


def _most_likely(logs: list[np.ndarray], known: Sequence[np.ndarray], people: np.ndarray) -> np.ndarray:
    guess = np.empty(len(people), dtype=np.int64)
    for start in range(0, len(people), 4096):
        some = people[start : start + 4096]
        score = logs[0] + sum(table[codes[some]] for table, codes in zip(logs[1:], known))
        guess[start : start + 4096] = np.argmax(score, axis=1)
    return guess


def _by_value(column: Column, truth: np.ndarray, guesses: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """For the values of the targets, the rarest first: how often each is guessed right."""
    codes, n = np.unique(truth, return_counts=True)
    found = []
    for code in codes[np.argsort(n, kind="stable")][:_MOST_VALUES]:
        those = truth == code
        people = int(those.sum())
        right = {name: rate(int((guess[those] == code).sum()), people) for name, guess in guesses.items()}
        found.append({"value": column.texts[code], "people": people} | right)
    return found
