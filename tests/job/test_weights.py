"""The role weight: what is refused, what is published, and what is measured with it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.errors import InputError, UnsupportedError
from kohort.job.verify import verify_release
from kohort.problem.units import Weights
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable
from kohort.utility.measure import association
from kohort.utility.queries import answers, workload

AGES = [1, 1, 2, 2, 8, 9, 9, 9]
WEIGHTS = [1.0, 1.0, 1.0, 1.0, 10.0, 10.0, 10.0, 10.0]


def released(weights=WEIGHTS, **options):
    table = pa.table({"age": AGES, "weight": weights, "patient": list("aabbccdd")})
    given = {
        "quasi_identifiers": {"age": ko.intervals(2, 4, 8)},
        "weight": "weight",
        "identifiers": ["patient"],
        "privacy": ko.KAnonymity(2),
        "algorithm": "mondrian",
        "shuffle": False,
    }
    return ko.anonymize(table, **(given | options))


def test_weights_are_dropped_unless_they_are_kept():
    assert released().arrow.column_names == ["age"]
    kept = released(weight={"weight": "keep"})
    assert kept.arrow["weight"].to_pylist() == WEIGHTS


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([1, None, -1, 0, 1, 1, 1, 1], "in 3 records it is no positive, finite number"),
        ([float("inf"), *[1.0] * 7], "in 1 record it is no positive"),
        (["a", *"1234567"], "not all of its values are numbers"),
        ([True] * 8, "not all of its values are numbers"),
    ],
)
def test_wrong_weights_are_refused_with_their_count(weights, words):
    with pytest.raises(InputError, match=words):
        released(weights)


def test_costs_are_weighted_by_their_definition():
    """Weights of whole numbers are copies of records."""
    release = released()
    copies = np.repeat(np.arange(8), np.array(WEIGHTS, dtype=int))
    shown = release.arrow["age"].to_pylist()
    spec = {"attributes": {"age": {"role": "quasi-identifier", "hierarchy": {"intervals": [2, 4, 8]}}}}
    request = parse_spec(spec | {"privacy": {"k": 2}, "shuffle": False})

    def loss_of(records):
        table = pa.table({"age": [AGES[i] for i in records]})
        published = pa.table({"age": [shown[i] for i in records]})
        return verify_release(MemoryTable(published), request, original=MemoryTable(table)).loss

    assert release.loss["loss"] == pytest.approx(loss_of(copies)["loss"])
    assert release.unweighted_loss["loss"] == pytest.approx(loss_of(range(8))["loss"])
    assert release.loss["suppressions"] == loss_of(range(8))["suppressions"]  # a sum over records stays one
    assert "suppressions" not in release.unweighted_loss


TREES = {"age": ko.intervals(2, 4), "sex": ko.flat()}


@st.composite
def weighted_tables(draw, least=4, most=7):
    n = draw(st.integers(least, most))

    def column(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    weights = column(st.floats(0.5, 20))
    return pa.table(
        {"age": column(st.integers(0, 7)), "sex": column(st.sampled_from("fm")), "weight": weights}
    )


def weighted_loss(problem, groups, weights):
    """The weighted mean over records of the mean over attributes of the share of other leaves covered."""
    total = 0.0
    for records in groups:
        width = 0.0
        for attribute in problem.attributes:
            leaves = attribute.leaves[records]
            lo, hi = attribute.domain.closure(np.array([leaves.min()]), np.array([leaves.max()]))
            width += (hi[0] - lo[0]) / max(attribute.n_leaves - 1, 1) / len(problem.attributes)
        total += width * sum(weights[record] for record in records)
    return total / sum(weights)


def partitions(records, k):
    """Every way to part records into groups of k or more."""
    if not records:
        yield []
    first, *rest = records or [None]
    for size in range(k - 1, len(rest) + 1) if records else ():
        for others in combinations(rest, size):
            left = [record for record in rest if record not in others]
            yield from ([[first, *others], *parts] for parts in partitions(left, k))


@pytest.mark.parametrize("algorithm", ["mondrian", "improve", "forest", "optimal"])
@given(table=weighted_tables())
def test_no_bound_is_above_the_least_weighted_loss(algorithm, table):
    asked = {"quasi_identifiers": TREES, "weight": "weight", "k": 2, "algorithm": algorithm}
    release = ko.anonymize(table, **asked, time_limit=0.2)
    weights = table["weight"].to_pylist()
    ways = partitions(list(range(len(table))), 2)
    least = min(weighted_loss(release.problem, groups, weights) for groups in ways)
    assert release.cost >= least - 1e-9
    assert all(b is None or b <= least + 1e-9 for b in (release.bound, release.solver_bound))
    assert release.guarantee is None
    searched = [note for note in release.notes if "as if all records had the same weight" in note]
    assert len(searched) == (algorithm != "mondrian")


@given(table=weighted_tables(), suppression=st.sampled_from([0.0, 0.3]))
def test_full_domain_finds_the_least_weighted_loss_of_all_levels(table, suppression):
    asked = {"quasi_identifiers": TREES, "k": 2, "algorithm": "full-domain", "suppression": suppression}
    release = ko.anonymize(table, weight="weight", suppressed="drop", **asked)
    weights, most = np.array(table["weight"].to_pylist()), int(suppression * len(table))
    star = np.mean([attribute.n_leaves > 1 for attribute in release.problem.attributes])
    costs = []
    for levels in product(range(4), range(2)):
        labels, lost = zip(*(_at_level(a, level) for a, level in zip(release.problem.attributes, levels)))
        seen = list(zip(*labels))
        withheld = np.array([seen.count(label) < 2 or set(label) == {"*"} for label in seen])
        rare = np.array([seen.count(label) < 2 for label in seen])
        withheld = withheld if withheld.sum() <= most else rare
        if withheld.sum() <= most:
            costs.append(np.average(np.where(withheld, star, np.mean(lost, axis=0)), weights=weights))
    assert release.cost == pytest.approx(min(costs))
    assert release.facts()["scheme"]["bound"] <= min(costs) + 1e-9


def _at_level(attribute, level):
    """The label of every record at a level, and the share of other leaves that it covers."""
    tree, labels, lost = attribute.domain, [], []
    for leaf in attribute.leaves:
        node = int(tree.leaf_node[leaf])
        for _ in range(level):
            node = max(int(tree.parent[node]), 0)
        labels.append(tree.published[node])
        lost.append((tree.hi[node] - tree.lo[node]) / max(len(tree.leaves) - 1, 1))
    return labels, lost


def test_the_search_weighs_records_and_is_never_worse_for_it():
    costs = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        columns = {"age": rng.integers(0, 60, 300), "town": rng.choice(list("abcdef"), 300)}
        table = pa.table(columns | {"weight": rng.lognormal(0, 1, 300)})
        asked = {"quasi_identifiers": ["age", "town"], "k": 10, "algorithm": "mondrian", "shuffle": False}
        weighted = ko.anonymize(table, weight="weight", **asked)
        plain = MemoryTable(ko.anonymize(pa.table(columns), **asked).table)
        found = verify_release(plain, weighted.request, original=MemoryTable(table))
        costs.append((weighted.cost, found.loss["loss"]))
        assert weighted.cost <= found.loss["loss"] + 1e-12
    with_weights, without = map(sum, zip(*costs))
    assert with_weights < 0.998 * without
    assert ko.anonymize(table, weight="weight", **asked | {"algorithm": "auto"}).algorithm == "mondrian"


@pytest.mark.parametrize("algorithm", ["optimal-recoding", "bottom-up", "top-down-search"])
def test_searches_that_prove_their_result_refuse_weights_by_name(algorithm):
    with pytest.raises(UnsupportedError, match=f"{algorithm} proves .* mondrian, full-domain, incognito"):
        released(algorithm=algorithm)


def test_a_cost_that_is_a_sum_is_minimised_without_weights():
    release = released(cost="discernibility", algorithm="full-domain")
    plain = released(cost="discernibility", algorithm="full-domain", weight=None, others="drop")
    assert release.arrow.equals(plain.arrow) and release.claims == plain.claims


def test_linked_records_weigh_as_much_as_they_say():
    table = pa.table(
        {
            "patient": [f"p{i // 2}" for i in range(24)],
            "age": [20 + (7 * i) % 13 for i in range(24)],
            "weight": [1.0 + i % 5 for i in range(24)],
        }
    )
    release = ko.anonymize(
        table, quasi_identifiers=["age"], person={"patient": "pseudonym"}, weight="weight", k=3
    )
    assert release.verdict.holds and release.solver_bound is not None
    assert release.solver_bound <= release.cost


def test_utility_counts_by_weights():
    """Weights of whole numbers are copies of records."""
    release = released(WEIGHTS, sensitive=["patient"], identifiers=[])
    sides = release.sides
    columns = [*(attribute.column for attribute in sides.attributes), *sides.sensitive]
    asked = workload(columns, 1, 30, np.random.default_rng(1))
    true, estimated = answers(sides, asked, np.arange(8))
    one_by_one = [
        answers(replace(sides, weights=Weights(np.eye(8)[i])), asked, np.arange(8)) for i in range(8)
    ]
    for found, place in ((true, 0), (estimated, 1)):
        assert found == pytest.approx(sum(w * one[place] for w, one in zip(WEIGHTS, one_by_one)))
    assert not np.allclose(true, answers(replace(sides, weights=Weights()), asked, np.arange(8))[0])
    uneven = replace(sides, weights=Weights(np.arange(1.0, 9.0)))
    assert association(uneven, seed=0)["mean_before"] != association(sides, seed=0)["mean_before"]
    even, alike = (replace(sides, weights=weights) for weights in (Weights(np.full(8, 3.0)), Weights()))
    strengths = [association(side, seed=0)["mean_before"] for side in (even, alike)]
    assert strengths[0] == pytest.approx(strengths[1])


def test_k_never_counts_weights():
    release = released(weights=[100.0] * 8, privacy=ko.KAnonymity(8))
    assert release.verdict.classes == 1


def test_the_population_is_estimated_by_weights():
    shown = released()
    sums = {}
    for label, weight in zip(shown.arrow["age"].to_pylist(), WEIGHTS):
        sums[label] = sums.get(label, 0) + weight
    assert shown.risk()["sampling_weights"]["after"] == min(sums.values())
    assert released(weight=None, others="drop").risk()["sampling_weights"] is None


def test_a_person_counts_once_in_the_population():
    release = released(person="patient", identifiers=[], privacy=ko.KAnonymity(4))
    assert release.risk()["sampling_weights"]["after"] == 1 + 1 + 10 + 10
