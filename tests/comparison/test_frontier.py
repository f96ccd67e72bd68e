"""The frontier: what is swept, where the knee is, and what is said about it."""

import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from comparison.cases import DIVERSE, SPEC, people
from kohort.comparison.frontier import Frontier, knee_of


def test_the_knee_is_the_point_farthest_below_the_line():
    risk, loss = [0.5, 0.2, 0.1, 0.05, 0.02], [0.02, 0.05, 0.08, 0.15, 0.3]
    place = knee_of(risk, loss)
    distance = [
        1 - (r - min(risk)) / (max(risk) - min(risk)) - (x - min(loss)) / (max(loss) - min(loss))
        for r, x in zip(risk, loss)
    ]
    assert place == distance.index(max(distance)) == 2


@pytest.mark.parametrize(
    ("risk", "loss"),
    [
        ([], []),
        ([0.5, 0.1], [0.1, 0.2]),
        ([0.3, 0.2, 0.1], [0.1, 0.2, 0.3]),  # a straight line
        ([0.3, 0.29, 0.1], [0.1, 0.29, 0.3]),  # above the line
        ([0.5, 0.2, 0.1], [0.1, 0.1, 0.1]),  # nothing is lost
        ([0.1, 0.1, 0.1], [0.1, 0.2, 0.3]),  # nothing is gained
    ],
)
def test_there_need_not_be_a_knee(risk, loss):
    assert knee_of(risk, loss) is None


def test_k_is_swept_by_default(jobs, tmp_path):
    found = ko.frontier(people(), spec=SPEC, algorithm="mondrian", queries=5, out=tmp_path / "f.csv")
    assert [point["k"] for point in found.points] == [2, 3, 5, 10, 20, 50]
    assert [point["highest_risk"] for point in found.points] == sorted(
        (point["highest_risk"] for point in found.points), reverse=True
    )
    facts = found.facts()
    assert facts["parameter"] == "k" and facts["knee"] == found.knee and facts["failed"] == []
    if found.knee is not None:
        assert f"The knee is at k = {found.knee}." in found.sentence
    found.plot(tmp_path / "f.svg")
    assert "k = 10" in (tmp_path / "f.svg").read_text()


def test_l_is_swept_by_what_is_guessed(jobs):
    found = ko.frontier(people(), spec=DIVERSE, l=[3, 2, 7], algorithm="mondrian", queries=5)
    assert found.risk == "best_guess" and [point["l"] for point in found.points] == [2, 3]
    [failed] = found.failed
    assert failed["l"] == 7 and failed["status"] == "infeasible"
    assert found.sentence == "A knee needs at least three releases, and 2 could be made."


def test_baskets_have_a_frontier_too(jobs):
    baskets = pa.table({"bought": [["a", "b"], ["a"], ["b", "c"], ["a", "c"], ["b", "a"], ["c"], ["d"]]})
    spec = {"attributes": {"bought": {"role": "items"}}, "privacy": {"k": 2, "m": 2}}
    found = ko.frontier(baskets, spec=spec, k=[2, 3, 4], algorithm="apriori-items", queries=5)
    assert [point["k"] for point in found.points] == [2, 3, 4]
    assert all(point["highest_risk"] <= 1 / point["k"] for point in found.points)
    assert all(point["query_error"] is not None for point in found.points)


def test_a_straight_frontier_has_no_knee():
    rows = [{"k": k, "highest_risk": 1 - k / 10, "loss": k / 10} for k in (1, 2, 3)]
    found = Frontier("k", "highest_risk", rows, [])
    assert found.knee is None and "no knee" in found.sentence and "Choose k" in found.sentence


def test_one_parameter_at_a_time(jobs):
    with pytest.raises(ko.InputError, match="One parameter is swept at a time, not k and l"):
        ko.frontier(people(), spec=DIVERSE, k=[2], l=[2])


def test_the_command_says_where_the_knee_is(jobs, files):
    words = ("--k", "2,4,8", "--queries", "5", "--plot", files / "f.svg", "--out", files / "f.csv")
    done = run("frontier", files / "people.csv", "--spec", files / "spec.yaml", *words)
    assert done.exit == 0 and "knee" in done.out and (files / "f.svg").exists()
    machine = run("frontier", files / "people.csv", "--spec", files / "spec.yaml", *words, "--json")
    assert machine.exit == 0 and '"rule"' in machine.out
    assert len(jobs) == 3


def test_the_k_that_a_limit_on_the_risk_needs_is_told(jobs):
    spec = SPEC | {"privacy": {"risk": {"limit": 0.09}}}
    found = ko.frontier(people(), spec=spec, algorithm="mondrian", queries=5)
    assert 12 in [point["k"] for point in found.points] and 2 in [point["k"] for point in found.points]
    assert "A highest risk below 0.09 against the table needs k = 12" in found.sentence
    [limit] = found.facts()["limits"]
    assert limit["k"] == 12 and limit["limit"] == 0.09
