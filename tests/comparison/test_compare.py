"""Comparisons: the grid, rows for what cannot be had, going on where it stopped, a process for each."""

import csv
import re

import pytest

import kohort as ko
from cli.running import run
from comparison.cases import DIVERSE, SPEC, people
from kohort.comparison import compare as comparing
from kohort.comparison.grid import COLUMNS, Cell, cells
from kohort.statement.from_yaml import from_yaml as parse_spec


def test_a_grid_is_every_algorithm_with_every_parameter():
    spec = parse_spec(DIVERSE)
    grid = cells(spec, algorithms=["mondrian", "forest"], costs=["loss", "tree"], k=[2, 5], l=[2, 3])
    assert len(grid) == 16 and len(set(grid)) == 16
    assert Cell("forest", "tree", 5, 3) in grid
    changed = Cell("forest", "tree", 5, 3).spec(spec)
    assert (changed.algorithm, changed.cost, changed.asked_k) == ("forest", "tree", 5)
    assert changed.models[1].l == 3 and spec.models[1].l == 2
    every = {cell.algorithm for cell in cells(spec, algorithms=None, costs=None)}
    assert "auto" not in every and {"mondrian", "k-anon-cf", "optimal"} <= every
    baskets = parse_spec({"items": {}, "privacy": {"k": 2, "m": 2}})
    assert {cell.algorithm for cell in cells(baskets, algorithms=None, costs=None)} == {
        "apriori-items",
        "direct-items",
        "improve-items",
        "local-items",
        "optimal-items",
        "vertical-items",
    }


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"algorithms": ["mondrain"]}, "Did you mean 'mondrian'"),
        ({"costs": ["los"]}, "Did you mean 'loss'"),
        ({"k": [0]}, "must be an integer >= 1"),
        ({"t": [0.1]}, "the spec asks for no closeness"),
        ({"l": [0]}, "l"),
        ({"algorithms": []}, "at least one algorithm"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(jobs, asked, message):
    with pytest.raises(ko.InputError, match=message):
        ko.compare(people(), spec=DIVERSE, **asked)
    assert not jobs


def test_figures_are_those_of_the_release(jobs):
    found = ko.compare(people(), spec=SPEC, k=[3], algorithms=["mondrian"], queries=50)
    [row] = found.rows
    release = ko.anonymize(people(), spec=SPEC | {"algorithm": "mondrian"})
    risk, utility = release.risk(), release.utility(queries=50)
    assert row["status"] == "done" and row["made_by"] == "mondrian"
    assert row["loss"] == row["value"] == release.loss["loss"]
    assert row["bound"] == release.bound and row["gap"] == release.gap
    assert row["highest_risk"] == risk["prosecutor"]["after"]["maximum"]
    assert row["linked"] == risk["linkage"]["after"]["average"]
    assert row["best_guess"] == risk["attribute_disclosure"][0]["after"]["maximum"]
    assert row["query_error"] == utility["queries"]["median_relative_error"]
    assert row["classes"] == release.verdict.classes
    assert found.table.num_rows == 1 and found.table.column_names == list(COLUMNS)


def test_what_cannot_be_had_is_a_row_with_a_reason(jobs, tmp_path):
    found = ko.compare(
        people(),
        spec=SPEC,
        k=[3, 100],
        algorithms=["mondrian", "two-anonymity"],
        queries=5,
        out=tmp_path / "t.csv",
    )
    statuses = {(row["algorithm"], row["k"]): row["status"] for row in found.rows}
    assert statuses["mondrian", 3] == "done"
    assert statuses["mondrian", 100] == "infeasible"
    assert statuses["two-anonymity", 3] == "refused"
    assert all(row["reason"] for row in found.rows if row["status"] != "done")
    assert repr(found).startswith("Comparison of 1 release; 3 could not be made\n")
    assert "Not made (two-anonymity, k = 3): " in " ".join(repr(found).split())
    found.plot(tmp_path / "t.svg")
    assert "mondrian" in (tmp_path / "t.svg").read_text()


def test_it_goes_on_where_it_stopped(jobs, tmp_path):
    out = tmp_path / "t.csv"
    first = ko.compare(people(), spec=SPEC, k=[2, 3], algorithms=["mondrian"], queries=5, out=out)
    assert len(jobs) == 2
    seen = []
    more = ko.compare(
        people(),
        spec=SPEC,
        k=[2, 3, 4],
        algorithms=["mondrian"],
        queries=5,
        out=out,
        progress=lambda what, share: seen.append((what, share)),
    )
    assert len(jobs) == 3 and jobs[-1].spec.asked_k == 4
    assert {what for what, _ in seen} == {"3 of 3: mondrian, k = 4"}
    assert [share for _, share in seen] == pytest.approx([2 / 3, 2.5 / 3])
    assert [row["k"] for row in more.rows] == [2, 3, 4]
    assert more.rows[0]["loss"] == pytest.approx(first.rows[0]["loss"], rel=1e-5)
    with out.open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 3
    for other in ({"table": people(seed=1)}, {"spec": DIVERSE}, {"queries": 6}):
        asked = {"table": people(), "spec": SPEC, "queries": 5} | other
        with pytest.raises(ko.InputError, match="Choose another output"):
            ko.compare(
                asked["table"],
                spec=asked["spec"],
                k=[2],
                algorithms=["mondrian"],
                queries=asked["queries"],
                out=out,
            )
    out.write_text("age,sex\n1,f\n")
    with pytest.raises(ko.InputError, match="not a table of a comparison"):
        ko.compare(people(), spec=SPEC, k=[2], algorithms=["mondrian"], out=out)
    assert out.read_text() == "age,sex\n1,f\n"


def test_what_was_stopped_is_tried_again(monkeypatch, tmp_path, jobs):
    in_process = comparing._run
    monkeypatch.setattr(comparing, "_run", lambda *_: {"status": "failed", "reason": "It died."})
    out = tmp_path / "t.csv"
    [row] = ko.compare(people(), spec=SPEC, algorithms=["mondrian"], queries=5, out=out).rows
    assert row["status"] == "failed"
    monkeypatch.setattr(comparing, "_run", in_process)
    [row] = ko.compare(people(), spec=SPEC, algorithms=["mondrian"], queries=5, out=out).rows
    assert row["status"] == "done" and row["reason"] is None


@pytest.mark.processes
def test_a_release_is_made_in_a_process_of_its_own(tmp_path):
    [row] = ko.compare(people(), spec=SPEC, algorithms=["mondrian"], queries=5).rows
    assert row["status"] == "done"
    assert 50 < row["memory_mb"] < 2000 and row["cpu_seconds"] > 0 and row["seconds"] > 0
    assert row["loss"] == ko.anonymize(people(), spec=SPEC | {"algorithm": "mondrian"}).loss["loss"]


def test_a_process_that_does_not_heed_its_time_is_stopped(monkeypatch):
    monkeypatch.setattr(comparing, "_GRACE", 0.1)
    [row] = ko.compare(people(), spec=SPEC, algorithms=["mondrian"], time_limit=0.01).rows
    assert row["status"] == "stopped" and "0.11 seconds" in row["reason"]


def test_a_run_that_had_to_compile_is_made_again(monkeypatch):
    runs = [
        {"status": "done", "compiling": 5.0, "loss": 1.0},
        {"status": "done", "compiling": 0.0, "loss": 2.0},
    ]
    monkeypatch.setattr(comparing, "_run", lambda *_: runs.pop(0))
    [row] = ko.compare(people(), spec=SPEC, algorithms=["mondrian"]).rows
    assert row["loss"] == 2.0 and "compiling" not in row and not runs


# -- the command line ------------------------------------------------------------------------------


def asked(files, command, *words):
    return run(command, files / "people.csv", "--spec", files / "spec.yaml", *words)


def test_the_command_compares(jobs, files):
    words = (
        "--k",
        "2,3",
        "--algorithms",
        "mondrian,two-anonymity",
        "--queries",
        "5",
        "--out",
        files / "t.csv",
    )
    done = asked(files, "compare", *words, "--plot", files / "t.svg")
    assert done.exit == 0 and "two-anonymity, k = 3: refused." in done.out
    assert (files / "t.svg").read_text().startswith("<svg")
    again = asked(files, "compare", *words, "--json")
    assert again.exit == 0 and again.out.count('"status": "done"') == 3
    assert len(jobs) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--k", "5,x"], "not a list of whole numbers"),
        (["--t", "a"], "not a list of numbers"),
        (["--algorithms", "mondrain"], "Did you mean 'mondrian'"),
    ],
)
def test_the_command_refuses_wrong_lists(jobs, files, words, message):
    done = asked(files, "compare", *words, "--out", files / "t.csv")
    assert done.exit == 2 and re.search(message, done.err)
    assert not (files / "t.csv").exists()


def test_the_data_is_never_overwritten(jobs, files):
    done = asked(files, "compare", "--out", files / "people.csv")
    assert done.exit == 2 and "is a file that this run reads" in done.err


def test_the_command_risk_judges_what_a_spec_would_publish(files):
    words = ("--sampling-fraction", "0.1", "--known", "age, sex", "--population", files / "people.csv")
    done = asked(files, "risk", *words)
    assert done.exit == 0 and "prosecutor" in done.out and "k-map" in done.out
    machine = asked(files, "risk", "--utility", "--json")
    assert machine.exit == 0 and '"median_relative_error"' in machine.out
    wrong = asked(files, "risk", "--known", "agee")
    assert wrong.exit == 2 and "Did you mean 'age'?" in wrong.err


@pytest.mark.parametrize("cut", [1, 10, 40, 100])
def test_a_last_line_that_is_cut_off_is_made_again(jobs, tmp_path, cut):
    out = tmp_path / "t.csv"
    asked = {"spec": SPEC, "k": [2, 3], "algorithms": ["mondrian"], "queries": 5, "out": out}
    first = ko.compare(people(), **asked).rows
    whole = out.read_bytes()
    out.write_bytes(whole[:-cut])
    again = ko.compare(people(), **asked).rows
    assert len(jobs) == 3 and jobs[-1].spec.asked_k == 3
    assert [row["loss"] for row in again] == pytest.approx([row["loss"] for row in first], rel=1e-5)
    assert len(out.read_bytes().splitlines()) == len(whole.splitlines())


@pytest.mark.parametrize("damage", [b"mondrian,loss\n", b",".join([b"x"] * len(COLUMNS)) + b"\n"])
def test_a_damaged_line_between_others_is_refused_by_number(jobs, tmp_path, damage):
    out = tmp_path / "t.csv"
    asked = {"spec": SPEC, "k": [2, 3], "algorithms": ["mondrian"], "queries": 5, "out": out}
    ko.compare(people(), **asked)
    header, *rows = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join([header, rows[0], damage, rows[1]]))
    with pytest.raises(ko.InputError, match="row 2 is damaged"):
        ko.compare(people(), **asked)
