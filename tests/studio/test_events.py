"""A table of events beside that of people, from the page People to the two published files."""

import csv
import time
from collections import defaultdict
from dataclasses import replace

import pytest
import yaml

import kohort as ko
from cli.running import run as command
from kohort.io.tables import write_table
from studio.studio_client import studio
from two_file_cases import many

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("events")
    (folder / "private").mkdir()
    people, events = many()
    with studio(folder / "private") as found:
        found.people, found.events = folder / "patients.csv", folder / "stays.csv"
        write_table(people, found.people)
        write_table(events, found.events)
        found.open(found.people)
        yield found


def beside(browser, path):
    browser.post("people/open-events", {"path": str(path)})
    return opened(browser)


def opened(browser):
    """Wait until the events are open; the facts of the page."""
    for _ in range(300):
        facts = browser.json("people")
        if facts["events"] or (facts["opening"] or {}).get("error"):
            return facts
        time.sleep(0.1)
    raise AssertionError("the events were not opened in time")


def number_of(browser, name):
    return next(c["number"] for c in browser.json("roles")["columns"] if c["name"] == name)


def give(browser, **roles):
    for name, role in roles.items():
        browser.post("roles/choose", {"column": str(number_of(browser, name)), "role": role})


def made(browser):
    browser.post("run/start")
    latest = browser.ended()
    assert latest["status"] == "done", latest["error"]
    return latest["number"]


def written(browser, number, folder):
    """The files of a run, downloaded."""
    browser.post(f"publish/{number}/write", {"format": "csv"})
    for file in browser.json(f"publish/{number}")["files"]:
        (folder / file["name"]).write_bytes(browser.get(f"files/{number}/{file['name']}").content)
    return folder


def published(folder):
    """What is published of everybody, without the fresh pseudonyms and the order that comes with them."""
    tables = []
    for name in ("release.csv", "events.csv"):
        with (folder / name).open(encoding="utf-8", newline="") as file:
            tables.append(list(csv.DictReader(file)))
    of_person = defaultdict(list)
    for event in tables[1]:
        of_person[event.pop("patient")].append(sorted(event.items()))
    return sorted((sorted(of_person.pop(row.pop("patient"), [])), sorted(row.items())) for row in tables[0])


def repeated(browser, folder, again):
    """The release made again by the command that the studio shows, with the exported spec."""
    again.mkdir()
    done = command(
        *("anonymize", browser.people, "--spec", folder / "spec.yaml", "--out", again / "release.csv"),
        *("--events", browser.events, "--events-out", again / "events.csv"),
    )
    assert done.exit == 0, done.err
    return again


def judged(browser, number):
    while browser.json(f"judge/{number}")["judging"]:
        time.sleep(0.1)
    return browser.json(f"judge/{number}")["parts"]


def test_events_are_opened_by_their_path_and_counted(browser):
    facts = beside(browser, browser.events)
    assert (facts["events"], facts["key"], facts["keys"]) == ("stays.csv", "patient", ["patient"])
    assert facts["counted"] == {"people": 60, "twice": 0, "events": 60, "most": 2, "none": 20, "orphans": 0}
    page = browser.get("people").text
    assert "60 people and 60 events" in page and "Events are items" in page and "built-in method" not in page


def test_undo_and_go_on_without_events(browser):
    with_events = browser.json("data")["spec"]
    browser.post("people/close-events")
    assert browser.json("people")["events"] is None and "events" not in browser.json("data")["spec"]
    browser.post("undo", {"page": "people"})
    assert browser.json("people")["events"] == "stays.csv" and browser.json("data")["spec"] == with_events


def test_columns_of_events_get_roles_and_trees_on_the_same_pages(browser):
    give(browser, age="quasi-identifier", sex="quasi-identifier", plan="sensitive")
    give(browser, ward="quasi-identifier", ill="sensitive", visit="insensitive")
    browser.post(f"hierarchies/{number_of(browser, 'age')}/build", {"kind": "intervals", "parameter": "2, 4"})
    browser.post(f"hierarchies/{number_of(browser, 'ward')}/build", {"kind": "flat", "parameter": ""})
    found = browser.json("data")["spec"]
    assert "patient" not in found["attributes"]
    assert found["events"] == {
        "key": "patient",
        "attributes": {
            "visit": {"role": "insensitive"},
            "ward": {"role": "quasi-identifier", "hierarchy": "flat"},
            "ill": {"role": "sensitive"},
        },
    }
    give(browser, ward="household")  # no role of events
    assert browser.json("data")["spec"] == found
    rows = browser.json(f"hierarchies/{number_of(browser, 'ward')}")["rows"]
    assert {row["label"]: row["records"] for row in rows} == {"*": 60, "east": 30, "west": 30}
    for page in ("people", "roles", "hierarchies", "promise"):
        assert browser.get(page).status_code == 200


def frontier(browser):
    """The points of the frontier, once all are there."""
    for _ in range(900):
        facts = browser.json("promise")
        if not facts["frontier_waiting"]:
            return facts["frontier"]
        time.sleep(0.1)
    raise AssertionError("the frontier was not computed in time")


def test_the_frontier_of_people_and_events_is_that_of_their_releases(browser):
    browser.post("promise/choose", {"k": "2", "suppression": "50"})
    points = {point["k"]: point for point in frontier(browser)}
    assert points[2]["status"] == "done" and points[50]["status"] != "done"
    spec = {**browser.json("data")["spec"], "algorithm": "mondrian"}
    release = ko.anonymize(browser.people, events=browser.events, spec=spec)
    assert points[2]["loss"] == pytest.approx(release.loss["loss"])
    assert points[2]["highest_risk"] == pytest.approx(release.risk()["prosecutor"]["after"]["maximum"])
    assert points[50]["reason"] and "bug" not in points[50]["reason"]


def test_people_and_events_are_run_judged_published_and_repeated(browser, tmp_path):
    browser.post("promise/choose", {"k": "2", "suppression": "50"})
    assert browser.json("promise")["check"]["possible"]
    browser.post("run/choose", {"algorithm": "mondrian", "cost": "loss"})
    number = made(browser)
    parts = judged(browser, number)
    assert parts is not None and parts["quasi_identifiers"] == ["age", "sex", "ward"]
    assert "are looked at joined" in browser.get(f"judge/{number}").text
    condition = {"column": "ill", "values": ["a1"]}
    for question in (
        {"ask": "records"},
        {"ask": "attack", "known": ["age", "ward"]},
        {"ask": "query", "conditions": [condition]},
        {"ask": "map"},
    ):
        answer = browser.post(f"judge/{number}/ask", json=question)
        assert answer.status_code == 200, answer.text
    folder = written(browser, number, tmp_path)
    shown = browser.json(f"publish/{number}")
    assert f"--events {browser.events} --events-out events.csv" in shown["command"]
    assert f"events={str(browser.events)!r}" in shown["script"] and 'events="events.csv"' in shown["script"]
    compile(shown["script"], "make_release.py", "exec")
    assert "fresh in every release" in browser.get(f"publish/{number}").text
    again = repeated(browser, folder, tmp_path / "again")
    assert published(again) == published(folder)
    checked = command(
        *("verify", folder / "release.csv", "--events", folder / "events.csv"),
        *("--spec", folder / "spec.yaml", "--certificate", folder / "certificate.json"),
        *("--original", browser.people, "--original-events", browser.events),
        *("--order-file", folder / "order.json"),
    )
    assert checked.exit == 0, checked.err


def test_events_as_items_with_m(browser, tmp_path):
    browser.post("people/choose-events", {"key": "patient", "items": "ill"})
    assert browser.json("people")["items"] == "ill" and browser.json("data")["spec"]["privacy"]["m"] == 2
    offered = {column["name"]: column["roles"] for column in browser.json("roles")["columns"]}
    assert offered["ill"] == offered["ward"] == [] and "sensitive" in offered["plan"]
    browser.post(f"hierarchies/{number_of(browser, 'ill')}/build", {"kind": "mask", "parameter": "right"})
    browser.post("promise/choose", {"k": "2", "m": "2", "suppression": "0"})
    found = browser.json("data")["spec"]
    assert found["events"] == {"key": "patient", "items": "ill", "hierarchy": {"mask": "right"}}
    assert found["others"] == "drop" and found["privacy"] == {"k": 2, "m": 2}
    assert browser.json("promise")["check"]["possible"], browser.json("promise")["check"]
    points = {point["k"]: point for point in frontier(browser)}
    assert points[2]["status"] == "done", points[2]
    number = made(browser)
    assert judged(browser, number) is not None
    assert "items of their events are not shown" in browser.get(f"judge/{number}").text
    assert browser.post(f"judge/{number}/ask", json={"ask": "records"}).status_code == 200
    folder = written(browser, number, tmp_path)
    again = repeated(browser, folder, tmp_path / "again")
    assert published(again) == published(folder)


@pytest.fixture(scope="module")
def another(browser):
    """The same browser in a session of its own, with the people open."""
    first, browser.base = browser.base, browser.new_session()
    browser.open(browser.people)
    other, browser.base = browser.base, first
    return other


@pytest.fixture
def alone(browser, another, monkeypatch):
    monkeypatch.setattr(browser, "base", another)
    return browser


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("person,ward\np1,east\np2,west\n", "no column in common"),
        ("patient,age,ward\np1,3,east\np2,4,west\n", "only the key may be"),
        (None, "does not exist"),
    ],
)
def test_tables_that_do_not_go_together_are_refused(alone, tmp_path, content, said):
    path = tmp_path / "stays.csv"
    if content is not None:
        path.write_text(content)
    facts = beside(alone, path)
    assert said in facts["opening"]["error"] and said in alone.get("people").text
    assert "events" not in alone.json("data")["spec"]


@pytest.mark.parametrize(
    "events",
    [
        "{key: patient, items: ill, hierarchy: /x/y.csv}",
        "{key: patient, attributes: {ward: {role: quasi-identifier, hierarchy: /x/y.csv}}}",
    ],
)
def test_a_spec_of_events_from_the_browser_names_no_files(alone, events):
    before = alone.json("data")["spec"]
    text = f"attributes: {{age: {{role: insensitive}}}}\nevents: {events}\nprivacy: {{k: 2, m: 1}}\n"
    alone.post("data/project", files={"file": ("s.yaml", text.encode())})
    assert "hierarchy file" in alone.opened()["opening"]["error"]
    assert alone.json("data")["spec"] == before


def test_where_others_can_reach_the_studio_no_path_of_events_is_opened(alone, monkeypatch):
    state = alone.client.app.state
    monkeypatch.setitem(state._state, "options", replace(state.options, paths_allowed=False))
    path = alone.events.with_name("other.csv")
    page = alone.post("people/open-events", {"path": str(path)}).text
    assert "only be named on the command line" in page and 'id="path"' not in page
    assert "other.csv" not in page


def test_a_project_waits_for_its_events(browser, another, monkeypatch):
    project, wanted = browser.get("project.kohort.yaml").text, browser.json("data")["spec"]
    assert yaml.safe_load(project)["data"]["events"] == "stays.csv" and "events" in wanted
    monkeypatch.setattr(browser, "base", another)
    browser.post("data/project", files={"file": ("p.kohort.yaml", project.encode())})
    browser.opened()
    assert browser.json("people")["waits"] and "asks for a table of events" in browser.get("people").text
    assert not browser.json("promise")["check"]["possible"]
    content = browser.events.read_bytes()
    browser.post("people/upload-events", files={"file": ("../stays.csv", content)})
    assert opened(browser)["events"] == "stays.csv"
    assert browser.json("data")["spec"] == wanted
    assert browser.json("promise")["check"]["possible"]
