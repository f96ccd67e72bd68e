"""Regions of several assignments, by definition."""


def regions_by_definition(n_units, *assignments):
    """The sets of units that no assignment puts into a slot with units of another set."""
    together = []
    for pieces in assignments:
        for slot in set(pieces.slot.tolist()):
            together.append({u for u, s in zip(pieces.unit.tolist(), pieces.slot.tolist()) if s == slot})
    regions = [{unit} for unit in range(n_units)]
    for units in together:
        met = [region for region in regions if region & units]
        regions = [region for region in regions if not region & units] + [set().union(*met)]
    return sorted(map(frozenset, regions), key=sorted)
