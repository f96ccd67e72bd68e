from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from by_definition.costs import cell_cost
from by_definition.domains import IntervalDomain, SetDomain, TreeDomain, domain_of
from by_definition.mondrian import (
    BY_CHILD,
    BY_FREQUENCY,
    BY_VALUE,
    CutAttribute,
    child_cut_score,
    child_parts,
    record_cost,
    value_cuts,
)
from cutting_steps import deal_out, find_cuts, part_records, table_in_order
from kohort.algorithms.mondrian.cutting import new_workspace
from kohort.algorithms.mondrian.kernels.bins import child_bins, cost_of, summarize
from kohort.algorithms.mondrian.kernels.cut_table import Sample, Summary
from kohort.kernels.grouping import ranges_by_group
from strategies import cases

KINDS = {TreeDomain: "tree", IntervalDomain: "interval", SetDomain: "set"}
KIND_PLAIN = ("integer", "float", "date", "boolean", "plain")


def plain_attributes(case, problem):
    rows, weights = problem.coded.searched_leaves(), problem.weights
    found = []
    for j, attribute in enumerate(problem.attributes):
        domain = domain_of(attribute.column, paths=case.paths.get(attribute.name), tight=attribute.tight)
        leaves = rows[:, j].tolist()
        counts = {leaf: leaves.count(leaf) for leaf in leaves}
        by_frequency = sorted(counts, key=lambda leaf: (-counts[leaf], leaf))
        found.append(
            CutAttribute(
                leaves=leaves,
                texts=[attribute.column.texts[code] for code in attribute.column.codes],
                cost_of=_cost_of(domain, weights[j], problem.cost.name),
                kind=KINDS[type(domain)],
                domain=domain,
                rank=[by_frequency.index(leaf) for leaf in leaves],
            )
        )
    return found


def _cost_of(domain, weight, cost):
    return lambda texts: weight * cell_cost(cost, domain.closure(texts), len(domain.leaves))


@st.composite
def groups(draw):
    """A case, its problem, and its records dealt to one to three groups in any order."""
    case = draw(cases(KIND_PLAIN, max_records=16))
    problem = case.anonymize(time_limit=1e-9).problem
    order = np.array(draw(st.permutations(range(problem.n_records))), dtype=np.int32)
    inner = draw(st.lists(st.integers(1, max(problem.n_records - 1, 1)), max_size=2, unique=True))
    bounds = sorted({0, *(b for b in inner if b < problem.n_records), problem.n_records})
    return case, problem, order, np.array(bounds[:-1]), np.array(bounds[1:])


def found_cuts(problem, order, starts, ends, **options):
    cuts = find_cuts(table_in_order(problem, order, **options), starts, ends, 16)
    return [[tuple(cut) for cut in of_group if cut[0] >= 0] for of_group in cuts.tolist()]


@given(groups())
def test_a_record_of_a_group_costs_what_the_closure_of_the_group_costs(drawn):
    case, problem, order, starts, ends = drawn
    attributes, table = plain_attributes(case, problem), table_in_order(problem, order)
    bins = new_workspace(table, problem.n_records, 1).bins
    for start, end in zip(starts.tolist(), ends.tolist()):
        bins.of[:] = 0
        summarize(table.records, table.tables, bins, Sample(start, 1, end - start, 1), 1)
        cost = cost_of(Summary(bins.lo[0], bins.hi[0], bins.words[0]), table.tables)
        assert cost == pytest.approx(record_cost(attributes, order[start:end].tolist()), abs=1e-9)


@given(groups(), st.booleans())
def test_cuts_between_and_inside_values_have_the_cost_that_their_parts_have_by_definition(drawn, strict):
    case, problem, order, starts, ends = drawn
    attributes = plain_attributes(case, problem)
    for number, cuts in enumerate(found_cuts(problem, order, starts, ends, strict=strict)):
        group = order[starts[number] : ends[number]].tolist()
        for j, attribute in enumerate(attributes):
            for way in (BY_VALUE, BY_FREQUENCY):
                offered = [cut for cut in cuts if cut[:2] == (way, j)]
                if attribute.kind == "tree" or (way == BY_FREQUENCY and attribute.kind != "set"):
                    assert not offered
                    continue
                allowed = {cut[:4]: cut for cut in value_cuts(attributes, group, j, way, case.k, strict)}
                assert set(offered) <= set(allowed)
                if not allowed or len({attribute.leaves[record] for record in group}) == 1:
                    assert not offered
                    continue
                scores = [allowed[cut].score for cut in offered]
                unevenness = [allowed[cut].unevenness for cut in offered]
                assert min(scores) == pytest.approx(min(c.score for c in allowed.values()), abs=1e-9)
                assert min(unevenness) == min(c.unevenness for c in allowed.values())


@given(groups(), st.booleans(), st.data())
def test_cuts_between_values_cost_what_the_weights_of_their_records_say(drawn, strict, data):
    case, problem, order, starts, ends = drawn
    attributes, n = plain_attributes(case, problem), problem.n_records
    masses = np.array(data.draw(st.lists(st.floats(0.1, 9), min_size=n, max_size=n)))
    found = found_cuts(problem, order, starts, ends, strict=strict, masses=masses)
    for number, cuts in enumerate(found):
        group = order[starts[number] : ends[number]].tolist()
        for j, attribute in enumerate(attributes):
            offered = [cut for cut in cuts if cut[:2] == (BY_VALUE, j)]
            if attribute.kind == "tree" or not offered:
                continue
            allowed = value_cuts(attributes, group, j, BY_VALUE, case.k, strict, masses)
            scores = [cut.score for cut in allowed if cut[:4] in offered]
            assert min(scores) == pytest.approx(min(cut.score for cut in allowed), abs=1e-9)


@given(groups(), st.booleans())
def test_cuts_into_children_score_what_they_save_per_bit(drawn, strict):
    case, problem, order, starts, ends = drawn
    attributes = plain_attributes(case, problem)
    for number, cuts in enumerate(found_cuts(problem, order, starts, ends, strict=strict)):
        group = order[starts[number] : ends[number]].tolist()
        ranked = []
        for way, j, where, extra in cuts:
            if way == BY_CHILD:
                assert extra == 0
                ranked.append(child_cut_score(attributes, group, j, case.k, strict))
            else:
                allowed = value_cuts(attributes, group, j, way, case.k, strict)
                ranked += [cut.score for cut in allowed if cut[:4] == (way, j, where, extra)]
        assert None not in ranked
        assert all(a <= b + 1e-9 for a, b in pairwise(ranked))  # the best first
        trees = {j for j, a in enumerate(attributes) if a.kind == "tree"}
        cuttable = {
            j
            for j in trees
            if len({attributes[j].leaves[record] for record in group}) > 1
            and child_parts(attributes[j], group, case.k, strict) is not None
        }
        assert {cut[1] for cut in cuts if cut[0] == BY_CHILD} == cuttable


@given(groups(), st.booleans(), st.booleans())
def test_records_go_to_the_parts_that_the_cut_says(drawn, strict, widest):
    case, problem, order, starts, ends = drawn
    attributes = plain_attributes(case, problem)
    table = table_in_order(problem, order, strict=strict, widest=widest)
    cuts = find_cuts(table, starts, ends, 1)
    parts, n_parts = part_records(table, starts, ends, cuts)
    place = 0
    for number, (way, j, where, extra) in enumerate(cuts[:, 0].tolist()):
        group = order[starts[number] : ends[number]].tolist()
        part = parts[place : place + len(group)].tolist()
        place += len(group)
        if way < 0:
            assert (set(part), n_parts[number]) == ({0}, 1)
        elif way == BY_CHILD:
            pool, apart, lender = child_parts(attributes[j], group, case.k, strict)
            lent = lender[: case.k - len(pool)] if lender else []
            expected = [set(pool) | set(lent), *(set(records) - set(lent) for records in apart)]
            got = [{r for r, p in zip(group, part) if p == number} for number in range(len(expected))]
            assert got == expected
            assert n_parts[number] == len(expected)
        else:
            values = attributes[j].rank if way == BY_FREQUENCY else attributes[j].leaves
            ties = [record for record in group if values[record] == where][:extra]
            left = {record for record in group if values[record] < where} | set(ties)
            assert part == [0 if record in left else 1 for record in group]
            assert n_parts[number] == 2


@given(groups(), st.booleans())
def test_the_widest_attribute_comes_first_and_is_cut_most_evenly(drawn, strict):
    case, problem, order, starts, ends = drawn
    attributes = plain_attributes(case, problem)
    for number, cuts in enumerate(found_cuts(problem, order, starts, ends, strict=strict, widest=True)):
        group = order[starts[number] : ends[number]].tolist()
        ranges = [attributes[j].cost_of([attributes[j].texts[r] for r in group]) for _, j, *_ in cuts]
        assert all(a >= b - 1e-9 for a, b in pairwise(ranges))
        for way, j, where, extra in cuts:
            if way != BY_CHILD:
                allowed = value_cuts(attributes, group, j, way, case.k, strict)
                chosen = next(cut for cut in allowed if cut[:4] == (way, j, where, extra))
                assert chosen.unevenness == min(cut.unevenness for cut in allowed)


@given(groups(), st.randoms(use_true_random=False))
def test_dealing_out_sorts_by_part_and_keeps_the_order_inside(drawn, random):
    _, problem, order, starts, ends = drawn
    table = table_in_order(problem, order)
    n_parts = [random.randint(1, 3) for _ in starts]
    parts = np.array(
        [random.randrange(n) for n, size in zip(n_parts, (ends - starts).tolist()) for _ in range(size)],
        dtype=np.int32,
    )
    deal_out(table, starts, ends, parts, np.array(n_parts))
    expected = [
        record
        for start, end in zip(starts, ends)
        for _, record in sorted(zip(parts[start:end], order[start:end]), key=lambda pair: pair[0])
    ]
    assert table.records.number.tolist() == expected
    assert (table.records.rows == table_in_order(problem, expected).records.rows).all()


@given(st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), min_size=1))
def test_ranges_by_group_are_least_and_greatest_of_those_that_are_in_it(pairs):
    group, value = (np.array(part, dtype=np.int32) for part in zip(*pairs))
    lo, hi = ranges_by_group(value, group, 4)
    for number in range(4):
        inside = [v for g, v in pairs if g == number]
        if inside:
            assert (lo[number], hi[number]) == (min(inside), max(inside))


@pytest.mark.parametrize("strict", [False, True])
def test_a_domain_of_more_values_than_bins_is_cut_at_the_ends_of_bins(strict):
    """With 200 values there are 64 bins of about equal counts; every cut lies between two of them."""
    rng = np.random.default_rng(3)
    ages = rng.integers(0, 200, 600)
    problem = _problem_of({"age": ages.tolist()}, k=5)
    table, rows = table_in_order(problem, np.arange(600), strict=strict), problem.coded.searched_leaves()
    starts, ends = np.array([0]), np.array([len(rows)])
    cuts = find_cuts(table, starts, ends, 4)
    assert (cuts[0, 0].way, cuts[0, 0].attribute) == (BY_VALUE, 0)
    parts, _ = part_records(table, starts, ends, cuts)
    left, right = rows[parts == 0, 0], rows[parts == 1, 0]
    assert left.max() < right.min()
    width = rows.max() + 1
    cost = (np.ptp(left) * len(left) + np.ptp(right) * len(right)) / (width - 1)
    best = min(
        (v * n + (rows.max() - v - 1) * (600 - n)) / (width - 1)
        for v, n in ((v, int((rows[:, 0] <= v).sum())) for v in range(width - 1))
        if 5 <= n <= 595
    )
    assert cost <= best * 1.05  # bins hold three or four values each: not far from the best cut of all


def _problem_of(columns, k):
    release = ko.anonymize(
        pa.table(columns), quasi_identifiers=list(columns), privacy=[ko.KAnonymity(k)], time_limit=1e-9
    )
    return release.problem


@pytest.mark.parametrize(("n_values", "expected"), [(10, [7, 2, 7, 9]), (1_000, [1, 0, 1, 2])])
def test_children_keep_their_places_or_are_numbered_where_few_of_many_occur(n_values, expected):
    texts = [f"v{i:04}" for i in range(n_values)]
    problem = _problem_of({"x": [*(texts[i] for i in (7, 2, 7, 9)), *texts]}, k=2)
    table = table_in_order(problem, np.arange(problem.n_records))
    space, found = new_workspace(table, 4, 1), np.empty(4, dtype=np.int32)
    some = Sample(0, 1, 4, 1)
    n_bins = child_bins(table.records.rows, table.tables, table.children, space.sorting, some, 0, 0, found)
    assert found.tolist() == expected
    assert n_bins == (n_values if n_values == 10 else 3)
