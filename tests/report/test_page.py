"""The page: whole, escaped, offline, and with the figures of the certificate, for every kind of release."""

import io
import re
from copy import deepcopy

import pyarrow as pa
import pytest
from rich.console import Console

import kohort as ko
from kohort.report.html import report_page
from kohort.report.sentences import number, percent
from kohort.report.terminal import release_panel
from report.chromium import chromium, needs_chromium
from report.kinds import KINDS, ODD_NAMES, facts_of, page_of, people, release, release_of, tree
from report.reading import Page, fact

CHARTS = (
    2 + 3 + 1 + 1 + 2 + 2
)  # columns, distributions, classes, sensitive, risk, utility (nothing can be learnt)


def written(made, folder, **options):
    made.report(folder / "report.html", **options)
    return (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("version", ["internal", "public"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_release_has_a_page_with_its_figures(kind, version):
    page = Page(page_of(kind, version))
    facts = release_of(kind).facts(version=version)
    assert f"loss.{facts['cost']}" in page.figures and {"gap", "solver_gap"} & set(page.figures)
    for path, (value, shown) in page.figures.items():
        if value is None and path == "suppressed":  # not told in public
            assert version == "public" and 0 < facts["suppressed"] < facts["smallest_class"]
            continue
        assert value == fact(facts, path)
        assert shown in (number(value), percent(value), "unknown")
    assert "script" not in page.tags
    assert "NaN" not in page.text and "None" not in page.text and "Undefined" not in page.text


@pytest.mark.parametrize("version", ["internal", "public"])
def test_nothing_is_fetched(version):
    text = page_of("plain", version)
    page = Page(text)
    assert not {"script", "link", "img", "iframe", "image", "use"} & set(page.tags)
    for attributes in page.attributes:
        assert not {"src", "href", "xlink:href", "onload", "onclick"} & set(attributes)
    style = text.split("<style>")[1].split("</style>")[0]
    assert "url(" not in style and "@import" not in style


def test_the_page_opens_with_the_data_set_date_version_owner_and_a_line_to_sign(tmp_path):
    made = release(title="Animals of 2024", owner="Data <office>")
    text = written(made, tmp_path)
    page = Page(text)
    start = " ".join(page.text.split("Somebody who")[0].split())
    for words in (
        "Animals of 2024",
        "Records 80",
        "Date 20",
        f"Kohort {ko.__version__}",
        "Owner Data <office>",
    ):
        assert words in start
    assert "Approved by" in page.text and "Signature" in page.text
    assert page.tags.count("h1") == 1 and "<title>Animals of 2024: " in text
    assert made.facts()["title"] == "Animals of 2024" and made.facts()["owner"] == "Data <office>"
    public = Page(written(made, tmp_path, version="public")).text
    assert "Animals of 2024" in public and "Data <office>" in public and "Signature" not in public


def test_a_page_without_a_title_is_named_by_its_file_but_not_in_public(tmp_path):
    (tmp_path / "secret-study.csv").write_text("age\n1\n1\n2\n2\n")
    made = ko.anonymize(tmp_path / "secret-study.csv", quasi_identifiers=["age"], privacy=ko.KAnonymity(2))
    made.write(tmp_path / "release.csv", report=tmp_path / "report.html")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Original secret-study.csv Release release.csv" in " ".join(page.text.split())
    made.write(tmp_path / "release.csv", report=tmp_path / "report.html", report_version="public")
    public = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>release.csv</h1>" in public and "secret-study" not in public


def test_wide_tables_name_every_cell_so_that_they_can_be_stacked_on_a_phone():
    page = Page(page_of("plain"))
    assert any(tag == "table" and a.get("class") == "wide" for tag, a in zip(page.tags, page.attributes))
    cells = [a for tag, a in zip(page.tags, page.attributes) if tag == "td"]
    assert cells and all(a.get("data-name") for a in cells)


@pytest.mark.browser
@needs_chromium
@pytest.mark.parametrize("kind", ["plain", "odd names"])
def test_a_phone_need_not_scroll_sideways(kind, tmp_path):
    (tmp_path / "page.html").write_text(page_of(kind), encoding="utf-8")
    frame = "<iframe src='page.html' style='width:390px;height:900px'></iframe><p id=w></p><script>"
    frame += "onload=()=>w.textContent='width '+document.querySelector('iframe').contentDocument"
    frame += ".documentElement.scrollWidth</script>"
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    out, _ = chromium(tmp_path / "frame.html", tmp_path, "--dump-dom", "--allow-file-access-from-files")
    assert int(re.search(r"width (\d+)", out)[1]) <= 390


def test_what_cannot_be_learnt_from_the_original_is_said_without_a_chart():
    facts = deepcopy(facts_of("plain"))
    learnt = facts["utility"]["classification"]
    learnt |= {"floor": 0.6, "ceiling": 0.61, "accuracy": 0.6}
    text = Page(report_page(facts)).text
    assert "the quasi-identifiers say little about 'illness'" in text and "correct predictions" not in text
    learnt |= {"ceiling": 0.9, "accuracy": 0.8}
    assert "Learning: illness" in Page(report_page(facts)).text


@pytest.mark.parametrize(
    ("algorithm", "more", "advice"),
    [
        ("mondrian", {}, "The algorithm improve may find"),
        ("improve", {}, None),
        ("improve", {"cut_by_time": True}, "A longer time limit may find"),
        ("mondrian", {"gap": 0.01}, None),
        ("mondrian", {"improvable": False}, None),
    ],
)
def test_the_advice_knows_which_algorithm_made_the_release(algorithm, more, advice):
    facts = deepcopy(facts_of("plain"))
    facts |= {"algorithm": algorithm, "gap": 0.5, "improvable": True, "cut_by_time": False} | more
    facts["loss"]["loss"] = 0.7
    text = Page(report_page(facts)).text
    assert "Much detail is lost" in text
    for said in ("The algorithm improve may find", "A longer time limit may find"):
        assert (said in text) == (said == advice)


def test_names_and_values_are_escaped():
    page = Page(page_of("odd names"))
    assert "script" not in page.tags and "alert" not in page.tags and "b" in page.tags
    for name in ODD_NAMES:
        assert name in page.text
    assert "<b>bold</b>" in page.text and "北京" in page.text and "مرحبا" in page.text


def test_every_chart_has_a_text_and_its_figures():
    page = Page(page_of("plain"))
    charts = [a for tag, a in zip(page.tags, page.attributes) if tag == "svg"]
    assert len(charts) == page.tags.count("figure") == page.tags.count("figcaption") == CHARTS
    assert page.tags.count("details") == CHARTS + 1  # and one for the checks
    for chart in charts:
        assert chart["role"] == "img" and len(chart["aria-label"]) > 40


@pytest.mark.long
def test_a_page_of_many_columns_says_what_is_left_out():
    page = Page(page_of("many columns"))
    assert (
        "Only the 24 columns that lost the most are drawn; the other 76 are in the table above." in page.text
    )
    assert "The charts show the first 30 columns, the table all 100." in page.text
    assert page.tags.count("svg") == 24 + 3 + 4  # no model: there is nothing to predict


UNUSUAL = {
    "age": [730_451_001 + 9_973 * (i % 17) for i in range(60)],
    "town": [f"Qwxzy{'abcdef'[i % 6]}town" for i in range(60)],
    "name": [f"Vbnmp{i}" for i in range(60)],
    "illness": [f"Zyxwv{'abcd'[i % 4]}" for i in range(60)],
    "note": [f"Kjhgf{i}" for i in range(60)],
}


def unusual():
    """A table of values that occur nowhere else, some of them named in the promise."""
    return ko.anonymize(
        pa.table(UNUSUAL),
        quasi_identifiers={"age": None, "town": None},
        sensitive=["illness"],
        identifiers=["name"],
        insensitive=["note"],
        privacy=[ko.KAnonymity(4), ko.AlphaDeassociation("illness", 0.6, values=("Zyxwva",))],
    )


def test_the_public_version_holds_no_value(tmp_path):
    made = unusual()
    making = {"command": "kohort anonymize Qwxzyatown.csv", "spec": "values: [Zyxwva]"}
    internal = written(made, tmp_path, making=making)
    assert "Zyxwva" in internal and "Qwxzyatown" in internal
    for text in (written(made, tmp_path, version="public", making=making), made._repr_html_()):
        for column in UNUSUAL.values():
            for value in column:
                assert str(value) not in text
        assert not re.search("Qwxzy|Vbnmp|Zyxwv|Kjhgf|7304", text)
    assert "the protected values of 'illness'" in Page(written(made, tmp_path, version="public")).text


def test_the_internal_version_says_what_it_is():
    assert "Do not publish it" in page_of("plain")
    assert "Do not publish it" not in page_of("plain", "public")


def test_a_certain_guess_is_said_and_what_to_do(tmp_path):
    table = people().set_column(3, "illness", pa.array(["flu"] * 80))
    text = Page(written(release(table), tmp_path)).text
    assert "All records have the same value of 'illness'" in text and "leave the column out" in text
    varied = release(privacy=[ko.KAnonymity(4), ko.LDiversity("illness", 2, kind="distinct")])
    assert "'illness'" not in " ".join(caution.what for caution in varied.verdict.cautions)


GREEN = {
    "quasi_identifiers": {"age": ko.intervals(10, 20, top=70, bottom=30), "animal": tree(), "sex": None},
    "privacy": [ko.KAnonymity(4), ko.LDiversity("illness", 2, kind="distinct")],
}
TITLES = {
    "green": "Safe to publish as promised",
    "amber": "Every promise holds, but not everything is protected",
}


@pytest.mark.parametrize("version", ["internal", "public"])
@pytest.mark.parametrize("colour", TITLES)
def test_the_colour_of_the_verdict_says_whether_all_is_protected(colour, version, tmp_path):
    made = release(**GREEN) if colour == "green" else release()
    page = Page(written(made, tmp_path, version=version))
    assert {"class": f"verdict {colour}"} in page.attributes
    for text in (page.text, made._repr_html_(), printed(made)):
        assert TITLES[colour] in text and (colour == "amber") == ("Nothing is promised about" in text)
    assert (colour == "amber") == ("- {attribute: illness, l: 2, kind: distinct}" in page.text)


def printed(made):
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(release_panel(made.facts()))
    return console.export_text()


def test_a_withheld_record_that_would_give_itself_away_is_left_out_and_that_is_said():
    text = Page(page_of("some withheld")).text
    assert "Published as `*` they would not satisfy k-anonymity on their own" in text
    assert "The attack found one person" not in text
    assert "Published as `*` they" not in page_of("some left out") and "Withheld records" not in page_of(
        "plain"
    )


def test_a_promise_that_is_broken_is_shown_as_such():
    facts = deepcopy(facts_of("plain"))
    facts["holds"] = facts["models"][0]["holds"] = False
    text = Page(report_page(facts)).text
    assert "The promise does not hold" in text and "Do not publish this." in text
    assert "Safe to publish" not in text


def test_withheld_records_are_told():
    page = Page(page_of("some withheld"))
    assert page.figures["suppressed"] == (1, "1")
    page = Page(page_of("some withheld", "public"))
    assert page.figures["suppressed"] == (None, "fewer than 4")


def test_an_ending_that_no_report_has_is_refused(tmp_path):
    with pytest.raises(ko.InputError, match=r"\.html or \.pdf"):
        release_of("plain").report(tmp_path / "report.docx")
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_the_verdict():
    page = Page(release(**GREEN)._repr_html_())
    assert "Safe to publish as promised" in page.text
    assert page.figures["models.0.measured"][0] >= 4


SHARES = {0: "0 %", 1: "100 %", 0.9999999: "almost 100 %", 0.125: "12.5 %", 0.1: "10 %"}
SHARES |= {1e-6: "under 0.01 %", 0.0004: "0.04 %", 0.995: "99.5 %", 14.4: "1,440 %", None: "-"}


@pytest.mark.parametrize(("share", "text"), SHARES.items())
def test_shares_are_readable(share, text):
    assert percent(share) == text


@pytest.mark.browser
@needs_chromium
def test_chromium_shows_the_figures_of_the_facts(tmp_path):
    made = release_of("plain")
    made.report(tmp_path / "report.html")
    dom, messages = chromium(tmp_path / "report.html", tmp_path, "--dump-dom", "--enable-logging=stderr")
    page = Page(dom)
    facts = made.facts()
    assert len(page.figures) == 5
    for path, (value, shown) in page.figures.items():
        assert value == fact(facts, path)
        assert shown in (number(value), percent(value), "unknown")
    assert page.tags.count("svg") == CHARTS
    assert "Content Security Policy" not in messages and "CONSOLE" not in messages


@pytest.mark.browser
@needs_chromium
def test_chromium_prints_the_page(tmp_path):
    (tmp_path / "report.html").write_text(page_of("plain"), encoding="utf-8")
    chromium(tmp_path / "report.html", tmp_path, f"--print-to-pdf={tmp_path / 'printed.pdf'}")
    assert (tmp_path / "printed.pdf").read_bytes().startswith(b"%PDF")
