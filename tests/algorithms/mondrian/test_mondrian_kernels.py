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
from kohort.algorithms.kernels.generalization import part_cost
from kohort.algorithms.mondrian.kernels.best_cuts import find_cuts
from kohort.algorithms.mondrian.kernels.cut_parts import deal_out, part_records
from kohort.algorithms.mondrian.kernels.group_summaries import Sample, summaries
from kohort.algorithms.mondrian.kernels.node_children import dense, pool_children
from kohort.algorithms.mondrian.kernels.people import new_marks
from kohort.kernels.grouping import ranges_by_group
from strategies import cases

NOBODY = np.zeros(0, dtype=np.int32)  # every record is that of another person
ALIKE = np.zeros(0)  # every record counts the same in the cost
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


def found_cuts(problem, order, starts, ends, *, strict, widest=False, masses=ALIKE):
    rows = problem.coded.searched_leaves()[order]
    cuts = find_cuts(rows, NOBODY, masses, starts, ends, problem.coded.tables, problem.k, strict, widest, 16)
    return [[tuple(cut) for cut in of_group if cut[0] >= 0] for of_group in cuts.tolist()]


@given(groups())
def test_a_record_of_a_group_costs_what_the_closure_of_the_group_costs(drawn):
    case, problem, order, starts, ends = drawn
    attributes, tables = plain_attributes(case, problem), problem.coded.tables
    for start, end in zip(starts, ends):
        group = order[start:end]
        rows = problem.coded.searched_leaves()[group]
        _, lo, hi, words = summaries(
            Sample(rows, 0, 1, len(group), 1, False, NOBODY, new_marks(0), ALIKE),
            np.zeros(len(group), dtype=np.int64),
            1,
            tables,
        )
        cost = part_cost(tables, lo[0], hi[0], words[0])
        assert cost == pytest.approx(record_cost(attributes, group.tolist()), abs=1e-9)


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
    found = found_cuts(problem, order, starts, ends, strict=strict, masses=masses[order])
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
    rows, tables = problem.coded.searched_leaves()[order], problem.coded.tables
    cuts = find_cuts(rows, NOBODY, ALIKE, starts, ends, tables, problem.k, strict, widest, 1)[:, 0]
    parts, n_parts = part_records(rows, NOBODY, starts, ends, cuts, tables, problem.k, strict)
    place = 0
    for number, (way, j, where, extra) in enumerate(cuts.tolist()):
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
    rows, records = problem.coded.searched_leaves()[order], order.copy()
    n_parts = [random.randint(1, 3) for _ in starts]
    parts = np.array(
        [random.randrange(n) for n, size in zip(n_parts, (ends - starts).tolist()) for _ in range(size)],
        dtype=np.int32,
    )
    deal_out(rows, records, starts, ends, parts, np.array(n_parts))
    expected = [
        record
        for start, end in zip(starts, ends)
        for _, record in sorted(zip(parts[start:end], order[start:end]), key=lambda pair: pair[0])
    ]
    assert records.tolist() == expected
    assert (rows == problem.coded.searched_leaves()[expected]).all()


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
    rows, tables = problem.coded.searched_leaves(), problem.coded.tables
    starts, ends = np.array([0]), np.array([len(rows)])
    cut = find_cuts(rows, NOBODY, ALIKE, starts, ends, tables, 5, strict, False, 4)[0]
    assert (cut[0].way, cut[0].attribute) == (BY_VALUE, 0)
    parts, _ = part_records(rows, NOBODY, starts, ends, np.ascontiguousarray(cut[:1]), tables, 5, strict)
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


def test_small_children_are_pooled_with_records_that_others_can_spare():
    apart, donor, borrowed = pool_children(np.array([9, 1, 4]), 3, False)
    assert apart.tolist() == [True, False, True] and (donor, borrowed) == (0, 2)
    apart, donor, borrowed = pool_children(np.array([9, 1, 4]), 3, True)  # whole children, the smallest first
    assert apart.tolist() == [True, False, False] and (donor, borrowed) == (-1, 0)


@pytest.mark.parametrize("n_places", [10, 10_000])
def test_places_that_occur_are_numbered_in_rising_order(n_places):
    number, count = dense(np.array([7, 2, 7, 9]), n_places)
    assert number.tolist() == [1, 0, 1, 2] and count == 3
