"""No promise is lost without a word: stale tabs, columns that name people, stale releases, k = 1."""

import csv

import pytest

from studio.studio_client import studio, write_people

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    (folder / "private").mkdir()
    with studio(folder / "private") as found:
        found.open(write_people(folder / "people.csv"))
        for column in ("0", "2"):
            found.post("roles/choose", {"column": column, "role": "identifier"})
        yield found


def spec(browser):
    return browser.json("data")["spec"]


def test_a_stale_tab_changes_nothing(browser):
    drawn = browser.json("promise")["version"]
    browser.post("promise/choose", {"k": "25", "version": drawn})
    answer = browser.post("promise/choose", {"k": "10", "suppression": "5", "version": drawn})
    assert "Something was changed since this page was drawn" in answer.text
    assert spec(browser)["privacy"]["k"] == 25 and "suppression" not in spec(browser)
    for move in ("undo", "run/start"):
        assert "changed since" in browser.post(move, {"page": "promise", "version": drawn}).text
    assert spec(browser)["privacy"]["k"] == 25 and browser.json("run")["latest"] is None


def test_an_old_form_is_stale_even_after_undo(browser):
    browser.post("promise/choose", {"k": "5"})
    drawn = browser.json("promise")["version"]
    browser.post("undo", {"page": "promise"})
    browser.post("promise/choose", {"k": "7"})
    browser.post("promise/choose", {"k": "2", "version": drawn})
    assert spec(browser)["privacy"]["k"] == 7


@pytest.mark.parametrize("k", ["1", "0", "-3"])
def test_k_1_is_no_promise(browser, k):
    before = spec(browser)
    assert "promises nothing" in browser.post("promise/choose", {"k": k}).text
    assert spec(browser) == before


def test_a_column_that_names_people_is_published_only_when_confirmed_by_name(browser):
    browser.post("promise/choose", {"k": "3"})
    browser.post("people/choose", {"unit": "person", "column": "patient"})
    assert browser.json("roles")["person_lost"] == []
    browser.post("roles/choose", {"column": "0", "role": "insensitive"})
    facts = browser.json("roles")
    assert facts["naming"] == {"patient": False} and facts["person_lost"] == ["patient"]
    browser.post("run/start")
    number = browser.ended()["number"]
    assert browser.json("judge")["faults"] == {"unconfirmed": ["patient"]}
    refused = browser.post(f"publish/{number}/write", {"format": "csv"})
    assert "Nothing was written" in refused.text and browser.json("publish")["files"] == []
    wrong = browser.post("roles/confirm", {"column": "0", "typed": "age"})
    assert "not the name of the column" in wrong.text
    browser.post("roles/confirm", {"column": "0", "typed": "patient"})
    assert browser.json("roles")["naming"] == {"patient": True}
    browser.post(f"publish/{number}/write", {"format": "csv"})
    assert "release.csv" in [file["name"] for file in browser.json("publish")["files"]]
    browser.post("undo", {"page": "roles"})
    assert browser.json("judge")["faults"] == {"unconfirmed": ["patient"]}


def test_a_stale_release_is_stale_everywhere(browser):
    browser.post("roles/choose", {"column": "0", "role": "identifier"})
    browser.post("run/start")
    number = browser.ended()["number"]
    assert browser.json("publish")["faults"] == {}
    browser.post("publish/name", {"title": "People", "owner": "A clinic"})
    assert browser.json("publish")["faults"] == {}  # a title changes nothing of the release
    browser.post("roles/choose", {"column": "3", "role": "identifier"})
    for page in ("judge", "publish"):
        assert list(browser.json(page)["faults"]) == ["stale"]
        assert "made from other settings" in browser.get(page).text
    assert "Nothing was written" in browser.post(f"publish/{number}/write", {"format": "csv"}).text


def test_names_that_turn_the_direction_are_shown_as_what_they_are(browser, tmp_path):
    with (tmp_path / "odd.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["age\u202efdp.", "town"], *([n % 7, "Ayr"] for n in range(30))])
    base = browser.base
    browser.base = browser.new_session()
    browser.open(tmp_path / "odd.csv")
    page = browser.get("roles").text
    browser.base = base
    assert "age[U+202E]fdp." in page and "\u202e" not in page
