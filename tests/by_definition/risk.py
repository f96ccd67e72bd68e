"""Risk by definition: records one by one, labels as texts, nothing counted together."""

from __future__ import annotations

from kohort.data.domain import STAR


def covers(label, value, attribute):
    """Whether a published label covers an original value."""
    if label in (STAR, value):
        return True
    if label is None or value is None:
        return False
    if hasattr(attribute.domain, "leaf_of") and not attribute.tight:
        leaf = int(attribute.domain.leaf_node[attribute.domain.leaf_of[value]])
        while leaf >= 0:
            if attribute.domain.published[leaf] == label:
                return True
            leaf = int(attribute.domain.parent[leaf])
        return False
    if label.startswith("{"):
        return value in label[1:-1].split(", ")
    if not label.startswith("["):
        return False
    low, high = label[1:-1].split(", ")
    return float(low) <= float(value) <= float(high)


def originals(release):
    """Per record the texts of its quasi-identifiers."""
    columns = [attribute.column for attribute in release.problem.attributes]
    return [tuple(c.texts[c.codes[i]] for c in columns) for i in range(release.dataset.n_records)]


def published(release):
    """Per published record the texts of its quasi-identifiers, and the record it comes from."""
    names = [attribute.name for attribute in release.problem.attributes]
    rows = release.published.rows.tolist()
    table = release.arrow.select(names).to_pylist()
    return [(tuple(record[name] for name in names), row) for record, row in zip(table, rows)]


def class_sizes(rows):
    return [sum(other == row for other in rows) for row in rows]


def risks(sizes, threshold):
    """Maximum, average and share over the threshold of 1 / size, record by record."""
    each = [1 / size for size in sizes]
    return max(each), sum(each) / len(each), sum(r > threshold for r in each) / len(each)


def candidates(release, known, target):
    """The published records that fit what is known of a person."""
    attributes = release.problem.attributes
    values = originals(release)[target]
    return [
        row
        for labels, row in published(release)
        if all(covers(labels[a], values[a], attributes[a]) for a in known)
    ]


def best_guess(classes, values):
    """Per record the share of its class that has the class's most frequent value."""
    shares = []
    for mine in classes:
        inside = [value for row, value in zip(classes, values) if row == mine]
        shares.append(max(inside.count(value) for value in inside) / len(inside))
    return shares


def basket_fits(labels, items, hierarchy):
    """Whether each known item is under one of the published labels of a basket; no basket fits anything."""
    if labels is None:
        return True
    return all(any(_is_under(item, label, hierarchy) for label in labels) for item in items)


def _is_under(item, label, hierarchy):
    node = int(hierarchy.leaf_node[hierarchy.leaf_of[item]])
    while node >= 0:
        if hierarchy.published[node] == label:
            return True
        node = int(hierarchy.parent[node])
    return label == STAR


def count(rows, attributes, query_columns, chosen):
    """The expected answer of a COUNT query: each record counts by the values that its labels cover."""
    total = 0.0
    for labels in rows:
        share = 1.0
        for column, values in zip(query_columns, chosen):
            attribute = attributes[column]
            covered = [text for text in attribute.column.texts if covers(labels[column], text, attribute)]
            share *= sum(text in values for text in covered) / len(covered)
        total += share
    return total
