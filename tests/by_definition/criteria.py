"""The attacks of the three criteria by definition: predicate by predicate, record by record."""

from __future__ import annotations

from by_definition.risk import covers


def fitting_originals(predicate, originals, attributes):
    """The original records that fit a predicate: {column: label}; other columns must be equal."""
    return [
        number
        for number, record in enumerate(originals)
        if all(
            covers(label, record[name], attributes[name]) if name in attributes else record[name] == label
            for name, label in predicate.items()
        )
    ]


def fitting_records(known, published, attributes, without=None):
    """The published records whose labels cover what is known of a person; one of them may be left out."""
    return [
        number
        for number, record in enumerate(published)
        if number != without
        and all(covers(record[name], value, attributes[name]) for name, value in known.items())
    ]


def link_shares(first, seconds, published, attributes, without=None):
    """For each second part the share of the records that fit it which fit the first part, too."""
    one = set(fitting_records(first, published, attributes, without))
    shares = []
    for part in seconds:
        other = fitting_records(part, published, attributes, without)
        shares.append(len(one.intersection(other)) / len(other) if other else 0.0)
    return shares


def best_values(known, published, attributes, values):
    """The most frequent sensitive values among the records that fit."""
    found = [values[number] for number in fitting_records(known, published, attributes)]
    most = max((found.count(value) for value in found), default=0)
    return {value for value in found if found.count(value) == most}


def naive_bayes(known, lessons, values, person, n_values, n_codes):
    """The value of the highest posterior, every count plus 1; known[column][record] are codes."""
    scores = []
    for value in range(n_values):
        of_value = [r for r in lessons if values[r] == value]
        score = (len(of_value) + 1) / (len(lessons) + n_values)
        for column, width in zip(known, n_codes):
            same = sum(column[r] == column[person] for r in of_value)
            score *= (same + 1) / (len(of_value) + width)
        scores.append(score)
    return scores


def nearest(point, records):
    """The records at the least distance."""
    squares = [sum((a - b) ** 2 for a, b in zip(point, record)) for record in records]
    return [number for number, square in enumerate(squares) if square == min(squares)]
