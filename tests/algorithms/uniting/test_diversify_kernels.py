from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.algorithms.uniting.kernels import diversify as kernels
from kohort.algorithms.uniting.kernels.diversify import (
    Climbs,
    Summaries,
    added_costs,
    cheapest_partners,
    fill_buckets,
    first_leaves,
    merged_cells,
    raise_costs,
    range_costs,
)
from kohort.kernels.grouping import ranges_by_group
from strategies import cases


@st.composite
def summaries(draw, n_groups=80):
    """Groups of records of a random problem, more than fit in a bucket; they may overlap, as unions do."""
    case = draw(cases(("integer", "boolean", "plain"), max_records=30))
    case.privacy = case.privacy[:1]
    problem = case.anonymize(algorithm="mondrian", time_limit=1e-9).problem
    tables = problem.coded.closure_tables
    rng = np.random.default_rng(draw(st.integers(0, 9)))
    sizes = rng.integers(1, 4, n_groups)
    records = rng.integers(0, problem.n_records, sizes.sum())
    group = np.repeat(np.arange(n_groups), sizes)
    ranges = [ranges_by_group(a.leaves[records], group, n_groups) for a in problem.attributes]
    lo, hi = (np.column_stack(ends) for ends in zip(*ranges))
    return Climbs(tables, *first_leaves(tables)), Summaries(lo, hi, sizes, range_costs(tables, lo, hi))


def added_by_definition(climbs, groups, a, b):
    """Eq. 9."""
    union = np.minimum(groups.lo[[a]], groups.lo[[b]]), np.maximum(groups.hi[[a]], groups.hi[[b]])
    apart = groups.size[a] * groups.cost[a] + groups.size[b] * groups.cost[b]
    return (groups.size[a] + groups.size[b]) * range_costs(climbs.tables, *union)[0] - apart


def all_others(groups, head):
    left = np.flatnonzero(groups.size)
    return left[left != head]


@given(summaries())
def test_a_partner_adds_what_the_union_costs_more(drawn):
    climbs, groups = drawn
    heads = np.array([0, 7])
    partners = np.array([all_others(groups, head) for head in heads])
    expected = [[added_by_definition(climbs, groups, h, p) for p in row] for h, row in zip(heads, partners)]
    assert added_costs(climbs, groups, heads, partners) == pytest.approx(np.array(expected), abs=1e-12)


@given(summaries(), st.integers(1, 20), st.integers(0, 30))
def test_the_cheapest_partners_are_found_also_when_groups_have_become_one(drawn, n, n_unions):
    climbs, groups = drawn
    buckets = fill_buckets(climbs.tables, groups, np.arange(len(groups.size)))
    assert len(buckets.start) - 1 > 1
    assert sorted(buckets.group.tolist()) == list(range(len(groups.size)))
    for union in range(n_unions):
        unite(climbs, groups, buckets, union, len(groups.size) - 1 - union)
    heads = np.flatnonzero(groups.size)[:5]
    partners, added = cheapest_partners(climbs, groups, buckets, heads, n)
    for head, found, costs in zip(heads, partners, added):
        assert len(set(found.tolist())) == n
        assert set(found.tolist()) <= set(all_others(groups, head).tolist())
        everyone = added_costs(climbs, groups, np.array([head]), all_others(groups, head)[None])[0]
        assert np.sort(costs) == pytest.approx(np.sort(everyone)[:n], abs=1e-9)


def unite(climbs, groups, buckets, a, b):
    groups.lo[a], groups.hi[a] = (
        np.minimum(groups.lo[a], groups.lo[b]),
        np.maximum(groups.hi[a], groups.hi[b]),
    )
    groups.size[a] += groups.size[b]
    groups.size[b] = 0
    groups.cost[[a]] = range_costs(climbs.tables, groups.lo[[a]], groups.hi[[a]])
    raise_costs(buckets, groups, np.array([a]))


@given(summaries(n_groups=200))
def test_buckets_hold_about_equally_many(drawn):
    climbs, groups = drawn
    members = np.arange(3, 200)
    buckets = fill_buckets(climbs.tables, groups, members)
    sizes = np.diff(buckets.start)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.max() <= kernels.BUCKET + 1
    for bucket, (start, end) in enumerate(zip(buckets.start, buckets.start[1:])):
        inside = buckets.group[start:end]
        assert (buckets.of[inside] == bucket).all()
        assert (buckets.inner.lo[bucket] == groups.lo[inside].max(axis=0)).all()
        assert (buckets.inner.hi[bucket] == groups.hi[inside].min(axis=0)).all()


group_values = st.lists(
    st.dictionaries(st.integers(0, 5), st.integers(1, 4), min_size=1), min_size=1, max_size=6
)


@given(group_values, st.data())
def test_cells_of_unions_are_sums(groups, data):
    pairs = data.draw(st.lists(st.tuples(*[st.integers(0, len(groups) - 1)] * 2), min_size=1))
    cells = [sorted(group.items()) for group in groups]
    end = np.cumsum([len(group) for group in cells])
    value, count = np.array([cell for group in cells for cell in group]).T
    a, b = np.array(pairs).T
    first, values, counts = merged_cells(end - [len(g) for g in cells], end, value.copy(), count.copy(), a, b)
    for i, (p, q) in enumerate(pairs):
        union = dict(zip(values[first[i] : first[i + 1]].tolist(), counts[first[i] : first[i + 1]].tolist()))
        assert union == Counter(groups[p]) + Counter(groups[q])
        assert list(union) == sorted(union)
