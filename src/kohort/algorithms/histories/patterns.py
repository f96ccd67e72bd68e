"""Which slots people are published with: a pattern of slots that too few people have loses slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations

__all__ = ["WITHHELD", "Pattern", "settled_patterns"]

Pattern = frozenset[int]
WITHHELD: Pattern = frozenset()
_FEW = 100  # patterns, up to which what two of them share is tried, too


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
    left = Counter(people)
    becomes = {pattern: pattern for pattern in people}
    known = _longest_first({*people, *_shared(people)} - {WITHHELD} - set(closed))
    for pattern in _longest_first({*people, *known}):
        n = left[pattern]
        if n == 0 or (n >= k and pattern not in closed):
            continue
        target = _target(pattern, n, left, known, k)
        left[target] += left.pop(pattern)
        becomes = {own: target if found == pattern else found for own, found in becomes.items()}
    return becomes


def _longest_first(patterns: Iterable[Pattern]) -> list[Pattern]:
    return sorted(patterns, key=lambda pattern: (-len(pattern), sorted(pattern)))


def _shared(patterns: Collection[Pattern]) -> set[Pattern]:
    """The slots that two patterns share, where the patterns are few."""
    if len(patterns) > _FEW:
        return set()
    return {a & b for a, b in combinations(patterns, 2)}


def _target(pattern: Pattern, n: int, left: Counter[Pattern], known: list[Pattern], k: int) -> Pattern:
    """The longest part of the pattern that has k people with these n, or may get so many; else none."""
    parts = [part for part in known if part < pattern]
    enough = [part for part in parts if left[part] + n >= k]
    if not enough:
        rare = [(other, count) for other, count in left.items() if count < k]
        enough = [p for p in parts if sum(count for other, count in rare if p <= other) >= k]
    return max(enough, key=lambda part: (len(part), left[part]), default=WITHHELD)
