"""What people see of releases, verdicts, profiles, comparisons and frontiers, in terminals and notebooks."""

from html.parser import HTMLParser

import pyarrow as pa
import pytest

import kohort as ko
from kohort.comparison import Comparison, Frontier
from kohort.comparison.grid import COLUMNS
from kohort.display import Display, Figures

NASTY = "<b>age</b> & 'more'"
PEOPLE = {NASTY: [21, 22, 41, 42], "illness": ["Cushing", "Addison", "Graves", "Crohn"]}


class Reading(HTMLParser):
    """The text of HTML and its tags; every tag that is opened must be closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.data = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.data.append(data)

    @property
    def text(self):
        return " ".join(self.data)


@pytest.fixture(scope="module")
def release():
    return ko.anonymize(pa.table(PEOPLE), quasi_identifiers=[NASTY], sensitive=["illness"], k=2)


def row(**figures):
    return dict.fromkeys(COLUMNS) | {"algorithm": "mondrian", "cost": "loss", "status": "done"} | figures


ROWS = [row(k=k, loss=k / 10, highest_risk=1 / k, seconds=1.25) for k in (2, 5, 10)]
FAILED = row(k=99, status="infeasible", reason="k = 99 is <too much>.")


def test_a_display_in_a_terminal_stays_within_80_columns_and_spaces_its_tables():
    table = Figures(["name", "n", "why"], [["a" * 90, "1", "because"], ["b\nc", "20", ""]], ["name"], ["why"])
    text = Display("title", ["word " * 30, table, "end"]).text()
    assert max(map(len, text.splitlines())) <= 80
    assert text.splitlines()[-5:] == [f"{'name':40}   n", f"{'a' * 39}…   1", f"{'b c':40}  20", "", "end"]


def test_html_is_escaped_and_needs_nothing_from_elsewhere(release):
    shown = (release, release.summary(), release.verdict, ko.profile(pa.table(PEOPLE)))
    shown += (Comparison([*ROWS, FAILED]), Frontier("k", "highest_risk", ROWS, [FAILED]))
    for thing in shown:
        page = Reading(thing._repr_html_())
        assert not {"b", "script", "link", "img"} & (
            set(page.tags) - {"b"} if thing is release else set(page.tags)
        )
        assert "http" not in thing._repr_html_() and "@import" not in thing._repr_html_()
        assert len(thing._repr_html_()) < 6000


def test_no_value_of_the_original_is_shown(release):
    shown = [release.summary(), release.verdict, ko.profile(pa.table(PEOPLE)), release]
    broken = ko.verify(
        pa.table(PEOPLE),
        spec={"attributes": {NASTY: {"role": "quasi-identifier"}}, "others": "keep", "privacy": {"k": 2}},
    )
    for thing in [*shown, broken]:
        for text in (repr(thing), str(thing), thing._repr_html_()):
            for value in ("Cushing", "Addison", "[21", ">21", " 41", "Crohn"):
                assert value not in text


def test_a_summary_says_what_was_promised_lost_and_done(release):
    summary = release.summary()
    text = str(summary)
    assert text == repr(summary)
    assert "4 records in 2 classes, the smallest with 2; 0 withheld." in text
    assert "every class has at least 2 records      2         2    yes" in text
    assert "Made by" in text and f"{release.cost:.4g}" in text
    [column] = summary.to_dict()["columns"]
    assert column["name"] == NASTY and column["unchanged"] == 0 and column["published_values"] == 2
    assert summary.to_dict()["classes"] == 2
    assert NASTY in Reading(summary._repr_html_()).text


def test_a_summary_of_baskets():
    table = pa.table({"items": [["a", "b"], ["a", "b"], ["a", "c"], ["a", "c"]]})
    text = str(ko.anonymize(table, items="items", privacy=ko.KmAnonymity(2, 2)).summary())
    assert "4 baskets." in text and "Cost (ncp)" in text


def test_a_summary_does_not_tell_few_withheld_records():
    ages = [20] * 10 + [30] * 10 + [77]
    release = ko.anonymize(
        pa.table({"age": ages, "n": list(range(21))}),
        quasi_identifiers={"age": ko.flat()},
        insensitive=["n"],
        k=10,
        suppression=0.1,
        suppressed="drop",
    )
    assert release.verdict.records == 20
    assert "fewer than 10 withheld" in str(release.summary())


def test_a_verdict_has_the_colour_of_a_traffic_light(release):
    spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    green = ko.verify(pa.table({"age": ["20-29", "20-29"]}), spec=spec)
    red = ko.verify(pa.table({"age": ["20-29", "30-39"]}), spec=spec)
    assert "#0b6b3a" in green._repr_html_() and "Every promise holds" in green._repr_html_()
    assert "#a40e26" in red._repr_html_() and "2 classes break the promise" in red._repr_html_()
    assert "#b26a00" in release.verdict._repr_html_() and "Not protected" in release.verdict._repr_html_()


def test_a_profile_prints_as_a_table():
    text = repr(ko.profile(pa.table(PEOPLE)))
    lines = text.splitlines()
    assert lines[0] == "4 records, 2 columns"
    assert lines[2].split() == ["column", "kind", "distinct", "missing", "unique", "suggested", "role"]
    assert any(line.startswith("illness") and "sensitive" in line for line in lines)
    assert "unique" in lines[-2] + lines[-1] or "quasi-identifier" in text
    assert "<th" in ko.profile(pa.table(PEOPLE))._repr_html_()


def test_comparisons_and_frontiers_print_their_figures_and_reasons():
    text = repr(Comparison([*ROWS, FAILED]))
    assert text.splitlines()[0] == "Comparison of 3 releases; 1 could not be made"
    assert text.splitlines()[2].split() == ["algorithm", "k", "loss", "highest", "risk", "seconds"]
    assert "Not made (mondrian, k = 99): k = 99 is <too much>." in text
    frontier = repr(Frontier("k", "highest_risk", ROWS, [FAILED]))
    assert frontier.splitlines()[0] == "Risk and loss for 3 values of k"
    assert "The knee is at k = 5." in frontier
    nothing = Comparison([FAILED])
    assert repr(nothing).splitlines()[0] == "Comparison of 0 releases; 1 could not be made"
