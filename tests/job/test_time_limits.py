"""A time limit is heeded in every phase but reading, verifying and writing; cut searches are said to be."""

import json
import time

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms import Run
from kohort.algorithms.mining.closed_records import MinedRows, mine
from kohort.algorithms.proofs.bound_in_time import NO_TIME_FOR_BOUND, bound_in_time, time_for_bound
from kohort.algorithms.proofs.neighbour_graph import NeighbourGraph, near_pairs, near_rows
from kohort.io.certificate import read_certificate
from kohort.kernels.compile_time import compile_clock
from kohort.problem.encoding.tables import of_present_leaves
from small_problems import problem_of

SLACK = 5.0  # seconds: one, and some more since the machine may be busy


def random_table(n, columns, values, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table({f"c{j}": rng.integers(0, values, n).astype(str).tolist() for j in range(columns)})


def released(table, algorithm, k=5, **options):
    return ko.anonymize(
        table,
        quasi_identifiers=dict.fromkeys(table.column_names, ko.flat()),
        privacy=[ko.KAnonymity(k)],
        algorithm=algorithm,
        **options,
    )


# -- solving ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["top-down-search", "bottom-up"])
def test_sets_of_many_values_do_not_outlast_the_limit(algorithm):
    table = random_table(200, 2, 23)
    released(table, algorithm, scheme="sps", time_limit=0.05)  # compiles
    begun = time.process_time()
    release = released(table, algorithm, scheme="sps", time_limit=0.05)
    assert time.process_time() - begun < 0.05 + SLACK
    assert release.cut_by_time


@pytest.mark.parametrize(
    ("algorithm", "k", "unfinished"),
    [
        ("forest", 5, "proofs.neighbour_graph.near_rows"),
        ("two-anonymity", 2, "proofs.neighbour_graph.near_rows"),
        ("two-anonymity", 2, "graph.edge_cover.near_pairs"),
        ("three-anonymity", 3, "graph.two_factor.near_rows"),
        ("k-anon-cf", 5, "closed_records.k_anon_cf.disjoint_cover"),
        ("k-anon", 2, "closed_records.k_anon.greedy_cover"),
    ],
)
def test_who_has_no_groups_in_time_gives_those_of_mondrian(monkeypatch, algorithm, k, unfinished):
    monkeypatch.setattr(f"kohort.algorithms.{unfinished}", lambda *a, **b: None)  # as out of time
    table = random_table(30 if algorithm == "k-anon" else 200, 3, 6)
    release = released(table, algorithm, k)
    assert release.guarantee is None
    assert any("mondrian made the groups" in note for note in release.notes)
    assert release.table.equals(released(table, "mondrian", k).table)


def test_looking_for_nearest_records_ends_with_the_time():
    table = random_table(12_000, 30, 12)
    problem = problem_of(table.to_pydict(), dict.fromkeys(table.column_names, ko.flat()), 5)
    graph = NeighbourGraph.of(problem)
    near_rows(graph.tables, graph.counts[:1], graph.tree, 1, Run())  # compiles
    begun, run = time.process_time(), Run(time_limit=0.05)
    assert graph.nearest(5, run) is None
    assert near_pairs(graph.tables, graph.tree, np.full(len(graph.counts), 0.3), 10**9, run) is None
    assert time.process_time() - begun < 0.05 + SLACK
    assert run.was_cut


def test_mining_ends_with_the_time():
    """One task may have millions of closed records: it is ended from outside."""
    table = random_table(3000, 14, 3)
    problem = problem_of(table.to_pydict(), dict.fromkeys(table.column_names, ko.flat()), 2)
    mine(MinedRows.of(problem), 500, run=Run())  # compiles
    begun, run = time.process_time(), Run(time_limit=0.2)
    assert not mine(MinedRows.of(problem), 2, run=run).complete
    assert time.process_time() - begun < 0.2 + SLACK
    assert run.was_cut


# -- the bound -------------------------------------------------------------------------------------


def test_the_bound_takes_no_longer_than_the_solution():
    table = random_table(12_000, 30, 12)
    released(table.slice(0, 60), "hilbert")  # compiles
    release = released(table, "hilbert", time_limit=2)
    assert release.seconds["bound"] < max(release.seconds["solve"], 0.5) + SLACK
    assert not release.claims
    assert NO_TIME_FOR_BOUND in release.notes
    assert not release.cut_by_time  # the release does not depend on its bound


def test_solution_and_bound_share_the_limit():
    columns = random_table(12_000, 30, 12).to_pydict()
    problem = problem_of(columns, dict.fromkeys(columns), 5)
    with compile_clock() as compiling:
        started = time.monotonic()
        run = Run(time_limit=time_for_bound(30.0, 30), excluded=lambda: compiling.seconds)
        bound, notes = bound_in_time(problem, run)
        seconds = time.monotonic() - started - compiling.seconds
    assert seconds < 0.5 + SLACK
    assert (bound, notes) == (None, (NO_TIME_FOR_BOUND,))


def test_small_tables_have_their_bound_whatever_the_clock_says():
    problem = problem_of({"a": list("abcdeabcde")}, {"a": ko.flat()}, 2)
    bound, notes = bound_in_time(problem, Run(time_limit=1e-9))
    assert bound is not None
    assert notes == ()


def test_leaves_that_no_record_has_cost_the_bound_no_time():
    paths = [(str(i), f"{i // 100} hundred", f"{i // 10_000} many", "*") for i in range(50_000)]
    values = [str(i) for i in np.random.default_rng(3).integers(0, 50_000, 600)]
    problem = problem_of({"a": values}, {"a": ko.Hierarchy.from_paths(paths)}, 3)
    graph = NeighbourGraph.of(problem)
    assert len(graph.tables.leaf_cost) == len(set(values))
    one, other = np.arange(len(graph.counts) - 1), np.arange(1, len(graph.counts))
    tree, rows = problem.attributes[0].domain, problem.rows.leaves
    pairs = np.sort(np.column_stack([rows[one], rows[other]]), axis=1)
    lo, hi = tree.closure(pairs[:, 0], pairs[:, 1])
    expected = problem.cost.cell(problem.attributes[0].generalized(lo, hi))
    assert graph.distances(one, other) == pytest.approx(expected)


def test_intervals_count_values_that_no_row_has():
    problem = problem_of({"a": [1, 2, 9, 9], "b": list("xyxy")}, {"a": None, "b": ko.flat()}, 2)

    tables, leaves = problem.coded.tables, problem.coded.searched_leaves()[[0, 2]]
    fewer, renumbered = of_present_leaves(tables, leaves)
    assert renumbered[:, 0].tolist() == leaves[:, 0].tolist()
    assert renumbered[:, 1].tolist() == [0, 0]
    assert len(fewer.leaf_cost) == len(tables.leaf_cost) - 1


# -- whether the same comes again ------------------------------------------------------------------


def test_a_cut_is_said_in_facts_notes_and_certificate(tmp_path):
    release = released(random_table(300, 3, 8), "mondrian", time_limit=1e-9)
    assert release.cut_by_time
    assert release.facts()["cut_by_time"] is True
    assert any("may give another release" in note for note in release.notes)
    release.certificate(tmp_path / "c.json", version="internal")
    assert read_certificate(tmp_path / "c.json").cut_by_time is True


def test_the_own_limit_of_improve_is_said_to_cut(monkeypatch):
    monkeypatch.setattr("kohort.algorithms.improve.improve.SECONDS", 1e-9)
    release = released(random_table(300, 3, 8), "improve")
    assert release.cut_by_time
    assert any("own time limit" in note for note in release.notes)


OF_EITHER = ("improve", "mondrian", "sequential", "agglomerative")


@pytest.mark.parametrize(
    ("algorithm", "labels"),
    [
        *((name, labels) for name in OF_EITHER for labels in ("hierarchy", "tight")),
        ("k-anon-cf", "hierarchy"),
        ("optimal-recoding", "hierarchy"),
    ],
)
@pytest.mark.parametrize("time_limit", [None, 3600])
def test_without_a_cut_the_same_input_and_seed_give_the_same_release(algorithm, labels, time_limit):
    table = random_table(120, 3, 5)
    releases = [released(table, algorithm, labels=labels, seed=7, time_limit=time_limit) for _ in range(2)]
    assert not any(release.cut_by_time for release in releases)
    assert releases[0].facts()["cut_by_time"] is False
    assert releases[0].table.equals(releases[1].table)
    assert not any("may give another release" in note for note in releases[0].notes)


def test_certificates_of_before_can_still_be_read(tmp_path):
    release = released(random_table(60, 2, 4), "mondrian")
    facts = release.facts()
    del facts["cut_by_time"]
    (tmp_path / "c.json").write_text(json.dumps(facts))
    assert read_certificate(tmp_path / "c.json").cut_by_time is None


def test_a_cut_anywhere_in_a_run_is_known_everywhere():
    run = Run(time_limit=60)
    part = run.in_silence().at_most(1e-9)
    time.sleep(1e-3)
    assert not run.was_cut
    assert part.out_of_time
    assert run.was_cut
    assert not run.out_of_time
    assert Run().limit is None
    assert run.at_most(5).share_of_time(1.0).limit <= 5
    assert run.at_most(100).limit == 60
