"""Prices that no group can pay which satisfies a privacy model, by definition: over all groups."""

from itertools import chain, combinations


def dearest_group_by_definition(prices, cost, is_valid):
    """The greatest mean of price - cost of a valid group of some records; -inf if there is no valid one.

    prices    per record under a closed record
    is_valid  whether the records at these places may be a group
    """
    places = range(len(prices))
    groups = chain.from_iterable(combinations(places, size) for size in range(1, len(prices) + 1))
    means = (sum(prices[i] - cost for i in group) / len(group) for group in groups if is_valid(group))
    return max(means, default=float("-inf"))
