"""What the pages do, called without a browser: choices and Undo, runs, files and the command line."""

import csv
import filecmp
import os
import signal
import time
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

import kohort as ko
from cli.running import run as command
from studio.studio_client import studio, write_people

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("walk")
    (folder / "private").mkdir()
    with studio(folder / "private") as found:
        found.table = write_people(folder / "people.csv")
        found.open(found.table)
        yield found


@pytest.fixture
def session(browser):
    return browser.client.app.state.sessions[browser.base.rsplit("/", 1)[1]]


def spec(browser):
    return browser.json("data")["spec"]


def test_the_page_shows_at_most_a_hundred_rows(browser):
    profile = browser.json("data")["profile"]
    assert profile["records"] == 200 and len(profile["rows"]) == 100
    assert [column["name"] for column in profile["columns"]] == ["patient", "age", "sex", "town", "illness"]


def test_people_are_counted_by_their_column(browser):
    browser.post("people/choose", {"unit": "person", "column": "patient"})
    facts = browser.json("people")
    assert (facts["unit"], facts["counted"]["people"], facts["counted"]["most"]) == ("person", 100, 2)
    assert spec(browser)["attributes"]["patient"] == {"role": "person"}


def test_uniqueness_follows_the_roles_and_undo_takes_a_role_back(browser):
    before = browser.json("roles")["unique"]
    assert before["counted"] == "people" and before["of"] == 100 and before["unique"] > 0
    browser.post("roles/choose", {"column": "1", "role": "insensitive"})
    without_age = browser.json("roles")
    assert without_age["unique"]["unique"] < before["unique"]
    assert "age" not in without_age["unique"]["adds"]
    browser.post("undo", {"page": "roles"})
    assert browser.json("roles")["unique"] == before
    browser.post("redo", {"page": "roles"})
    assert browser.json("roles")["unique"] == without_age["unique"]
    browser.post("undo", {"page": "roles"})


def test_uniqueness_is_that_of_the_definition(browser, session):
    rows = csv.DictReader(browser.table.read_text().splitlines())
    quasi = session.having("quasi-identifier")
    people = defaultdict(set)
    for row in rows:
        people[tuple(row[name] for name in quasi)].add(row["patient"])
    alone = {next(iter(found)) for found in people.values() if len(found) == 1}
    assert browser.json("roles")["unique"]["unique"] == len(alone)


def test_a_role_given_twice_keeps_one_column(browser):
    browser.post("roles/choose", {"column": "4", "role": "person"})
    roles = {name: entry["role"] for name, entry in spec(browser)["attributes"].items()}
    assert roles["illness"] == "person" and roles["patient"] == "identifier"
    browser.post("undo", {"page": "roles"})


def edit(browser, number, **content):
    version = browser.json(f"hierarchies/{number}")["version"]
    return browser.post(f"hierarchies/{number}/edit", json={"version": version, "into": 0, **content})


def test_a_tree_is_built_edited_and_undone(browser):
    browser.post("hierarchies/3/build", {"kind": "flat", "parameter": ""})
    before = spec(browser)
    assert edit(browser, 3, edit="split", nodes=[1, 2], label="West").status_code == 200
    tree = spec(browser)["attributes"]["town"]["hierarchy"]
    assert tree == {"tree": {"*": [{"West": ["Ayr", "Bath"]}, "Cork", "Deal"]}}
    rows = browser.json("hierarchies/3")["rows"]
    assert rows[1]["label"] == "West" and rows[1]["records"] == rows[2]["records"] + rows[3]["records"]
    browser.post("undo", {"page": "hierarchies/3"})
    assert spec(browser) == before


def test_an_edit_of_an_old_page_is_refused(browser):
    answer = browser.post(
        "hierarchies/3/edit", json={"version": -1, "edit": "split", "nodes": [1], "label": "x"}
    )
    assert answer.status_code == 409


def test_a_wrong_builder_says_why_and_changes_nothing(browser):
    before = spec(browser)
    page = browser.post("hierarchies/3/build", {"kind": "intervals", "parameter": "5, 10"}).text
    assert "message error" in page and spec(browser) == before
    page = browser.post("hierarchies/1/build", {"kind": "intervals", "parameter": "many"}).text
    assert "Type numbers" in page and spec(browser) == before


def test_an_imported_hierarchy_lists_what_it_lacks_and_is_exported(browser):
    content = b"Ayr;west;*\nBath;west;*\nCork;south;*\n"
    browser.post("hierarchies/3/import", files={"file": ("towns.csv", content)})
    view = browser.json("hierarchies/3")["view"]
    assert [found["value"] for found in view["missing"]] == ["Deal"] and view["missing_records"] > 0
    assert edit(browser, 3, edit="add", nodes=[], label="Deal").status_code == 200
    assert browser.json("hierarchies/3")["view"]["missing"] == []
    exported = browser.get("hierarchies/3/hierarchy.csv")
    assert (
        exported.text.splitlines()[0].startswith("Ayr;west;*")
        and "attachment" in exported.headers["content-disposition"]
    )


def test_an_impossible_promise_is_marked_with_the_reason(browser):
    browser.post("promise/choose", {"k": "150"})
    check = browser.json("promise")["check"]
    assert not check["possible"] and "k = 150" in check["reason"]
    browser.post("undo", {"page": "promise"})
    assert browser.json("promise")["check"]["possible"]


def test_the_promise_of_a_sensitive_column_is_written(browser):
    browser.post("promise/choose", {"k": "4", "diversity-0": "2", "kind-0": "distinct", "suppression": "2"})
    found = spec(browser)
    assert found["privacy"] == {"k": 4, "diversity": {"attribute": "illness", "l": 2, "kind": "distinct"}}
    assert found["suppression"] == 0.02
    assert "message error" in browser.post("promise/choose", {"k": "four"}).text


def test_a_run_its_report_and_its_files(browser, tmp_path, session):
    browser.post("run/choose", {"algorithm": "mondrian", "cost": "loss"})
    browser.post("run/start")
    latest = browser.ended()
    assert latest["status"] == "done" and latest["loss"] > 0
    while browser.json("judge")["judging"]:
        time.sleep(0.2)
    parts = browser.json("judge")["parts"]
    assert parts["light"]["colour"] in ("green", "amber") and parts["riskiest"]["classes"]
    browser.post("publish/1/write", {"format": "csv"})
    for file in browser.json("publish")["files"]:
        (tmp_path / file["name"]).write_bytes(browser.get(f"files/1/{file['name']}").content)
    again = tmp_path / "again.csv"
    done = command("anonymize", browser.table, "--spec", tmp_path / "spec.yaml", "--out", again)
    assert done.exit == 0 and filecmp.cmp(again, tmp_path / "release.csv", shallow=False)
    checked = command(
        "verify",
        tmp_path / "release.csv",
        "--spec",
        tmp_path / "spec.yaml",
        "--original",
        browser.table,
        "--order-file",
        tmp_path / "order.json",
    )
    assert checked.exit == 0
    assert browser.get("spec.yaml").text == (tmp_path / "spec.yaml").read_text()
    compile((tmp_path / "make_release.py").read_text(), "make_release.py", "exec")
    assert str(browser.table) in (tmp_path / "command.sh").read_text()


def ask(browser, **question):
    return browser.post("judge/1/ask", json=question)


def test_questions_about_a_release(browser):
    records = ask(browser, ask="records", first=0).json()
    assert len(records["rows"]) == 20 and records["of"] == 200
    one = records["rows"][0]
    same = ask(browser, ask="records", first=0, **{"class": one["class"]}).json()
    assert {tuple(row["after"][:3]) for row in same["rows"]} == {tuple(one["after"][:3])}
    attack = ask(browser, ask="attack", known=["age"]).json()
    assert attack["known"] == ["age"] and attack["after"]["average"] <= attack["before"]["average"]
    condition = {"column": "illness", "values": ["flu", "cold", "cough"]}
    counted = ask(browser, ask="query", conditions=[condition]).json()
    assert counted["true"] == 200 and counted["expected"] == pytest.approx(200)


@pytest.mark.parametrize(
    "question",
    [
        {"ask": "open"},
        {"ask": "records", "first": "x"},
        {"ask": "attack", "known": ["illness"]},
        {"ask": "query", "conditions": []},
        {"ask": "query", "conditions": [{"column": "age", "from": "1", "to": "2"}]},
    ],
)
def test_wrong_questions_are_refused(browser, question):
    assert ask(browser, **question).status_code == 400


def test_two_runs_are_compared(browser):
    browser.post("run/choose", {"algorithm": "full-domain", "cost": "loss"})
    browser.post("run/start")
    assert browser.ended()["status"] == "done"
    compared = browser.get("run.json?run=1&run=2").json()["comparison"]
    assert ["algorithm", "mondrian", "full-domain"] in compared["asked"]
    assert {row[0] for row in compared["columns"]} == {"age", "sex", "town"}
    mapped = browser.post("judge/2/ask", json={"ask": "map"}).json()
    assert mapped["reason"] is None and {c["name"] for c in mapped["columns"]} == {"age", "sex", "town"}
    while browser.json("judge/2")["judging"]:
        time.sleep(0.1)
    lattice = browser.json("judge/2")["parts"]["lattice"]
    assert [column["name"] for column in lattice["columns"]] == ["age", "sex", "town"]
    [chosen] = [node for node in lattice["nodes"] if node["chosen"]]
    assert chosen["levels"] == [column["chosen"] for column in lattice["columns"]]
    assert len(lattice["nodes"]) == lattice["of"] == sum(lattice["counts"].values())
    page = browser.get("judge/2").text
    assert page.count('<rect class="node ') >= lattice["of"] and 'id="lattice-nodes"' in page
    assert (
        browser.json("judge/1")["parts"]["lattice"] is None
        and 'id="lattice"' not in browser.get("judge/1").text
    )


def test_of_a_large_lattice_the_part_around_the_published_node_is_drawn():
    from types import SimpleNamespace

    import numpy as np

    from kohort.recoding.recoding import Lattice
    from kohort.studio.rendering import drawing_of
    from kohort.studio.worker import judging

    states = np.zeros((6, 5, 4, 3), dtype=np.int8)
    lattice = Lattice(states, (2, 4, 0, 1))
    nodes = judging._drawn(lattice)
    distances = [sum(abs(a - b) for a, b in zip(node, lattice.chosen)) for node in nodes]
    near = sum(
        sum(abs(a - b) for a, b in zip(n, lattice.chosen)) <= max(distances) for n in np.ndindex(6, 5, 4, 3)
    )
    assert lattice.chosen in nodes and 20 < len(nodes) == near <= judging.MOST_NODES
    drawing = drawing_of({"nodes": [judging._node(lattice, levels) for levels in nodes]})
    boxes = [SimpleNamespace(**box) for box in drawing["boxes"]]
    width, height = drawing["box"]["width"], drawing["box"]["height"]
    for box in boxes:  # all inside the picture, none over another
        assert box.x >= 0 and box.x + width <= drawing["width"] and box.y >= 0
        assert box.y + height <= drawing["height"]
        assert not any(abs(box.x - o.x) < width and abs(box.y - o.y) < height for o in boxes if o is not box)


def test_a_killed_worker_is_said_and_the_session_lives(browser, session):
    os.kill(session.desk.pid, signal.SIGKILL)
    while session.desk.pid is not None:
        time.sleep(0.05)
    assert browser.json("roles")["unique"]["of"] == 100  # a new worker reads the table again
    held = session.runs.numbered(2)
    os.kill(held.worker.pid, signal.SIGKILL)
    while held.worker.pid is not None:
        time.sleep(0.05)
    browser.post("run/start")
    while session.runs.all[-1].worker.pid is None:
        time.sleep(0.05)
    os.kill(session.runs.all[-1].worker.pid, signal.SIGKILL)
    latest = browser.ended()
    assert latest["status"] == "lost" and "process" in latest["error"]
    assert "its process ended" in browser.get("run").text


def test_a_release_whose_worker_died_says_so_and_is_made_again(browser, session):
    browser.post("run/start")
    assert browser.ended()["status"] == "done"
    run = session.runs.all[-1]
    os.kill(run.worker.pid, signal.SIGKILL)
    while run.worker.pid is not None:
        time.sleep(0.05)
    browser.get(f"judge/{run.number}")
    while browser.json(f"judge/{run.number}")["judging"]:
        time.sleep(0.05)
    facts = browser.json(f"judge/{run.number}")
    assert "process" in facts["not_judged"] and not facts["run"]["held"] and facts["parts"] is None
    page = browser.get(f"judge/{run.number}").text
    assert 'id="not-judged"' in page and "no longer in memory" in page and "bug" not in page
    browser.post("run/again", {"run": str(run.number)})
    assert browser.ended()["status"] == "done"
    while (facts := browser.json(f"judge/{run.number}"))["judging"]:
        time.sleep(0.05)
    assert facts["parts"] is not None and facts["not_judged"] is None


def test_a_project_goes_on_next_week(browser):
    text = browser.get("project.kohort.yaml").text
    content = yaml.safe_load(text)
    assert content["spec"] == spec(browser) and content["data"]["path"] == str(browser.table)
    assert "patient,age" not in text
    before, first = spec(browser), browser.base
    browser.base = browser.new_session()
    browser.post("data/project", files={"file": ("p.kohort.yaml", text.encode())})
    assert browser.json("data")["project"]["data"]["name"] == "people.csv"
    browser.open(browser.table)
    assert spec(browser) == before
    browser.post("close")
    browser.base = first


def test_every_page_has_a_twin_with_the_spec(browser):
    for page in ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish"):
        assert browser.json(page)["spec"] == spec(browser)


def test_a_file_that_cannot_be_read_is_said(browser, tmp_path):
    browser.post("data/open", {"path": str(tmp_path / "missing.csv")})
    assert "does not exist" in browser.opened()["opening"]["error"]
    assert browser.json("roles")["unique"]["of"] == 100  # the table before is still open


def test_the_example_specs_of_built_in_tables_mean_the_same_when_written_out(tmp_path):
    from kohort.io.tables import write_table
    from kohort.studio.specs import spec_text
    from kohort.studio.worker.specs import read_spec_path
    from kohort.studio.worker.workplace import Workplace

    table = ko.datasets.load_adult().slice(0, 2000)
    path = tmp_path / "adult.csv"
    write_table(table, path)
    original = Path(ko.datasets.example_spec("adult"))
    content = read_spec_path(Workplace(), path=str(original), source={"path": str(path)})
    written = tmp_path / "spec.yaml"
    written.write_text(spec_text(content | {"algorithm": "mondrian"}))
    assert "tree" in content["attributes"]["education"]["hierarchy"]
    mapping = yaml.safe_load(original.read_text()) | {"algorithm": "mondrian"}
    for entry in mapping["attributes"].values():
        if isinstance(entry.get("hierarchy"), str):
            entry["hierarchy"] = str(original.parent / entry["hierarchy"])
    assert ko.anonymize(path, spec=written).arrow.equals(ko.anonymize(path, spec=mapping).arrow)
