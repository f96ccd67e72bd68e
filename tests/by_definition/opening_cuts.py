"""Cuts and the releases they speak about, by definition: everything is enumerated."""

from itertools import combinations


def most_open(members, counts, k):
    """How many of some closed records, each given as its rows, can have k records of their own at most.

    Tries all subsets, largest first, and looks for k records for each member: by Hall's theorem there are
    enough if every subset of these has k records under it per member.
    """
    for size in range(len(members), 0, -1):
        for chosen in combinations(members, size):
            if all(
                sum(counts[row] for row in set().union(*some)) >= k * len(some)
                for n in range(1, size + 1)
                for some in combinations(chosen, n)
            ):
                return size
    return 0
