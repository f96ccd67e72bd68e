"""Inference: guess a sensitive value from the published records that fit, or from other people alone.

The adversary knows the quasi-identifiers of a person, takes all published records that fit, and guesses the
value that is most frequent among them. The control group guesses from the original records of other people
alone: the most likely value by naive Bayes, or the most frequent one, whichever was right more often for a
third group of people. What it gets right is true of people in general.

How often an attack succeeds, how often its control group does, and whether that differs beyond chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.problem.units import Units
from kohort.risk.linkage import wilson


def rate(hits: int, trials: int) -> dict[str, Any]:
    """A rate with its 95 % interval (Wilson's score interval)."""
    return {
        "hits": hits,
        "trials": trials,
        "rate": hits / trials if trials else 0.0,
        "interval": list(wilson(hits, trials)),
    }


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


_MOST_VALUES = 100
_LESSONS = 50_000


@dataclass(frozen=True, eq=False)
class Guesses:
    """Per target the value that is guessed, -1: no record fits; and whether all that fit have that value."""

    value: np.ndarray
    certain: np.ndarray


@dataclass(frozen=True, eq=False)
class Fitting:
    """Per target the records that fit what is known of them, published ones by their originals."""

    before: list[np.ndarray]
    after: list[np.ndarray]


def infer(
    fitting: Fitting,
    known: Sequence[np.ndarray],
    column: Column,
    targets: np.ndarray,
    seed: int,
    units: Units,
) -> dict[str, Any]:
    """Guess the values of a sensitive column, before and after, and from other people alone.

    known    per column and original record the value
    targets  original records
    units    whose the original records are
    """
    truth, n_values = column.codes[targets], len(column.texts)
    rng = np.random.default_rng(seed)
    before = guess_from_records(fitting.before, column.codes, n_values, rng)
    after = guess_from_records(fitting.after, column.codes, n_values, rng)
    blind = guess_from_others(known, column, targets, rng, units)
    control = rate(int((blind == truth).sum()), len(targets))

    def of(guesses: Guesses) -> dict[str, Any]:
        right = guesses.value == truth
        found = compared(rate(int(right.sum()), len(targets)), control)
        return found | {"certain_and_right": int((guesses.certain & right).sum())}

    facts: dict[str, Any] = {"attribute": column.name, "before": of(before), "after": of(after)}
    facts["by_value"] = _by_value(column, truth, before, after, blind)
    return facts | {"sentence": _sentence(facts)}


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
    units: Units,
) -> np.ndarray:
    """For each target a guess by people who are no targets: by naive Bayes, or the most frequent value."""
    whose = units.of(np.arange(len(column.codes)))
    others = np.flatnonzero(~np.isin(whose, whose[targets]))
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
