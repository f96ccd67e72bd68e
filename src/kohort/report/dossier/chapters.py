"""From the facts of a dossier to its chapters, and the clauses of standards that each may answer.

Naming a clause claims no compliance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kohort.errors import counted
from kohort.report.page import Section, Table, said_in
from kohort.report.sections import promises_table, reproduce_section
from kohort.report.sentences import (
    beside_the_best,
    method_sentences,
    number,
    parameters_text,
    percent,
    verdict_sentences,
    withheld_text,
)
from kohort.statement.approval import QUESTIONS

_STANDARDS = yaml.safe_load(Path(__file__).with_name("standards.yaml").read_text(encoding="utf-8"))
SOURCES: dict[str, str] = _STANDARDS["sources"]
CLAUSES: dict[str, list[str]] = _STANDARDS["clauses"]
BLANK = "left blank"
_DISCLAIMER = (
    "This dossier collects what a board, an officer or an expert needs in order to decide. Kohort computed "
    "what is marked as computed, the steward answered what is marked as answered, and the rest is left "
    "blank. Naming a clause says where an answer may be looked for; it does not say that the release "
    "complies with it."
)


@dataclass(frozen=True)
class Chapter:
    """A chapter: its name, heading, the clauses it answers, where its content is from, and its parts."""

    name: str
    heading: str
    source: str
    parts: Sequence[Section]

    @property
    def clauses(self) -> list[str]:
        return CLAUSES[self.name]


def holds_word(holds: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not judged"}[holds]


def summary_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [
        ["records of the original", f"{facts['records']:,}"],
        ["records withheld", withheld_text(facts)],
        ["classes of records that look alike", f"{facts['classes']:,}"],
        ["smallest class", number(facts["smallest_class"])],
        ["information loss", number(facts["loss"].get(facts["cost"]))],
        *(
            [f"above the least loss possible, at most ({word})", percent(facts[gap])]
            for gap, word in (("gap", "checked"), ("solver_gap", "by a solver's word"))
            if facts[gap] is not None
        ),
    ]
    return Chapter(
        "summary",
        "Summary",
        "computed",
        [
            Section("about-this", "What this document is", [_DISCLAIMER]),
            Section(
                "finding",
                "What was found",
                [*verdict_sentences(facts), *_leading_findings(facts)],
                points=[f"Not protected: {caution['what']}" for caution in facts["cautions"]],
                tables=[promises_table(facts), Table(("figure", "value"), rows)],
            ),
        ],
    )


def _leading_findings(facts: dict[str, Any]) -> list[str]:
    """One sentence each from the tests that ran."""
    found = []
    if facts["intruders"] is not None:
        found.append(facts["intruders"]["sentence"])
    if facts["human"] is not None:
        found.append(facts["human"]["sentence"])
    attacks = _beyond_chance(facts["criteria"])
    if attacks is not None:
        found.append(attacks)
    return found


def _beyond_chance(criteria: dict[str, Any] | None) -> str | None:
    """A sentence about the attacks that found more than their control groups."""
    if criteria is None:
        return None
    named = [(f"singling out by {entry['by']}", entry["after"]) for entry in criteria["singling_out"]]
    if criteria["linkability"] is not None:
        named.append(("linkability", criteria["linkability"]["after"]))
    named += [(f"inference of {entry['attribute']!r}", entry["after"]) for entry in criteria["inference"]]
    worse = [name for name, entry in named if entry["beyond_chance"]]
    tried = f"Of {counted(len(named), 'attack')} carried out on the release"
    if not worse:
        return f"{tried}, none found more than its control group, beyond chance."
    found = counted(len(worse), "attack found", "attacks found")
    return f"{tried}, {found} more than the control group, beyond chance: {', '.join(worse)}."


def answers(facts: dict[str, Any], *keys: str) -> Table:
    """The steward's answers to questions; those that were not answered are marked as blank."""
    rows = [[QUESTIONS[key], facts["context"][key] or BLANK] for key in keys]
    return Table(("question", "answer of the steward"), rows)


def context_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [
        ["data set", facts["title"] or facts["about"]["original"] or BLANK],
        ["responsible", facts["owner"] or BLANK],
        ["date of this dossier", facts["about"]["date"]],
    ]
    return Chapter(
        "context",
        "Purpose and context",
        "answered by the steward, in the spec",
        [
            Section(
                "purpose",
                "Purpose",
                tables=[Table(("what", "value"), rows), answers(facts, "purpose", "legal_basis")],
            )
        ],
    )


_ROLE_WORDS = {
    "identifier": "says who it is",
    "quasi-identifier": "others may know it; generalized",
    "sensitive": "nobody may be tied to it; published as it is",
    "insensitive": "published as it is",
    "items": "a set of items for each record; generalized",
    "person": "says whose record it is",
    "household": "says whose household it is",
    "weight": "how many people a record stands for",
}


def data_chapter(facts: dict[str, Any]) -> Chapter:
    loss = {attribute["name"]: attribute["loss"] for attribute in facts["attributes"]}
    rows = [
        [name, role, _ROLE_WORDS.get(role, ""), percent(loss[name]) if name in loss else None]
        for name, role in facts["roles"].items()
    ]
    counted_words = (
        "Everybody has one record; records are counted."
        if facts["counted"] == "records"
        else f"{facts['people']:,} people have the records; people are counted, not records."
    )
    return Chapter(
        "data",
        "Data and people",
        "computed; the questions answered by the steward",
        [
            Section(
                "records",
                "Records and columns",
                [f"The original has {counted(facts['records'], 'record')}. {counted_words}"],
                tables=[Table(("column", "role", "what that means", "detail lost"), rows)],
            ),
            Section("people", "The people", tables=[answers(facts, "source", "people", "consent")]),
        ],
    )


def method_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [
        ["algorithm", facts["algorithm"]],
        ["parameters", parameters_text(facts) or "none"],
        ["measure kept low", facts["cost"]],
        ["labels", facts["labels"]],
        ["share of records that may be withheld", percent(facts["suppression"])],
        *([["seed", str(facts["seed"])]] if facts["seed"] is not None else []),
    ]
    words = [
        "Values that others may know are replaced by more general ones, such as an interval or a node of a "
        "hierarchy, until enough records look alike. Nothing is invented and no value is changed into a "
        "wrong one. The published table was then read again by a program that shares no code with the one "
        "that made it, and every promise was measured on it.",
        *method_sentences(facts),
    ]
    return Chapter(
        "method",
        "Method and parameters",
        "computed",
        [
            Section("how", "In words", words, tables=[Table(("what", "value"), rows)]),
            Section("promises", "What is promised", tables=[promises_table(facts)]),
        ],
    )


def governance_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [
        [r["name"], r["purpose"] or BLANK, "; ".join(r["controls"]) or BLANK, r["review"] or BLANK]
        for r in facts["recipients"]
    ]
    parts = [
        Section(
            "responsible",
            "Who answers for it",
            tables=[answers(facts, "responsible", "expert", "incident", "monitoring", "retention")],
        )
    ]
    if rows:
        head = ("recipient", "purpose", "controls", "review by")
        parts.insert(0, Section("controls", "Recipients and controls", tables=[Table(head, rows)]))
    sign = Table(("approved by", "date", "signature"), [["\u00a0", "", ""]] * 2)
    parts.append(Section("approval", "Approval", ["To be signed by hand."], tables=[sign]))
    return Chapter("governance", "Governance", "answered by the steward, in the spec", parts)


def review_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [[entry["detail"], holds_word(entry["holds"])] for entry in facts["reviews"]]
    words = [
        "A release that was safe may become unsafe when other data appears. The command below measures every "
        "promise, limit and recipient again at a later date, and against a newer table of the population."
    ]
    if not rows:
        words.insert(0, f"No recipient is named, so the date of review is {BLANK}.")
    code = [("Review", "kohort verify RELEASE --spec SPEC --review --population PEOPLE")]
    tables = [Table(("date of review", "in time"), rows)] if rows else []
    return Chapter(
        "review",
        "Review",
        "computed from the dates that the steward gave",
        [Section("dates", "Dates", words, tables=tables, code=code)],
    )


def sources_chapter(facts: dict[str, Any], chapters: Sequence[Chapter]) -> Chapter:
    """What was computed, answered and left blank; and which clauses are answered where."""
    blank = [QUESTIONS[key] for key, answer in facts["context"].items() if answer is None]
    rows = [[chapter.heading, chapter.source, "; ".join(chapter.clauses) or "-"] for chapter in chapters]
    return Chapter(
        "sources",
        "What was computed, answered and left blank",
        "computed",
        [
            Section(
                "where",
                "Chapters",
                tables=[Table(("chapter", "where it is from", "clauses that it may answer"), rows)],
            ),
            Section(
                "blank",
                "Left blank",
                [f"{counted(len(blank), 'question is', 'questions are')} left blank."],
                points=blank,
            ),
            Section(
                "documents",
                "Documents named",
                tables=[
                    Table(("short name", "document"), [[name, title] for name, title in SOURCES.items()])
                ],
            ),
        ],
    )


def utility_chapter(facts: dict[str, Any]) -> Chapter:
    parts = [_loss(facts), _answers(facts["utility"])]
    if facts["analyses"] or facts["means"]:
        parts.append(_analyses(facts))
    return Chapter("utility", "Utility", "computed", [part for part in parts if part is not None])


def _loss(facts: dict[str, Any]) -> Section:
    rows = [[name, number(value)] for name, value in facts["loss"].items()]
    known = beside_the_best(facts) or ". How much less could be lost is not known: there is no lower bound"
    words = [f"The information loss ({facts['cost']}) is {number(facts['loss'].get(facts['cost']))}{known}."]
    table = Table(("measure", "value"), rows, folded="All measures of information loss")
    return Section("loss", "Information loss", words, tables=[table])


def _answers(utility: dict[str, Any]) -> Section | None:
    """What counting, learning and associating still find."""
    points = said_in(utility, ("queries", "itemsets", "classification", "association"))
    return Section("answers", "What analysts still find", points=points) if points else None


def _analyses(facts: dict[str, Any]) -> Section:
    tables = []
    for model in facts["analyses"]:
        if "coefficients" in model:
            rows = [
                [c["coefficient"], _estimate(c["before"]), _estimate(c["after"]), percent(c["overlap"])]
                for c in model["coefficients"]
            ]
            head = (model["model"], "original", "release", "overlap of intervals")
            tables.append(Table(head, rows))
    if facts["means"]:
        rows = [
            [m["column"], *(_mean(m[side]) for side in ("before", "after")), percent(m["overlap"])]
            for m in facts["means"]
        ]
        head = ("mean and quartiles", "original", "release", "overlap of intervals of the mean")
        tables.append(Table(head, rows))
    words = [
        "The 95 % intervals of coefficients and means are compared between the original and the release: 100 "
        "% if they are the same, 0 % if they are apart. In large tables intervals are narrow, and even small "
        "changes take them apart."
    ]
    points = [model["sentence"] for model in facts["analyses"]]
    return Section("analyses", "Regressions, means and quartiles", words, points=points, tables=tables)


def _estimate(found: dict[str, Any] | None) -> str:
    if found is None:
        return "cannot be estimated"
    low, high = found["interval"]
    return f"{number(found['value'])} ({number(low)} to {number(high)})"


def _mean(found: dict[str, Any]) -> str:
    low, middle, high = map(number, found["quartiles"])
    return f"{number(found['mean'])}; {low}, {middle}, {high}"


def reproduce_chapter(facts: dict[str, Any]) -> Chapter:
    return Chapter("reproduce", "How to reproduce it", "computed", [reproduce_section(facts)])
