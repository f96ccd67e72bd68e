"""Which slots people are published with: a pattern of slots that too few people have loses slots."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

import numpy as np

Pattern = frozenset[int]
WITHHELD: Pattern = frozenset()
_FEW = 100  # patterns, up to which what two of them share is tried, too
_AT_A_TIME = 256


def settled_patterns(
    people: Mapping[Pattern, int], k: int, closed: Collection[Pattern] = ()
) -> dict[Pattern, Pattern]:
    """The pattern of slots that the people of each pattern are published with: a part of their own.

    people  how many people have each pattern
    closed  patterns that may not be published

    Every published pattern is that of at least k people; those without any are withheld. Patterns are taken
    from the longest to the shortest. One with too few people becomes the longest part of it that has k people
    then or, failing that, that may still get so many from other rare patterns. O(patterns ** 2).

    >>> many, few = frozenset({1, 2}), frozenset({1, 2, 3})
    >>> settled_patterns({many: 10, few: 2}, 5)[few] == many
    True
    """
    patterns = _longest_first({*people, *_shared(people)} - {WITHHELD})
    table = _Patterns(patterns, people, closed)
    becomes: dict[Pattern, Pattern] = {}
    for number, pattern in enumerate(patterns):
        n = int(table.left[number])
        if n == 0 or (n >= k and pattern not in closed):
            continue
        target = table.target(number, n, k)
        becomes[pattern] = WITHHELD if target is None else patterns[target]
        table.left[number] = 0
        if target is not None:
            table.left[target] += n
    return {pattern: _settled(pattern, becomes) for pattern in people}


def _settled(pattern: Pattern, becomes: Mapping[Pattern, Pattern]) -> Pattern:
    """What a pattern becomes in the end: each one becomes a shorter one, if any other."""
    while pattern in becomes:
        pattern = becomes[pattern]
    return pattern


def _longest_first(patterns: Iterable[Pattern]) -> list[Pattern]:
    return sorted(patterns, key=lambda pattern: (-len(pattern), sorted(pattern)))


def _shared(patterns: Collection[Pattern]) -> set[Pattern]:
    """The slots that two patterns share, where the patterns are few."""
    if len(patterns) > _FEW:
        return set()
    return {a & b for a, b in combinations(patterns, 2)}


class _Patterns:
    """Patterns from the longest to the shortest as bits of their slots, and the people of each by now."""

    def __init__(
        self, patterns: list[Pattern], people: Mapping[Pattern, int], closed: Collection[Pattern]
    ) -> None:
        place = {slot: number for number, slot in enumerate(sorted(set().union(*patterns)))}
        kind = np.uint64 if len(place) < 64 else object
        self.bits = np.array([sum(1 << place[slot] for slot in pattern) for pattern in patterns], dtype=kind)
        self.size = np.array([len(pattern) for pattern in patterns])
        self.left = np.array([people.get(pattern, 0) for pattern in patterns], dtype=np.int64)
        self.open = np.array([pattern not in closed for pattern in patterns], dtype=bool)

    def target(self, number: int, n: int, k: int) -> int | None:
        """The longest part of a pattern that has k people with these n, or may get so many; None: no part."""
        inside = (self.bits & self.bits[number]) == self.bits
        inside[number] = False
        parts = np.flatnonzero(inside & self.open)
        enough = parts[self.left[parts] + n >= k]
        if not len(enough):
            enough = self._may_get(parts, k)
        return max(enough.tolist(), key=lambda part: (self.size[part], self.left[part]), default=None)

    def _may_get(self, parts: np.ndarray, k: int) -> np.ndarray:
        """The parts that k people of rare patterns have; of these, the first ones are enough to be known."""
        rare = np.flatnonzero((self.left > 0) & (self.left < k))
        for begin in range(0, len(parts), _AT_A_TIME):
            some = parts[begin : begin + _AT_A_TIME]
            within = (self.bits[rare][None, :] & self.bits[some][:, None]) == self.bits[some][:, None]
            enough = some[within.astype(bool) @ self.left[rare] >= k]
            if len(enough):
                same_size = parts[self.size[parts] == self.size[enough[0]]]
                rest = same_size[same_size > some[-1]]
                return np.concatenate([enough, self._may_get(rest, k)]) if len(rest) else enough
        return parts[:0]
