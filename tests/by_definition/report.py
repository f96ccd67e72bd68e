"""The facts of a report by definition: loops over records of the published and the original table."""

from collections import Counter, defaultdict
from fractions import Fraction


def classes_of(published, quasi_identifiers):
    """Records by how they are published."""
    found = defaultdict(list)
    for number in range(len(published[quasi_identifiers[0]])):
        found[tuple(published[name][number] for name in quasi_identifiers)].append(number)
    return found


def guesses(classes, sensitive):
    """Per class the share of its most frequent sensitive value, and how many values it has."""
    return {
        key: (
            Fraction(max(Counter(sensitive[n] for n in members).values()), len(members)),
            len({sensitive[n] for n in members}),
        )
        for key, members in classes.items()
    }


def spread(labels, covered, values):
    """Records per original value if every label is spread evenly over the original values that it covers."""
    total = dict.fromkeys(values, Fraction(0))
    for label in labels:
        members = [value for value in values if covered(label, value)]
        for value in members:
            total[value] += Fraction(1, len(members))
    return total


def loss(labels, covered, leaves):
    """The mean share of the other leaves that a cell also covers."""
    if len(leaves) == 1:
        return Fraction(0)
    shares = [Fraction(sum(covered(label, leaf) for leaf in leaves) - 1, len(leaves) - 1) for label in labels]
    return sum(shares, Fraction(0)) / len(shares)
