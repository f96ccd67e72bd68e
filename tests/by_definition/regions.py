"""Regions of a table by definition."""


def node_of(tree, number, row):
    """The node of a record: from the root of the tree down to where nothing is cut any more."""
    at = 0
    while tree.attribute[at] >= 0:
        place = tree.first[at] + row[tree.attribute[at]]
        lent = tree.lends[place] and number <= tree.last_lent[at]
        at = tree.pool[at] if lent else tree.child[place]
    return int(at)
