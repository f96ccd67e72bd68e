"""The agglomerative algorithm, literally: every pair of clusters is looked at before two are joined.

A cluster is a list of pieces, and a piece is a list: its number, a row and how many copies of the row.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations, count
from math import log


def agglomerate(problem, cost_of, distance, shed):
    """The clusters as a multiset of sets of pairs: a row and how many of its copies are there."""
    clusters = [[[row, row, int(copies)]] for row, copies in enumerate(problem.rows.counts)]
    return as_multiset(join(clusters, problem.k, cost_of, distance, shed))


def as_multiset(clusters):
    found = []
    for cluster in clusters:
        copies = Counter()
        for _, row, some in cluster:
            copies[row] += some
        found.append(frozenset(copies.items()))
    return Counter(found)


def join(clusters, k, cost_of, distance, shed):
    """Join clusters until each has k records or more."""
    numbers = count(sum(map(len, clusters)))
    finished = [cluster for cluster in clusters if size(cluster) >= k]
    unfinished = [cluster for cluster in clusters if size(cluster) < k]
    while len(unfinished) > 1:
        a, b = min(
            combinations(range(len(unfinished)), 2),
            key=lambda pair: (dist(*(unfinished[c] for c in pair), cost_of, distance), pair),
        )
        joined = unfinished[a] + unfinished[b]
        unfinished = [cluster for c, cluster in enumerate(unfinished) if c not in (a, b)]
        if size(joined) < k:
            unfinished.append(joined)
            continue
        kept, shedded = shed_surplus(joined, k, cost_of, numbers) if shed else (joined, [])
        finished.append(kept)
        unfinished += [[piece] for piece in shedded]
    for piece in sorted(piece for cluster in unfinished for piece in cluster):
        best = min(range(len(finished)), key=lambda c: (added_by(piece, finished[c], cost_of), c))
        finished[best] = [*finished[best], piece]
    return finished


def size(cluster):
    return sum(copies for _, _, copies in cluster)


def d(cluster, cost_of):
    return cost_of([row for _, row, _ in cluster])


def dist(a, b, cost_of, distance):
    union, apart = d(a + b, cost_of), d(a, cost_of) + d(b, cost_of)
    return {
        "added": lambda: size(a + b) * union - (size(a) * d(a, cost_of) + size(b) * d(b, cost_of)),
        "plain": lambda: union - apart,
        "log": lambda: (union - apart) / log(size(a + b)),
        "ratio": lambda: union / (apart + 0.1),
    }[distance]()


def added_by(piece, cluster, cost_of):
    larger = size([*cluster, piece]) * d([*cluster, piece], cost_of)
    return larger - size(cluster) * d(cluster, cost_of)


def shed_surplus(cluster, k, cost_of, numbers):
    """Take the record out whose absence leaves the least cost, of equal ones the last, until k are left."""
    left = [copies for _, _, copies in cluster]
    while sum(left) > k:

        def cost_without(place):
            rows = [
                row for other, (_, row, _) in enumerate(cluster) if left[other] > (1 if other == place else 0)
            ]
            return cost_of(rows)

        places = [place for place in range(len(cluster)) if left[place]]
        left[min(places, key=lambda place: (cost_without(place), -place))] -= 1
    kept, shedded = [], []
    for (number, row, copies), stay in zip(cluster, left):
        if stay:
            kept.append([number, row, stay])
        if stay < copies:
            shedded.append([next(numbers) if stay else number, row, copies - stay])
    return kept, shedded
