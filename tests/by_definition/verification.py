"""Reading a published table as a stranger would: what a label covers, who forms a class."""

from __future__ import annotations

from collections import Counter, defaultdict

from by_definition.domains import STAR


def classes(columns):
    """Records that look alike in every column, by what they look like."""
    found = defaultdict(list)
    for record, look in enumerate(zip(*columns)):
        found[look].append(record)
    return dict(found)


def value_counts(records, sensitive):
    return Counter(sensitive[record] for record in records)


def covers(label, value, *, tree=None, values=(), key=None):
    """Whether a label covers an original value.

    tree    a TreeDomain, if the column has a hierarchy
    values  all values of the column; `key` turns the text of an ordered column into something with an order
    """
    if label in (STAR, value):
        return True
    if tree is not None and value in tree.covered_by(label):
        return True
    if label is None or value is None:
        return False
    if key is not None and label[:1] == "[" and label[-1:] in ("]", ")"):
        closed = label.endswith("]")
        for low, high in _ends(label[1:-1], key):
            if low <= key(value) and (key(value) < high or (closed and key(value) == high)):
                return True
    return label[:1] == "{" and label[-1:] == "}" and value in members(label)


def _ends(inside, key):
    """All ways to read two ends of an interval: values may have commas themselves."""
    parts = inside.split(", ")
    for cut in range(1, len(parts)):
        try:
            yield key(", ".join(parts[:cut])), key(", ".join(parts[cut:]))
        except ValueError:
            continue


def members(label):
    """Values of a set `{a, "b, c"}`, character by character."""
    found, text, quoted, was_quoted = [], "", False, False
    characters = label[1:-1]
    place = 0
    while place < len(characters):
        character = characters[place]
        if quoted and characters[place : place + 2] == '""':
            text += '"'
            place += 1
        elif character == '"':
            quoted, was_quoted = not quoted, True
        elif character == "," and not quoted:
            found.append(text)
            text, was_quoted = "", False
        elif character != " " or quoted or text or was_quoted:
            text += character
        place += 1
    return [*found, text]
