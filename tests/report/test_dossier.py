"""The dossier: every chapter, all endings, no value in public, nothing invented, nothing claimed."""

import html
import json
import re
from html.parser import HTMLParser

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.report.dossier.chapters import BLANK, CHAPTERS, SOURCES
from kohort.report.dossier.write import chapters, dossier_facts, dossier_page
from kohort.statement.approval import QUESTIONS

SENTINELS = {"ill": "Zyx-flu", "note": "Qvw-note", "town": "Jkp-town"}


def people(n=240):
    rng = np.random.default_rng(7)
    return pa.table(
        {
            "age": rng.integers(20, 70, n),
            "town": [f"{SENTINELS['town']}{i}" for i in rng.integers(0, 4, n)],
            "ill": [f"{SENTINELS['ill']}{i}" for i in rng.integers(0, 5, n)],
            "income": 700_000 + rng.permutation(n) * 13,
            "note": [f"{SENTINELS['note']}{i}" for i in rng.integers(0, 3, n)],
        }
    )


SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10]}},
        "town": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
        "income": {"role": "insensitive"},
        "note": {"role": "insensitive"},
    },
    "privacy": {"risk": {"limit": 0.09}},
    "algorithm": "mondrian",
    "title": "Our people",
    "recipients": [
        {"name": "University", "knows": ["age"], "controls": ["a contract"], "review": "2001-01-31"},
        {"name": "Public"},
    ],
    "context": {"purpose": "To learn <b>something</b>."},
    "utility": {"models": ["income ~ age + town"]},
}


@pytest.fixture(scope="module")
def release():
    return ko.anonymize(people(), spec=SPEC)


@pytest.fixture(scope="module")
def facts(release):
    return dossier_facts(release, targets=60, making={"spec": "SPEC TEXT", "data": "people.csv"})


@pytest.fixture(scope="module")
def public(release):
    return dossier_facts(release, version="public", targets=60)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.tags = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.ids |= {value for name, value in attrs if name == "id"}
        self.links += [value for name, value in attrs if name in ("href", "src")]


def test_the_page_has_contents_that_lead_to_every_chapter(facts):
    page = dossier_page(facts)
    found = Links()
    found.feed(page)
    assert [link.removeprefix("#") for link in found.links] == [
        chapter["name"] for chapter in chapters(facts)
    ]
    assert {link.removeprefix("#") for link in found.links} <= found.ids
    assert not {"script", "img", "link", "iframe"} & set(found.tags)
    assert "<b>something</b>" not in page and "&lt;b&gt;something" in page


def test_every_chapter_names_its_clauses_and_claims_nothing(facts, public):
    for of in (facts, public):
        page = " ".join(re.sub(r"<[^>]*>", " ", dossier_page(of)).split())
        assert {chapter["name"] for chapter in chapters(of)} == set(CHAPTERS)
        for clause in (clause for about in CHAPTERS.values() for clause in about["clauses"]):
            assert clause.replace("'", "&#39;") in page
        for claimed in re.findall(r"[^.]*\b[Cc]ompl(?:y|ies|iant|iance)\b[^.]*\.", page):
            assert "does not say" in claimed or "claims no" in claimed
        assert all(source.replace("'", "&#39;") in page for source in SOURCES.values())


def test_what_is_not_answered_is_left_blank(facts):
    page = dossier_page(facts)
    blank = re.search(r'id="sources-blank">.*?</div>', page, re.DOTALL)[0]
    points = [html.unescape(point) for point in re.findall(r"<li>(.*?)</li>", blank)]
    assert points == [text for key, text in QUESTIONS.items() if key != "purpose"]
    cells = (
        r'<td data-name="question"[^>]*>(.*?)</td>\s*<td data-name="answer of the steward"[^>]*>(.*?)</td>'
    )
    answered = {html.unescape(question): answer for question, answer in re.findall(cells, page)}
    assert set(answered) == set(QUESTIONS.values())
    assert [text for text, answer in answered.items() if answer != BLANK] == [QUESTIONS["purpose"]]


def test_the_figures_are_those_of_the_tests(facts):
    page = dossier_page(facts)
    assert facts["criteria"]["singling_out"][0]["sentence"].split(":")[0] in page
    assert "needs k = 12" in page and facts["limits"][0]["k"] == 12
    assert facts["intruders"]["sentence"] in page and f"Human attempts: {BLANK}" in page
    assert facts["analyses"][0]["model"] == "income ~ age + town"
    assert [entry["holds"] for entry in facts["reviews"]] == [False, None]
    assert "was due on 2001-01-31" in page and "SPEC TEXT" in page
    assert json.loads(json.dumps(facts))["kohort"] == "release"


def test_the_public_version_shows_no_value(release, tmp_path):
    path = tmp_path / "dossier.html"
    release.dossier(path, version="public", targets=60)
    text = path.read_text()
    cells = {str(value) for column in people().columns for value in column.to_pylist()}
    assert not [cell for cell in cells if len(cell) > 3 and cell in text]
    assert "University" in text and "SPEC TEXT" not in text
    release.dossier(path, targets=60)
    assert any(sentinel in path.read_text() for sentinel in SENTINELS.values())


def test_the_public_facts_show_no_value(public):
    text = json.dumps(public)
    assert not any(sentinel in text for sentinel in SENTINELS.values())
    assert "special_uniques" not in public["knowledge"] and "before" not in public["knowledge"]
    assert all(public[attack] is None for attack in ("criteria", "numbers", "intruders"))
    assert "could test guesses about it" in dossier_page(public)


def test_pdf(release, tmp_path):
    pytest.importorskip("weasyprint", reason="kohort[pdf] is not installed", exc_type=ImportError)
    release.dossier(tmp_path / "d.pdf", version="public", targets=20)
    assert (tmp_path / "d.pdf").read_bytes().startswith(b"%PDF-")


def test_it_is_a_file_of_the_release(release, tmp_path):
    release.write(tmp_path / "r.csv", certificate=tmp_path / "c.json", dossier=tmp_path / "d.html")
    certified = json.loads((tmp_path / "c.json").read_text())
    assert certified["risk"]["maximum"] == pytest.approx(1 / certified["smallest_class"])
    assert certified["sha256"]["output"] in (tmp_path / "d.html").read_text()
    with pytest.raises(ko.InputError, match=r"must end in .html or .pdf"):
        release.write(tmp_path / "s.csv", dossier=tmp_path / "d.docx")
    assert not (tmp_path / "s.csv").exists()
    with pytest.raises(ko.InputError, match="internal or public"):
        release.dossier(tmp_path / "e.html", version="secret")


def test_a_model_that_cannot_be_fitted_leaves_nothing_behind(tmp_path):
    release = ko.anonymize(people(), spec=SPEC | {"utility": {"models": ["ill ~ age"]}})
    with pytest.raises(ko.InputError, match="must be numbers or have two values"):
        release.write(tmp_path / "r.csv", dossier=tmp_path / "d.html")
    assert not list(tmp_path.iterdir())


def linked():
    table = people(60).append_column("who", pa.array([i // 2 for i in range(60)]))
    return ko.anonymize(table, quasi_identifiers=["town"], person={"who": "pseudonym"}, others="drop", k=2,
                        recipients=[{"name": "all"}], algorithm="mondrian")  # fmt: skip


def with_people():
    table = people(60).append_column("who", pa.array([i // 2 for i in range(60)]))
    return ko.anonymize(table, quasi_identifiers=["age", "town"], sensitive=["ill"], person="who", k=2,
                        others="keep", recipients=[{"name": "all"}], algorithm="mondrian")  # fmt: skip


def baskets():
    bought = pa.table({"bought": [["a", "b"], ["a"], ["b", "c"], ["a", "c"], ["b", "a"], ["c"], ["a", "b"]]})
    return ko.anonymize(bought, items="bought", privacy=ko.KmAnonymity(2, 1))


def with_withheld():
    table = pa.table({"age": [*range(20, 40)] * 3 + [99], "sex": ["f", "m"] * 30 + ["f"]})
    asked = {"quasi_identifiers": {"age": ko.intervals(5), "sex": None}, "suppression": 0.1}
    return ko.anonymize(table, k=5, algorithm="full-domain", **asked)


@pytest.mark.parametrize("make", [linked, with_people, baskets, with_withheld])
@pytest.mark.parametrize("version", ["internal", "public"])
def test_every_kind_of_release_has_a_dossier(make, version):
    found = dossier_facts(make(), version=version, targets=20)
    page = dossier_page(found)
    assert "What was computed, answered and left blank" in page
    assert (found["knowledge"] is None) == (make in (linked, baskets))


def test_population_and_human_attempts(release):
    human = {"sentence": "Human attempts: 5 people looked for, 1 suspected, 0 confirmed."}
    facts = dossier_facts(release, targets=20, population=people(400), sampling_fraction=0.5, human=human)
    page = dossier_page(facts)
    assert human["sentence"] in page and "k-map" in page and "of the population" in page
    assert facts["risk"]["population_uniqueness"]["sampling_fraction"] == 0.5
