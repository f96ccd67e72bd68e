"""Inference: guess a sensitive value from the published records that fit, or from other people alone.

The adversary knows the quasi-identifiers of a person, takes all published records that fit, and guesses the
value that is most frequent among them. The control group guesses from the original records of other people
alone: the most likely value by naive Bayes, or the most frequent one, whichever was right more often for a
third group of people. What it gets right is true of people in general.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.pipeline.before_after import classes_of
from kohort.risk.criteria.chance import compared, rate
from kohort.risk.criteria.linkability import Lookups
from kohort.risk.linkage import ClassIndex

__all__ = ["Guesses", "guess_from_others", "guess_from_release", "infer"]

_MOST_VALUES = 20
_LESSONS = 50_000


@dataclass(frozen=True, eq=False)
class Guesses:
    """Per target the value that is guessed, -1: no record fits; and whether all that fit have that value."""

    value: np.ndarray
    certain: np.ndarray


def infer(
    original: Lookups, release: Lookups, column: Column, rows: np.ndarray, targets: np.ndarray, seed: int
) -> dict[str, Any]:
    """Guess the values of a sensitive column, before and after, and from other people alone.

    rows     per published record its original
    targets  original records
    """
    truth, n_values = column.codes[targets], len(column.texts)
    rng = np.random.default_rng(seed)
    everybody = np.arange(len(column.codes))
    before = guess_from_release(original, column.codes[everybody], n_values, targets, rng)
    after = guess_from_release(release, column.codes[rows], n_values, targets, rng)
    blind = guess_from_others(original.known, column, targets, rng)
    control = rate(int((blind == truth).sum()), len(targets))

    def of(guesses: Guesses) -> dict[str, Any]:
        right = guesses.value == truth
        found = compared(rate(int(right.sum()), len(targets)), control)
        return found | {"certain_and_right": int((guesses.certain & right).sum())}

    facts: dict[str, Any] = {"attribute": column.name, "before": of(before), "after": of(after)}
    facts["by_value"] = _by_value(column, truth, before, after, blind)
    return facts | {"sentence": _sentence(facts)}


def guess_from_release(
    table: Lookups, values: np.ndarray, n_values: int, targets: np.ndarray, rng: np.random.Generator
) -> Guesses:
    """For each target the most frequent value among the published records that fit; at random among equals.

    values  per published record the sensitive value, which is published as it is
    """
    classes = classes_of(list(table.labels), len(table.labels[0]))
    order = np.argsort(classes.of_record, kind="stable")
    ends = np.cumsum(classes.sizes)
    starts = ends - classes.sizes
    sorted_values = values[order]
    guess, certain = np.full(len(targets), -1, dtype=np.int64), np.zeros(len(targets), dtype=bool)
    known = [column[targets] for column in table.known]
    for block, fits in ClassIndex(classes, table.coverings).fitting(known):
        for t, row in enumerate(fits):
            found = [sorted_values[starts[c] : ends[c]] for c in np.flatnonzero(row)]
            if found:
                counts = np.bincount(np.concatenate(found), minlength=n_values)
                best = np.flatnonzero(counts == counts.max())
                guess[block.start + t] = best[rng.integers(len(best))]
                certain[block.start + t] = counts.max() == counts.sum()
    return Guesses(guess, certain)


def guess_from_others(
    known: Sequence[np.ndarray], column: Column, targets: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """For each target a guess by people who are no targets: by naive Bayes, or the most frequent value."""
    others = np.setdiff1d(np.arange(len(column.codes)), targets)
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


def _by_value(
    column: Column, truth: np.ndarray, before: Guesses, after: Guesses, blind: np.ndarray
) -> list[dict[str, Any]]:
    """For the values of the targets, the rarest first: how often each is guessed right."""
    codes, n = np.unique(truth, return_counts=True)
    found = []
    for code in codes[np.argsort(n, kind="stable")][:_MOST_VALUES]:
        those = truth == code
        right = {
            name: rate(int((guess[those] == code).sum()), int(those.sum()))
            for name, guess in (("before", before.value), ("after", after.value), ("control", blind))
        }
        found.append({"value": column.texts[code], "people": int(those.sum())} | right)
    return found


def _sentence(facts: dict[str, Any]) -> str:
    after, before = facts["after"], facts["before"]
    attack, control = after["attack"], after["control"]
    low, high = map(percent, attack["interval"])
    verdict = "more than" if after["beyond_chance"] else "no more than"
    return (
        f"Inference of {facts['attribute']!r}: guessed right for {percent(attack['rate'])} of "
        f"{attack['trials']:,} people with the release (95 % interval {low} to {high}), {verdict} by "
        f"somebody who saw other people only, {percent(control['rate'])}. With the original it would be "
        f"{percent(before['attack']['rate'])}."
    )
