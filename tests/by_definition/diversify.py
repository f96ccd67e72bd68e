"""Algorithm 8 of Kenig and Tassa, by definition: at every step the least diverse cluster and all partners.

The paper's diversity is one of many models here, and both costs are brought to a scale from 0 to 1.
"""

from __future__ import annotations

from fractions import Fraction
from math import exp, log

from by_definition import models

BY_A_HAIR = 1e-9
"""What a cluster that breaks a rule falls short by at least: of some rules the bound itself is outside."""


def diversify(clusters, cost_of, deficit_of, w):
    """Unite clusters of records until none falls short, or one is left; a union has the lower number.

    cost_of     cost of one record of a cluster
    deficit_of  by how much a cluster falls short
    """
    everybody = [record for cluster in clusters for record in cluster]
    spread = cost_of(everybody) if everybody else 0.0
    clusters = dict(enumerate(clusters))
    while len(clusters) > 1:
        deficits = {number: deficit_of(cluster) for number, cluster in clusters.items()}
        head = min(clusters, key=lambda number: (-_rounded(deficits[number]), number))
        if not any(deficits.values()):
            break
        others = [number for number in clusters if number != head]
        partner = min(
            others,
            key=lambda other: (
                *_costs(clusters[head], clusters[other], cost_of, deficit_of, w, spread),
                other,
            ),
        )
        union = clusters.pop(head) + clusters.pop(partner)
        clusters[min(head, partner)] = union
    return [clusters[number] for number in sorted(clusters)]


def _costs(head, other, cost_of, deficit_of, w, spread):
    """Eq. 11, then Eq. 10 and Eq. 9 for those that are equal."""
    union = head + other
    added = sum(len(c) * cost_of(c) * sign for c, sign in ((union, 1), (head, -1), (other, -1)))
    share = added / (len(head) * spread) if spread else 0.0
    information = share / (1 + share)
    deficit = deficit_of(union)
    return _rounded(w * information + (1 - w) * deficit), _rounded(deficit), _rounded(information)


def _rounded(number):
    return round(float(number), 12)


def deficit(model, cells, *, overall=None, groups=None, ground=None):
    """By how much a class with these counts of values falls short of a model, 0 to 1.

    overall  counts in the whole table and `ground` distances of values, for t-closeness
    groups   the sets of values that alpha bounds, each as one
    """
    if model.name == "k-anonymity":
        return _share(not models.k_anonymous(cells, model.k), model.k - sum(cells), model.k - 1)
    if model.name == "alpha-deassociation":
        most = max(Fraction(sum(cells[value] for value in group), sum(cells)) for group in groups)
        return _share(most > model.asked, most - model.asked, 1 - model.asked)
    if model.name == "t-closeness":
        distance = models.earth_movers_distance(cells, overall, ground)
        return _share(distance > model.asked, distance - model.asked, 1 - model.asked)
    if model.name == "delta-disclosure":
        shares = [Fraction(count, sum(overall)) for count in overall]
        bands = [(float(p) / 2 ** float(model.delta), float(p) * 2 ** float(model.delta)) for p in shares]
        return _outside(models.disclosure_within(cells, overall, model.delta), cells, bands)
    if model.name == "beta-likeness":
        shares = [Fraction(count, sum(overall)) for count in overall]
        logs = [-log(p) if p else 0 for p in shares]
        gains = [min(float(model.beta), log_p if model.kind == "enhanced" else 1e9) for log_p in logs]
        bands = [(0, float(p) * (1 + gain)) for p, gain in zip(shares, gains)]
        return _outside(models.likeness_within(cells, overall, model.beta, model.kind), cells, bands)
    return _diversity_deficit(model, cells)


def _outside(holds, cells, bands):
    """The shares of values outside their bands, added up; a gap of 0 that is one counts by a hair."""
    shares = [count / sum(cells) for count in cells]
    gap = sum(max(s - high, 0) + max(low - s, 0) for s, (low, high) in zip(shares, bands))
    return _share(not holds, gap, 1)


def _diversity_deficit(model, cells):
    l = model.exact_l  # noqa: E741
    if model.kind == "distinct":
        l = -(-l.numerator // l.denominator)  # noqa: E741
        return _share(models.distinct(cells) < l, l - models.distinct(cells), l - 1)
    if model.kind == "frequency":
        return _share(models.frequency(cells) < l, l - models.frequency(cells), l - 1)
    if model.kind == "entropy":
        n = sum(cells)
        diversity = exp(log(n) - sum(c * log(c) for c in cells if c) / n)
        return _share(not models.entropy_reaches(cells, l), float(l) - diversity, l - 1)
    ratio = models.recursive(cells, int(l))
    return _share(ratio >= model.c, 1 - model.c / ratio, 1)


def _share(broken, gap, widest):
    return min(max(float(gap), BY_A_HAIR) / max(float(widest), BY_A_HAIR), 1.0) if broken else 0.0
