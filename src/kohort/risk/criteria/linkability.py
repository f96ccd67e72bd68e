"""Linkability: do two sources that know different columns of a person find out that it is the same one?

One source knows some quasi-identifiers of a person, the other one the rest of them, of several people. The
adversary asks the release which of these fits best: of the published records that fit the second part, how
large a share fits the first one, too? The control group is asked of the release without the person's own
record: what it finds, it finds because such columns go together, not because the person is in the table.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.risk.criteria.chance import compared, rate
from kohort.risk.criteria.lookups import Lookups

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
    table: Lookups,
    first: np.ndarray,
    second: np.ndarray,
    targets: np.ndarray,
    rng: np.random.Generator,
) -> tuple[int, int]:
    """How many targets are linked right by the release, and by the release without their own records."""
    one, other = (_fitting(table, part, targets) for part in (first, second))
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


def _fitting(table: Lookups, columns: np.ndarray, targets: np.ndarray) -> np.ndarray:
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
