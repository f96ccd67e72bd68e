"""Every rule of the checker beside all groups of a few records, and bounds beside all releases."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from kohort_check import UNIT, Claim, Column, Cut, Prices, Promise, Refused, Tree
from kohort_check.closed import Table
from kohort_check.groups import Size, Supports
from kohort_check.release import Kept

PROMISES = [
    None,
    ("share", Fraction(1, 2)),
    ("share", Fraction(2, 3)),
    ("share", Fraction(2, 5)),
    ("entropy", Fraction(3, 2)),
    ("entropy", Fraction(2)),
    ("distinct", Fraction(2)),
    ("distinct", Fraction(3)),
    ("close", Fraction(1, 4)),
    ("close", Fraction(0)),
]


def keeps(promise, labels, everybody):
    """Whether a group with some labels keeps a promise, by definition."""
    if promise is None:
        return True
    kept = Kept(*promise, column="s")
    of = {label: labels.count(label) for label in {*labels, *everybody}}
    overall = {label: everybody.count(label) for label in everybody}
    limited = sorted((n for label, n in of.items() if label >= 0 and n), reverse=True)
    return kept.holds(limited, len(labels), overall, of)


def one_column(price, label):
    tree = Tree(np.array([-1, *[0] * len(price)]), np.zeros(len(price) + 1, bool))
    cells = np.arange(1, len(price) + 1)[:, None]
    return Table.of_records(cells, price, label, [tree], [np.zeros(len(price) + 1, np.int64)])


@pytest.mark.parametrize("promise", PROMISES, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_a_rule_excludes_no_group_that_pays(promise, seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 9)), int(rng.integers(1, 4))
    label = rng.integers(-1 if promise and promise[0] == "share" else 0, 3, n)
    table = one_column(rng.integers(-3, 12, n), label)
    cost, labels, price = int(rng.integers(2, 9)), table.label.tolist(), table.price.tolist()
    size, rules = k, []
    if promise is not None:
        try:
            size, rules = Promise(*promise).rules(k, table, {})
        except Refused:
            return
    whole = Supports(
        np.zeros((1, 1), np.int64), np.array([cost]), np.zeros(1, np.int64), np.zeros(n, np.int64),
        np.arange(n), table.price, table.copies, table.label,
    )  # fmt: skip
    found = min([int(rule.excess(whole)[0]) for rule in (Size(size), *rules)]) if n >= size else -1
    excesses = [
        sum(price[i] - cost for i in group)
        for m in range(k, n + 1)
        for group in combinations(range(n), m)
        if keeps(promise, [labels[i] for i in group], labels)
    ]
    best = max(excesses, default=-1)
    assert found > 0 or best <= 0
    if promise is None or promise[0] == "distinct":
        assert max(found, 0) == max(best, 0)


def random_tree(rng):
    """Two or three levels over four leaves."""
    parent = [-1, 0, 0, 1, 1, 2, 2] if rng.random() < 0.6 else [-1, 0, 0, 0, 1, 1]
    hidden = np.zeros(len(parent), bool)
    leaves = [n for n in range(len(parent)) if n not in parent]
    if rng.random() < 0.3:
        hidden[leaves[-1]] = True
    return Tree(np.array(parent), hidden), leaves


def partitions(items):
    """All ways to part some items."""
    if not items:
        yield []
        return
    first, *rest = items
    for m in range(len(rest) + 1):
        for others in combinations(rest, m):
            for more in partitions([item for item in rest if item not in others]):
                yield [[first, *others], *more]


def least_cost(claim, cells, labels, promise):
    """The least total of weighted costs of cells over all releases, by definition."""
    weights = sum(column.weight for column in claim.columns)
    n, costs = len(cells), []
    for column in claim.columns:
        leaves, path = leaves_of(column), column.tree.path
        width = [
            sum(node in path[leaf] or node in (leaf, 0) for leaf in leaves)
            for node in range(len(column.labels))
        ]
        costs.append([Fraction(w - 1, len(leaves) - 1) * column.weight / weights for w in width])

    def of_group(group):
        total = Fraction(0)
        for j, column in enumerate(claim.columns):
            paths = [set(column.tree.path[cells[i][j]].tolist()) - {-1} for i in group]
            total += min(costs[j][node] for node in set.intersection(*paths))
        return total * len(group)

    def releases():
        for m in range(claim.withheld + 1):
            for left_out in combinations(range(n), m):
                for parts in partitions([i for i in range(n) if i not in left_out]):
                    yield m, parts

    def is_valid(part):
        return len(part) >= claim.k and keeps(promise, [labels[i] for i in part], labels)

    valid = ((m, parts) for m, parts in releases() if all(map(is_valid, parts)))
    return min((m + sum(map(of_group, parts)) for m, parts in valid), default=None)


def leaves_of(column):
    return [n for n in range(len(column.labels)) if n not in column.tree.parent]


def random_problem(seed):
    rng = np.random.default_rng(seed)
    n, k = int(rng.integers(3, 8)), int(rng.integers(1, 4))
    columns, cells = [], []
    for j in range(int(rng.integers(1, 3))):
        tree, leaves = random_tree(rng)
        names = [f"n{node}" for node in range(len(tree.parent))]
        columns.append(Column(f"c{j}", tree, names, Fraction(int(rng.integers(1, 4)))))
        cells.append(rng.choice(leaves, n))
    promise = PROMISES[int(rng.integers(len(PROMISES)))]
    withheld = int(rng.integers(0, 2)) if promise is None or promise[0] != "close" else 0
    claim = Claim(columns, "loss", k, withheld)
    return rng, claim, np.array(cells).T, rng.integers(0, 3, n), promise


def bounds_by_random_prices(seed):
    """Bounds that the checker accepts for a random problem, and the least cost."""
    rng, claim, cells, labels, promise = random_problem(seed)
    least = least_cost(claim, cells, labels.tolist(), promise)
    accepted = []
    for scale in (0.05, 0.1, 0.2, 0.35, 0.5, 0.8, 1.0):
        price = (rng.random(len(cells)) * scale * UNIT).astype(np.int64)
        price[:] = price.max() if rng.random() < 0.5 else price
        cuts = []
        if promise is None and rng.random() < 0.5:
            nodes = list(product(*(range(len(column.labels)) for column in claim.columns)))
            chosen = rng.choice(len(nodes), int(rng.integers(1, 4)), replace=False)
            members = np.array([nodes[number] for number in chosen])
            cuts = [Cut(members, int(rng.integers(1, 3)), int(rng.random() * scale * UNIT))]
        used = None if promise is None else Promise(*promise)
        try:
            accepted.append(claim.bound(cells, labels, Prices(price, cuts, used)))
        except Refused:
            continue
    return accepted, None if least is None else least / len(cells)


@pytest.mark.parametrize("part", range(8))
def test_no_accepted_bound_is_above_the_least_cost(part):
    tried = 0
    for seed in range(part * 12, part * 12 + 12):
        accepted, least = bounds_by_random_prices(seed)
        tried += len(accepted)
        assert least is None or all(bound <= least for bound in accepted), seed
    assert tried


def test_one_unit_too_much_is_refused():
    """Two records that can only be published as `*` together: prices of a unit more than that costs."""
    tree = Tree(np.array([-1, 0, 0]), np.zeros(3, bool))
    claim = Claim([Column("c", tree, ["*", "a", "b"], Fraction(1))], "loss", 2, 0)
    cells, labels = np.array([[1], [2]]), np.zeros(2, np.int64)
    assert claim.bound(cells, labels, Prices(np.array([UNIT, UNIT]))) == 1
    with pytest.raises(Refused, match="priced above its cost"):
        claim.bound(cells, labels, Prices(np.array([UNIT, UNIT + 1])))
