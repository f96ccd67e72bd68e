"""The linkage attack as facts: whom to look up, what is known of them, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kohort.errors import counted, percent
from kohort.pipeline.before_after import BeforeAfter
from kohort.risk.histories import look_up_histories
from kohort.risk.linkage import leaves_of, look_up
from kohort.risk.lookup import Lookup
from kohort.risk.people import look_up_people


def linkage_attack(
    sides: BeforeAfter,
    *,
    known: Sequence[str] | None,
    known_items: int | None,
    targets: int,
    threshold: float,
    seed: int,
) -> dict[str, Any]:
    """Look up people drawn at random by what is known of them, in the original and in the release."""
    rng = np.random.default_rng(seed)
    names = [attribute.name for attribute in sides.attributes]
    chosen = [i for i, name in enumerate(names) if known is None or name in known]
    n_items = 0 if sides.baskets is None else sides.baskets.m if known_items is None else known_items
    n_people, picked = _targets(sides, targets, rng, known_columns=bool(chosen))
    items = None if sides.baskets is None else _items_known(sides, picked, n_items, rng)
    if sides.histories is not None:
        before, after = look_up_histories(sides, sides.histories, chosen, picked)
    elif sides.persons is not None:
        before, after = look_up_people(sides, chosen, picked, rng)
    else:
        before, after = look_up(sides, chosen, picked, items)
    by_record = sides.histories is None and sides.persons is None
    found: dict[str, Any] = {
        "known": [names[i] for i in chosen],
        "known_items": n_items,
        "targets": len(picked),
        "sampled": len(picked) < n_people,
        "before": before.facts(rng, threshold),
        "after": after.facts(rng, threshold),
        "after_withheld": _withheld_maximum(sides, picked, after) if by_record else None,
    }
    return found | {"sentence": _sentence(found, _way(sides))}


def _targets(
    sides: BeforeAfter, targets: int, rng: np.random.Generator, *, known_columns: bool
) -> tuple[int, np.ndarray]:
    """How many people there are to look up, and the numbers of those who are."""
    if sides.baskets is None or known_columns:
        n, numbers = sides.n_people, None
    else:  # of people without items nothing is known
        numbers = np.flatnonzero(sides.baskets.original.sizes > 0)
        n = len(numbers)
    picked = np.arange(n) if n <= targets else np.sort(rng.choice(n, targets, replace=False))
    return n, picked if numbers is None else numbers[picked]


def _withheld_maximum(sides: BeforeAfter, targets: np.ndarray, after: Lookup) -> float | None:
    """The highest chance among targets whose record is withheld as `*`; None if there are none."""
    if not sides.n_withheld:
        return None
    withheld = sides.codes_of_records(targets).withheld
    return float(after.chance[withheld].max()) if withheld.any() else None


def _way(sides: BeforeAfter) -> str:
    """How the adversary goes about it, in words."""
    if sides.histories is not None:
        return "in all records of theirs, and picked a pseudonym that fits"
    if sides.persons is not None:
        return "from one record of theirs, and picked somebody with a record that fits"
    return "and picked a record that fits"


def _sentence(found: dict[str, Any], picked: str) -> str:
    what = [counted(len(found["known"]), "column")] if found["known"] else []
    what += [counted(found["known_items"], "item")] if found["known_items"] else []
    before, after = found["before"], found["after"]
    low, high = after["interval"]
    return (
        f"An adversary who knew {' and '.join(what)} of {found['targets']:,} people, {picked}, "
        f"found {percent(before['hit_rate'])} of them in the original and "
        f"{percent(after['hit_rate'])} in the release (95 % interval {percent(low)} to {percent(high)}), "
        f"and nobody there with a better chance than {percent(after['maximum'])}." + _warning(found)
    )


def _warning(found: dict[str, Any]) -> str:
    """A sentence about a withheld record that is found: only `*` fits a person whom no class fits."""
    best = found["after_withheld"]
    if best is None or best < found["after"]["maximum"]:
        return ""
    return " That record is withheld as `*`, and few others fit the person. Set suppressed: drop to omit it."


def _items_known(
    sides: BeforeAfter, targets: np.ndarray, n_items: int, rng: np.random.Generator
) -> np.ndarray:
    """Some items of each target, drawn at random; -1 where there are fewer."""
    assert sides.baskets is not None
    leaves, offsets = leaves_of(sides.baskets), sides.baskets.original.offsets
    known = np.full((len(targets), max(n_items, 1)), -1, dtype=np.int64)
    for row, target in enumerate(targets):
        drawn = rng.permutation(leaves[offsets[target] : offsets[target + 1]])[:n_items]
        known[row, : len(drawn)] = drawn
    return known
