"""Sequential clustering, literally: every record that may move looks at every cluster."""

from __future__ import annotations

import numpy as np

from by_definition.agglomerative import as_multiset, join

ROUNDING = 1e-12


def cluster_sequentially(problem, cost_of, curve, *, alpha, omega, passes, polish):
    """The clusters as a multiset of sets of pairs: a row and how many copies of it are there.

    `curve` has the rows in the order along which large groups are cut.
    """
    k, copies = problem.k, problem.rows.counts.tolist()
    rng = np.random.default_rng(problem.seed)
    few = [row for row in range(len(copies)) if copies[row] < k]
    clusters = first_clusters(rng.permutation(few).tolist(), copies, alpha * k)
    for _ in range(passes):
        moved = move(clusters, rng.permutation(few).tolist(), copies, cost_of, keep=0)
        clusters = [cluster for cluster in clusters if cluster]
        clusters, n_split = split(clusters, rng.permutation(few).tolist(), copies, omega * k)
        if not (moved or n_split):
            break
    clusters += [[row] for row in range(len(copies)) if copies[row] >= k]
    pieces = [[[row, row, copies[row]] for row in sorted(cluster)] for cluster in clusters]
    groups = [[row for _, row, _ in group] for group in join(pieces, k, cost_of, "added", False)]
    for _ in range(passes if polish else 0):
        smaller = cut_all(groups, curve, copies, cost_of, k)
        moved = move(smaller, rng.permutation(len(copies)).tolist(), copies, cost_of, keep=k)
        n_before, groups = len(groups), [group for group in smaller if group]
        if not (moved or len(smaller) > n_before):
            break
    return as_multiset([[row, row, copies[row]] for row in group] for group in groups if group)


def first_clusters(order, copies, wanted):
    """Clusters of about `wanted` records (at least 1), cut from the order."""
    n = sum(copies[row] for row in order)
    n_clusters = max(1, int(n / max(1.0, wanted)))
    clusters = [[] for _ in range(n_clusters)]
    before = 0
    for row in order:
        clusters[before * n_clusters // n].append(row)
        before += copies[row]
    return [cluster for cluster in clusters if cluster]


def size(cluster, copies):
    return sum(copies[row] for row in cluster)


def cost(cluster, copies, cost_of):
    """What all records of a cluster pay together."""
    return size(cluster, copies) * cost_of(cluster) if cluster else 0.0


def move(clusters, order, copies, cost_of, keep):
    """Move each row, in this order, to where the total cost falls most, if it falls; how many moved."""
    moved = 0
    for row in order:
        own = next(c for c, cluster in enumerate(clusters) if row in cluster)
        rest = [other for other in clusters[own] if other != row]
        alone = keep == 0 and size(clusters[own], copies) == 1
        if size(rest, copies) < keep:
            continue
        saved = cost(clusters[own], copies, cost_of) - cost(rest, copies, cost_of)
        added = {
            c: cost([*cluster, row], copies, cost_of) - cost(cluster, copies, cost_of)
            for c, cluster in enumerate(clusters)
            if c != own and cluster
        }
        best = min(added, key=lambda c: (added[c], c), default=None)
        if best is not None and (alone or added[best] < saved - ROUNDING):
            clusters[own] = rest
            clusters[best].append(row)
            moved += 1
    return moved


def split(clusters, order, copies, most):
    """Cut clusters of more than `most` records in two, a row with the half that its middle is in."""
    first, second, n_split = [], [], 0
    for cluster in clusters:
        total, before = size(cluster, copies), 0
        halves = ([], [])
        for row in (row for row in order if row in cluster):
            late = total > most and before + copies[row] / 2 > total / 2
            halves[late].append(row)
            before += copies[row]
        n_split += total > most
        first.append(halves[0])
        second.append(halves[1])
    return first + [half for half in second if half], n_split


def cut_all(groups, curve, copies, cost_of, k):
    """Cut groups of 2k records or more in two until none can be; new ones come last, round by round."""
    while True:
        cuts = [cut_in_two(group, curve, copies, cost_of, k) for group in groups]
        new = [right for _, right in cuts if right]
        groups = [left for left, _ in cuts] + new
        if not new:
            return groups


def cut_in_two(group, curve, copies, cost_of, k):
    """The cheapest cut of a group along the curve into parts of k or more, unless that costs more."""
    in_order = [row for row in curve if row in group]
    cuts = [(in_order[:place], in_order[place:]) for place in range(1, len(in_order))]
    possible = [cut for cut in cuts if min(size(part, copies) for part in cut) >= k]

    def total(cut):
        return cost(cut[0], copies, cost_of) + cost(cut[1], copies, cost_of)

    best = min(possible, key=total, default=None)
    if best is None or total(best) >= cost(group, copies, cost_of) + ROUNDING:
        return group, []
    return best
