"""A file of nothing but baskets, from the page Data to the published file and the command line."""

import filecmp
import time

import pytest
import yaml

import kohort as ko
from cli.running import run as command
from kohort.io.data_files import write_basket_file
from kohort.statement.items import BasketShape
from studio.studio_client import studio

pytestmark = pytest.mark.processes

STEPS = ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish")


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("baskets")
    (folder / "private").mkdir()
    with studio(folder / "private") as found:
        found.file = folder / "baskets.txt"
        table = ko.datasets.generate_baskets(600, n_items=24, mean_size=3, seed=2)
        write_basket_file(table, found.file, BasketShape())
        found.open(found.file)
        yield found


def spec(browser):
    return browser.json("data")["spec"]


def made(browser):
    browser.post("run/start")
    latest = browser.ended()
    assert latest["status"] == "done", latest["error"]
    return latest["number"]


def judged(browser, number):
    while browser.json(f"judge/{number}")["judging"]:
        time.sleep(0.1)
    return browser.json(f"judge/{number}")["parts"]


def written(browser, number, folder, ending="txt"):
    """The files of a run, downloaded."""
    browser.post(f"publish/{number}/write", {"format": ending})
    for file in browser.json(f"publish/{number}")["files"]:
        (folder / file["name"]).write_bytes(browser.get(f"files/{number}/{file['name']}").content)
    return folder


def ask(browser, number, **question):
    answer = browser.post(f"judge/{number}/ask", json=question)
    assert answer.status_code == 200, answer.text
    return answer.json()


def edit(browser, **content):
    version = browser.json("hierarchies/0")["version"]
    return browser.post("hierarchies/0/edit", json={"version": version, "into": 0, **content})


def test_baskets_are_recognized_and_get_the_spec_of_kohort_init(browser, tmp_path):
    profile = browser.json("data")["profile"]
    found = profile["baskets"]
    assert profile["records"] == found["records"] == 600 and found["items"] == 24
    assert len(profile["rows"]) == 100 and found["separator"] == " "
    common = found["common"][0]
    lines = [line.split() for line in browser.file.read_text().splitlines()]
    assert common["baskets"] == sum(common["item"] in line for line in lines)
    assert command("init", browser.file, "--out", tmp_path / "spec.yaml").exit == 0
    assert spec(browser) == yaml.safe_load((tmp_path / "spec.yaml").read_text())
    assert "600 baskets, 24 different items" in browser.get("data").text


def test_pages_that_do_not_apply_say_so(browser):
    for step in STEPS:
        assert browser.get(step).status_code == 200
        assert browser.json(step)["spec"] == spec(browser)
    for step in ("people", "roles", "promise", "run"):
        assert 'id="of-tables"' in browser.get(step).text
    assert "600 people, one basket each" in browser.get("people").text
    assert "this step is skipped" in browser.get("roles").text


@pytest.mark.parametrize(
    ("page", "form"),
    [
        ("people/choose", {"unit": "person", "column": "items"}),
        ("people/open-events", {"path": "/x.csv"}),
        ("roles/choose", {"column": "0", "role": "sensitive"}),
    ],
)
def test_what_is_for_tables_changes_nothing(browser, page, form):
    before = spec(browser)
    assert browser.post(page, form).status_code == 200
    assert spec(browser) == before


def test_the_tree_of_items_is_built_edited_imported_and_exported(browser):
    facts = browser.json("hierarchies")
    assert facts["chosen"]["kind"] == "items-frequency" and facts["parameter"] == "5"
    assert facts["rows"][0]["records"] == sum(
        len(line.split()) for line in browser.file.read_text().splitlines()
    )
    for kind in ("items-cooccurrence", "items-file", "items-id"):
        browser.post("hierarchies/0/build", {"kind": kind, "parameter": "4"})
        assert browser.json("hierarchies")["chosen"]["kind"] == kind
        assert spec(browser)["items"]["hierarchy"] == {"fanout": 4, "order": kind.removeprefix("items-")}
    assert "whole number" in browser.post("hierarchies/0/build", {"kind": "items-id", "parameter": "x"}).text
    before = spec(browser)
    assert edit(browser, edit="rename", nodes=[1], label="first").status_code == 200
    assert browser.json("hierarchies")["chosen"]["kind"] == "tree"
    browser.post("undo", {"page": "hierarchies"})
    assert spec(browser) == before
    exported = browser.get("hierarchies/0/hierarchy.csv").text
    lines = exported.splitlines()
    browser.post("hierarchies/0/import", files={"file": ("items.csv", "\n".join(lines[1:]).encode())})
    view = browser.json("hierarchies")["view"]
    assert [found["value"] for found in view["missing"]] == [lines[0].partition(";")[0]]
    assert not browser.json("promise")["check"]["possible"]
    browser.post("hierarchies/0/import", files={"file": ("items.csv", exported.encode())})
    assert browser.json("hierarchies")["view"]["missing"] == []


def test_baskets_are_run_judged_published_and_repeated_byte_for_byte(browser, tmp_path):
    browser.post("promise/choose", {"k": "6", "m": "2", "suppress": "yes"})
    found = spec(browser)
    assert found["privacy"] == {"k": 6, "m": 2} and found["items"]["suppress"] is True
    check = browser.json("promise")["check"]
    assert check["possible"] and check["algorithm"] == "apriori-items", check
    number = made(browser)
    parts = judged(browser, number)
    assert parts["light"]["colour"] in ("green", "amber") and parts["quasi_identifiers"] == []
    page = browser.get(f"judge/{number}").text
    assert 'id="item-attack-form"' in page and 'id="attack-form"' not in page
    folder = written(browser, number, tmp_path)
    again = tmp_path / "again.txt"
    done = command("anonymize", browser.file, "--spec", folder / "spec.yaml", "--out", again)
    assert done.exit == 0, done.err
    assert filecmp.cmp(again, folder / "release.txt", shallow=False)
    original = ("--original", browser.file, "--order-file", folder / "order.json")
    certificate = ("--certificate", folder / "certificate.json")
    by_spec = ("verify", folder / "release.txt", "--spec", folder / "spec.yaml")
    checked = command(*by_spec, *original, *certificate)
    assert checked.exit == 0, checked.err
    shown = browser.json(f"publish/{number}")
    assert shown["formats"] == ["txt"] and "--out release.txt" in shown["command"]


def test_a_release_of_baskets_is_looked_into(browser):
    records = ask(browser, 1, ask="records")
    lines = browser.file.read_text().splitlines()
    assert records["columns"] == ["items"] and not records["classes"] and records["of"] == 600
    for row in records["rows"]:
        assert sorted(row["before"][0].split("; ")) == sorted(lines[row["original"] - 1].split())
    assert "knew 1 item of 600 people" in ask(browser, 1, ask="item_attack", known=1)["sentence"]
    offered = [row["item"] for row in ask(browser, 1, ask="items")["items"]]
    answer = ask(browser, 1, ask="item_query", items=offered[:2])
    assert answer["true"] == sum(set(offered[:2]) <= set(line.split()) for line in lines)
    assert browser.post("judge/1/ask", json={"ask": "item_query", "items": ["nothing"]}).status_code == 400
    mapped = ask(browser, 1, ask="item_map")
    assert [item for item, _ in mapped["items"]] == offered and mapped["distinct"] == 24


def test_sensitive_items_are_promised_and_leave_the_tree(browser):
    item = browser.json("data")["profile"]["baskets"]["common"][-1]["item"]
    browser.post("hierarchies/0/build", {"kind": "items-frequency", "parameter": "5"})
    form = {"k": "6", "m": "1", "sensitive-items": f"{item}\n", "limit": "0.9"}
    browser.post("promise/choose", form)
    assert spec(browser)["privacy"] == {"k": 6, "m": 1, "confidence": {"sensitive": [item], "limit": 0.9}}
    assert "suppress" not in spec(browser)["items"]
    assert browser.json("promise")["check"]["possible"], browser.json("promise")["check"]
    assert item not in {row["label"] for row in browser.json("hierarchies")["rows"]}
    assert "or neither" in browser.post("promise/choose", {**form, "limit": ""}).text
    number = made(browser)
    assert judged(browser, number) is not None
    compared = browser.get(f"run.json?run=1&run={number}").json()["comparison"]
    assert ["privacy.m", "2", "1"] in compared["asked"] and compared["columns"] == []
    assert browser.get(f"run?run=1&run={number}").status_code == 200


def test_the_frontier_of_baskets(browser):
    for _ in range(600):
        facts = browser.json("promise")
        if not facts["frontier_waiting"]:
            break
        time.sleep(0.1)
    done = [point for point in facts["frontier"] if point["status"] == "done"]
    assert len(done) >= 3 and all(0 < point["highest_risk"] <= 1 for point in done)


def test_a_project_of_baskets_goes_on_and_undo_goes_back_to_a_table(browser, tmp_path):
    project, wanted, first = browser.get("project.kohort.yaml").text, spec(browser), browser.base
    browser.base = browser.new_session()
    table = tmp_path / "people.csv"
    table.write_text("age,sex\n" + "".join(f"{20 + i % 9},{'fm'[i % 2]}\n" for i in range(40)))
    browser.open(table)
    browser.post("data/project", files={"file": ("p.kohort.yaml", project.encode())})
    browser.open(browser.file)
    assert spec(browser) == wanted
    while browser.json("data")["profile"] is None or browser.json("data")["profile"]["baskets"]:
        browser.post("undo", {"page": "data"})
        browser.opened()
    assert browser.json("roles")["baskets"] is None and "age" in spec(browser)["attributes"]
    browser.post("close")
    browser.base = first


def test_a_spec_with_a_hierarchy_file_is_read_from_the_command_line(browser, tmp_path):
    from kohort.studio.worker.specs import read_spec_path, shape_in_spec
    from kohort.studio.worker.workplace import Workplace

    data = tmp_path / "codes.csv"
    data.write_text(
        "".join(f"{i % 7},{7 + i % 5},{12 + i % 3}\n" if i % 3 else f"{i % 7}\n" for i in range(90))
    )
    tree = "".join(f"{i};{'low' if i < 7 else 'high'};*\n" for i in range(15))
    (tmp_path / "tree.csv").write_text(tree)
    path = tmp_path / "spec.yaml"
    path.write_text("items: {hierarchy: tree.csv}\nprivacy: {k: 3, m: 2}\nalgorithm: apriori-items\n")
    shape = shape_in_spec(Workplace(), path=str(path))
    assert shape == {"separator": None, "id": None, "item": None}
    content = read_spec_path(Workplace(), path=str(path), source={"path": str(data), "baskets": shape})
    assert list(content["items"]["hierarchy"]["tree"]["*"][0]) == ["low"]
    written_out = tmp_path / "out.yaml"
    written_out.write_text(yaml.safe_dump(content))
    assert ko.anonymize(data, spec=written_out).arrow.equals(ko.anonymize(data, spec=path).arrow)
    page = browser.post("data/project", files={"file": ("s.yaml", path.read_bytes())})
    assert page.status_code == 200 and "hierarchy file" in browser.opened()["opening"]["error"]
    browser.post("data/project", files={"file": ("s.yaml", browser.get("spec.yaml").content)})
    assert browser.opened()["opening"] is None


def test_another_separator_reads_the_file_again(browser):
    first, browser.base = browser.base, browser.new_session()
    browser.post("data/open", {"path": str(browser.file), "header": "baskets"})
    browser.opened()
    assert browser.json("data")["profile"]["baskets"]["items"] == 24
    browser.post("data/separator", {"separator": "comma"})
    found = browser.opened()["profile"]["baskets"]
    assert found["separator"] == "," and found["largest"] == 1
    assert spec(browser)["items"]["separator"] == ","
    browser.post("close")
    browser.base = first


def test_a_built_in_file_of_baskets(browser):
    first, browser.base = browser.base, browser.new_session()
    browser.post("data/builtin", {"name": "baskets"})
    assert browser.opened()["profile"]["baskets"]["records"] == 10_000
    assert browser.get("data.csv").headers["content-disposition"].endswith('"baskets.txt"')
    browser.post("close")
    browser.base = first


def test_baskets_are_no_events(browser, tmp_path):
    first, browser.base = browser.base, browser.new_session()
    table = tmp_path / "people.csv"
    table.write_text("id,age\n" + "".join(f"p{i},{20 + i}\n" for i in range(30)))
    browser.open(table)
    browser.post("people/open-events", {"path": str(browser.file)})
    for _ in range(300):
        opening = browser.json("people")["opening"]
        if opening and opening["error"]:
            break
        time.sleep(0.1)
    assert "one basket per line" in opening["error"]
    browser.post("close")
    browser.base = first
