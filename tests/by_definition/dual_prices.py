"""Prices that no group of k records or more can pay, by definition."""

import numpy as np


def slack_by_definition(prices, copies, cost, k, allowance=0.0):
    """What is left for each of k records of the allowance of a closed record, after its dearest group.

    If it is not below 0, no group of k records or more has prices that exceed its cost by more.
    """
    records = sorted((p for p, n in zip(prices, copies) for _ in range(n)), reverse=True)
    excess = max(sum(p - cost for p in records[:size]) for size in range(k, len(records) + 1))
    return (allowance - excess) / k


def repaired_by_definition(prices, copies, cost, k, allowance=0.0):
    """Prices after the dearest group of k records or more was made to pay no more than the allowance.

    Every record of the group asks its row to fall by as much; the row falls by the mean of what all its
    records ask for.
    """
    rows = sorted(range(len(prices)), key=lambda row: -prices[row])
    records = [row for row in rows for _ in range(copies[row])]
    size = max(k, sum(prices[row] > cost for row in records))
    share = [records[:size].count(row) / copies[row] for row in range(len(prices))]
    excess = sum(prices[row] - cost for row in records[:size]) - allowance
    fall = max(excess, 0.0) / sum(share[row] for row in records[:size])
    return [price - fall * part for price, part in zip(prices, share)]


def linear_program_by_definition(supports, copies, cost, k):
    """The least cost where closed records may be open in part, each with k records or more for each part."""
    from scipy.optimize import linprog

    pairs = [(q, row) for q, rows in enumerate(supports) for row in rows]
    in_all = len(cost) + len(pairs)
    few, covered = np.zeros((len(pairs) + len(cost), in_all)), np.zeros((len(copies), in_all))
    for number, (q, row) in enumerate(pairs):
        few[number, [len(cost) + number, q]] = 1, -copies[row]  # no more of a row than the part that is open
        few[len(pairs) + q, [len(cost) + number, q]] = -1, k
        covered[row, len(cost) + number] = 1
    paid = [0.0] * len(cost) + [cost[q] for q, _ in pairs]
    return linprog(paid, few, np.zeros(len(few)), covered, copies).fun


def shortfall_by_definition(promises, values, k):
    """By how much a group with these sensitive values (a list) breaks k and the rules, in records."""
    import math

    size = len(values)
    missing = max(k - size, 0)
    if not size:
        return missing
    for number, (kind, begin, end, limit) in enumerate(promises.rules):
        mine = [v for v in values if begin <= v < end]
        counts = {v: mine.count(v) for v in mine}
        listed = [counts.get(v, 0) for v in range(int(begin), int(end)) if promises.listed[number, v]]
        amount = [
            limit - len(counts),
            max(listed, default=0) - limit * size,
            sum(listed) - limit * size,
            sum(max(n - promises.share[v] * size, 0) for v, n in counts.items()) - limit * size,
            limit * size + sum(n * math.log(n / size) for n in counts.values()),
            sum(
                max(counts.get(v, 0) - promises.high[number, v] * size, 0)
                + max(promises.low[number, v] * size - counts.get(v, 0), 0)
                for v in range(int(begin), int(end))
            ),
        ][int(kind)]
        missing += amount if amount > 1e-9 else 0  # so near is near enough
    return missing


def allowances_by_definition(cuts, n_records):
    """Per closed record: the sum of the prices of the cuts that it is a member of."""
    allowed = [0.0] * n_records
    for number, price in enumerate(cuts.price):
        for member in cuts.members[cuts.start[number] : cuts.start[number + 1]]:
            allowed[member] += price
    return allowed
