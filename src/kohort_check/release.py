"""The release itself: its classes, the promises that they keep, what labels cover, and what it costs."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, prod

import numpy as np

from kohort_check.bound import Claim, Column, Promise
from kohort_check.costs import CellCosts
from kohort_check.groups import Refused

Texts = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Kept:
    """A promise about the values of a sensitive column in every class.

    kind      share, entropy, distinct, close (see `bound.Promise`) or recursive: with the falling counts r,
              r1 < c * (r_l + r_(l + 1) + ...); then `number` is c
    number    a fraction
    values    for share: the values that are limited; None: all
    combine   for share: whether the limited values are counted together
    least     for recursive: l
    """

    kind: str
    number: Fraction
    column: str
    values: list[str] | None = None
    combine: bool = False
    least: int = 0

    @property
    def promise(self) -> Promise:
        """As prices may make use of it."""
        return Promise(self.kind, self.number)

    def labels(self, texts: Sequence[str]) -> np.ndarray:
        """The number of each record's value in the order of texts; -1 where it is not limited."""
        _, found = np.unique(np.array(texts, dtype=str), return_inverse=True)
        if self.values is None:
            return found
        limited = np.isin(np.array(texts, dtype=str), self.values)
        return np.where(limited, 0 if self.combine else found, -1)

    def holds(
        self, counts: Sequence[int], size: int, overall: Mapping[int, int], of: Mapping[int, int]
    ) -> bool:
        """Whether a class keeps it, by definition.

        counts   how many of its records have each limited value, falling
        overall  how many records of the table have each value; `of`: how many of the class
        """
        if self.kind == "share":
            return max(counts, default=0) <= self.number * size
        if self.kind == "distinct":
            return len(counts) >= ceil(self.number)
        if self.kind == "entropy":  # s^s >= l^s * product of c^c
            return size**size * self.number.denominator**size >= self.number.numerator**size * prod(
                c**c for c in counts
            )
        if self.kind == "recursive":
            return counts[0] < self.number * sum(counts[self.least - 1 :])
        if self.kind == "close":
            total = sum(overall.values())
            return (
                sum(max(of[v] * total - n * size, 0) for v, n in overall.items())
                <= self.number * size * total
            )
        raise Refused(f"no promise is of kind {self.kind!r}")


def cells_of(columns: Sequence[Column], original: Texts) -> np.ndarray:
    """Records by columns: the leaf of each value, found by its text; an empty text may be a missing value."""
    found = []
    for column in columns:
        has_child = np.isin(np.arange(len(column.tree.parent)), column.tree.parent)
        leaf = {("" if t is None else t): n for n, t in enumerate(column.labels) if not has_child[n]}
        texts = original.get(column.name)
        if texts is None or not set(texts) <= set(leaf):
            raise Refused(f"column {column.name!r} of the original is missing, or has a value without a leaf")
        found.append([leaf[text] for text in texts])
    return np.array(found, dtype=np.int64).T


def check_release(
    claim: Claim,
    promises: Sequence[Kept],
    cells: np.ndarray,
    rows: np.ndarray,
    original: Texts,
    release: Texts,
) -> Fraction:
    """The cost of a release; Refused unless every class keeps every promise and labels cover their values.

    cells  of the original
    rows   per published record the original one
    """
    n, names = len(cells), [column.name for column in claim.columns]
    if len(set(rows.tolist())) < len(rows) or (len(rows) and not 0 <= rows.min() <= rows.max() < n):
        raise Refused("two published records are the same original one, or one is none")
    if n - len(rows) > claim.withheld or any(len(release.get(name, ())) != len(rows) for name in names):
        raise Refused("records are missing from the release, or columns")
    total = Fraction(0)
    for column, values in zip(claim.columns, cells.T):
        node_of = {("" if text is None else text): n for n, text in reversed([*enumerate(column.labels)])} | {
            "*": 0
        }
        labels = release[column.name]
        if not set(labels) <= set(node_of):
            raise Refused(f"column {column.name!r} of the release has a label that means no node")
        nodes = np.array([node_of[label] for label in labels], dtype=np.int64)
        if (column.tree.path[values[rows], column.tree.depth[nodes]] != nodes).any():
            raise Refused(f"a label of column {column.name!r} does not cover the value of its record")
        costs = CellCosts(
            claim.cost, column.tree, column.labels, np.bincount(values, minlength=len(column.labels))
        )
        star = np.array([label == "*" for label in labels])
        known, of_star = costs.of_nodes(), costs.of_star()
        paid = sum(n * known[node] for node, n in Counter(nodes[~star].tolist()).items())
        paid += of_star * (int(star.sum()) + n - len(rows))
        total += paid * (1 if claim.cost == "suppressions" else claim.weight(column) / n)
    classes = defaultdict(list)
    for number, key in enumerate(zip(*(release[name] for name in names))):
        classes[key].append(number)
    if min(map(len, classes.values()), default=0) < claim.k:
        raise Refused("a class is smaller than k")
    for kept in promises:
        if [original[kept.column][row] for row in rows] != [*release[kept.column]]:
            raise Refused(f"sensitive values of column {kept.column!r} are not those of their records")
        values = kept.labels(release[kept.column]).tolist()
        overall = Counter(values)
        for members in classes.values():
            of = Counter(values[number] for number in members)
            counts = sorted((count for value, count in of.items() if value >= 0), reverse=True)
            if not kept.holds(counts, len(members), overall, of):
                raise Refused(f"a class does not keep the promise about column {kept.column!r}")
    return total
