import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from by_definition.part_costs import best_partition, block_cost
from by_definition.schemes import set_partitions
from kohort.algorithms.schemes.kernels.blocks import best_runs, best_sets, potentials, run_costs, set_costs
from kohort.algorithms.schemes.kernels.recoding_bounds import LOST, class_costs, grouped, sum_cells
from kohort.algorithms.schemes.node_table import NodeTable

pytestmark = pytest.mark.usefixtures("interpreted")

IN = float("inf")


@st.composite
def tables(draw):
    """CellCosts of a few groups and parts; each group lies in a widest one."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_parts, n_groups = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    there = rng.random((n_groups, n_parts)) < 0.6
    there[0, 0] = True
    group_of, part_of = np.nonzero(there)
    cells = rng.integers(1, 6, (3, len(group_of))).astype(float)
    outer_of = rng.integers(0, 2, n_groups)
    records = np.zeros((2, n_parts))
    np.add.at(records, (outer_of[group_of], part_of), cells[0])
    k, withheld = draw(st.integers(1, 8)), draw(st.sampled_from([9.0, 20.0, IN]))
    return group_of, part_of, cells, outer_of, records, k, withheld, draw(st.booleans()), rng


def plain(group_of, part_of, cells, outer_of, records):
    found = []
    for group in range(len(outer_of)):
        mine = np.flatnonzero(group_of == group)
        inside = {int(part_of[c]): tuple(cells[:, c]) for c in mine}
        found.append((inside, dict(enumerate(records[outer_of[group]]))))
    return found


@given(table=tables())
def test_runs_and_sets_cost_what_the_definition_says(table):
    group_of, part_of, cells, outer_of, records, k, withheld, discernible, rng = table
    n = records.shape[1]
    groups = plain(group_of, part_of, cells, outer_of, records)
    order, start = grouped(group_of, part_of, len(outer_of), n)
    width = np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float)
    before = np.concatenate([np.zeros((2, 1)), np.cumsum(records, axis=1)], axis=1)
    last = np.full(n, n - 1)
    table = NodeTable(part_of, order, start, cells, outer_of, records, k, withheld, discernible, IN)
    runs = run_costs(table, before, last, width)
    for a in range(n):
        for b in range(a, n):
            wanted = block_cost(range(a, b + 1), groups, width[a, b], k, withheld, discernible)
            assert runs[a, b] <= wanted + 1e-9  # the widest group and the price are those of the rectangle
            if len(outer_of) == 1 and discernible:
                assert runs[a, b] == pytest.approx(wanted)
    sets = np.flatnonzero(rng.random(1 << n) < 0.8)
    price = rng.random(len(sets))
    found = set_costs(table, np.arange(n), n, sets, price)
    for chosen, price_of_set, cost in zip(sets.tolist(), price, found):
        block = [part for part in range(n) if (chosen >> part) & 1]
        wanted = block_cost(block, groups, price_of_set, k, withheld, discernible)
        assert cost == pytest.approx(wanted)


@given(n=st.integers(1, 5), seed=st.integers(0, 2**32 - 1))
def test_the_best_runs_are_the_best_of_all(n, seed):
    rng = np.random.default_rng(seed)
    runs = np.where(rng.random((n, n)) < 0.8, rng.random((n, n)), IN)
    np.fill_diagonal(runs, rng.random(n))
    least, block_of, cut, merged = best_runs(runs)
    wanted, together, apart = best_partition(
        n, lambda b: runs[b[0], b[-1]], lambda b: max(b) - min(b) + 1 == len(b)
    )
    assert least == pytest.approx(wanted)
    ends = [p for p in range(n) if p == n - 1 or block_of[p] != block_of[p + 1]]
    assert sum(runs[block_of[end], end] for end in ends) == pytest.approx(wanted)
    assert merged.tolist() == pytest.approx([together.get((p, p + 1), IN) for p in range(n - 1)])
    assert cut.tolist() == pytest.approx([apart.get((p, p + 1), IN) for p in range(n - 1)])


@given(
    n=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    share=st.sampled_from([0.1, 0.4, 1.0]),
    limit=st.sampled_from([0.5, 1.0, 2.0, IN]),
)
def test_the_best_sets_are_the_best_of_all(n, seed, share, limit):
    """Few allowed blocks are gone through one by one, many by the sets they are in."""
    rng = np.random.default_rng(seed)
    sets = np.array([s for s in range(1, 1 << n) if s & (s - 1) == 0 or rng.random() < share])
    rng.shuffle(sets)
    costs = rng.random(len(sets))
    cost_of = dict(zip(sets.tolist(), costs.tolist()))
    least, block, with_block, pairs, not_pairs = best_sets(sets, costs, n, limit)

    def bits(values):
        return sum(1 << value for value in values)

    partitions = [p for p in set_partitions(list(range(n))) if all(bits(b) in cost_of for b in p)]
    totals = {tuple(sorted(map(bits, p))): sum(cost_of[bits(b)] for b in p) for p in partitions}
    known = potentials(sets, costs, n)
    for one, cost in cost_of.items():
        assert sum(known[p] for p in range(n) if (one >> p) & 1) <= cost + 1e-12

    def shown(costs):
        return pytest.approx(min((cost for cost in costs if cost < limit), default=IN))

    assert least == shown(totals.values())
    if least == IN:
        return
    left, taken = (1 << n) - 1, []
    while left:
        taken.append(int(block[left]))
        left ^= taken[-1]
    assert totals[tuple(sorted(taken))] == pytest.approx(least)
    for one, cost in zip(sets.tolist(), with_block):
        assert cost == shown(t for p, t in totals.items() if one in p)
    _, together, apart = best_partition(n, lambda b: cost_of[bits(b)], lambda b: bits(b) in cost_of)
    for a in range(n):
        for b in range(a + 1, n):
            assert pairs[a, b] == shown([together.get((a, b), IN)])
            assert not_pairs[a, b] == shown([apart.get((a, b), IN)])


def test_classes_cost_their_size_or_their_penalties():
    sizes, owns, offsets = sum_cells(
        np.array([0, 1, 0]),
        2,
        np.array([2, 3, 4]),
        np.array([[1.0], [2.0], [3.0]]),
        np.array([0.5, 0.25, 0.5]),
    )
    assert (sizes.tolist(), owns.tolist(), offsets.tolist()) == ([6, 3], [[4.0], [2.0]], [1.0, 0.25])
    least, state, lost = class_costs(sizes, np.zeros(0), np.array([9, 3]), 5, 9.0)
    assert (least.tolist(), state.tolist(), lost) == ([36.0, 27.0], [0, LOST], 3)
    least, state, lost = class_costs(sizes, np.array([1.5, 0.5]), np.array([9, 9]), 7, 1.0)
    assert (least.tolist(), state.tolist(), lost) == ([1.5, 0.5], [1, 1], 0)
