"""Classes on the page: their sizes, the sensitive values inside them, the riskiest of them."""

from __future__ import annotations

from typing import Any

from kohort.errors import counted
from kohort.report import charts
from kohort.report.page import Figure, Section, Table, drawn
from kohort.report.sentences import percent

__all__ = ["classes_section", "riskiest_section", "sensitive_section"]


def classes_section(facts: dict[str, Any]) -> Section | None:
    """The section on the sizes of classes."""
    sizes = facts["class_sizes"]
    if sizes is None:
        return None
    whom = sizes["counted"]
    if facts["classes"] == 1:
        sentence = f"All {_number(sizes['largest'], whom)} form one class."
    else:
        sentence = (
            f"There are {facts['classes']:,} classes. The smallest has "
            f"{_number(sizes['smallest'], whom)}, the median is {sizes['median']:,.0f}, and the largest "
            f"has {sizes['largest']:,}."
        )
    rows = [[entry["size"], entry["records"], percent(entry["share"])] for entry in sizes["bins"]]
    table = Table((f"{whom} in the class", f"{whom} in all", "share"), rows)
    figure = drawn("Sizes of classes", charts.class_sizes_chart(sizes), sentence, table)
    words = [
        "A class holds all records that look alike in every quasi-identifier. The larger a class, the safer "
        "its records."
    ]
    return Section("classes", "Classes of records that look alike", words, figures=[figure])


def _number(number: int, whom: str) -> str:
    return counted(number, "person" if whom == "people" else "record", whom)


def sensitive_section(facts: dict[str, Any]) -> Section | None:
    """The section on sensitive columns: how well their values can be guessed from the class."""
    if not facts["guesses"]:
        if facts["sensitive"] or not facts["quasi_identifiers"]:
            return None
        words = [
            "No column has the role sensitive, so this report says nothing about what a class may reveal."
        ]
        return Section("sensitive", "Sensitive columns inside classes", words)
    words = [
        "Somebody who knows the class of a person would guess the most frequent value in that class. The "
        "bars show how often this guess is right. The dashed line shows how often a guess is right without "
        "classes: that of the most frequent value in the whole table."
    ]
    shown = facts["guesses"][:12]
    if len(shown) < len(facts["guesses"]):
        words.append(f"The charts show the first {len(shown)} of {len(facts['guesses'])} sensitive columns.")
    return Section(
        "sensitive",
        "Sensitive columns inside classes",
        words,
        figures=[_guess_figure(guess, facts["counted"]) for guess in shown],
    )


def _guess_figure(guess: dict[str, Any], whom: str) -> Figure:
    sentence = (
        f"The guess is right for {percent(guess['average'])} of all {whom}, and for up to "
        f"{percent(guess['highest'])} of a class; without classes, for {percent(guess['table'])}. "
        f"{_variety(guess)}"
    )
    rows = [[f"{b['from']:.0%} to {b['to']:.0%}", percent(b["share"])] for b in guess["bins"]]
    table = Table(("confidence", f"share of {whom}"), rows)
    return drawn(guess["name"], charts.guesses_chart(guess), sentence, table)


def _variety(guess: dict[str, Any]) -> str:
    """A sentence on the class with the fewest different values."""
    if guess["values"] == 1:
        return "All records have the same value."
    return (
        f"The least varied class has {guess['fewest_values']:,} of the {guess['values']:,} different values."
    )


def riskiest_section(facts: dict[str, Any]) -> Section | None:
    """The section on the classes that reveal most."""
    found = facts.get("riskiest")
    if not found:
        return None
    shown = found["columns"][:12]
    guessed = bool(facts["guesses"])
    whom = "people" if "people" in found["classes"][0] else "records"
    head = (whom, "chance to find a person", *(("best guess",) if guessed else ()), *shown)
    rows = [
        [
            c[whom],
            percent(c["chance"]),
            *([percent(c["guess"])] if guessed else []),
            *map(_shown, c["values"][: len(shown)]),
        ]
        for c in found["classes"]
    ]
    which = "All classes" if len(rows) == found["of"] else f"{len(rows)} of {found['of']:,} classes"
    words = [f"{which}, beginning with those that reveal most."]
    if len(shown) < len(found["columns"]):
        words.append(f"The table shows the first {len(shown)} of {len(found['columns'])} quasi-identifiers.")
    return Section("riskiest", "The riskiest classes", words, tables=[Table(head, rows)])


def _shown(label: str | None) -> str:
    return "(missing)" if label is None else label
