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
        sentence = f"One class of {sizes['largest']:,} {whom}."
    else:
        sentence = (
            f"{facts['classes']:,} classes: the smallest has {sizes['smallest']:,} {whom}, the one in the "
            f"middle {sizes['median']:,.0f}, the largest {sizes['largest']:,}."
        )
    rows = [[entry["size"], entry["records"], percent(entry["share"])] for entry in sizes["bins"]]
    table = Table((f"{whom} in the class", f"{whom} in all", "share"), rows)
    figure = drawn("Sizes of classes", charts.class_sizes_chart(sizes), sentence, table)
    words = ["A class is all records that look alike in every quasi-identifier. The larger, the safer."]
    return Section("classes", "Classes of look-alikes", words, figures=[figure])


def sensitive_section(facts: dict[str, Any]) -> Section | None:
    """The section on sensitive columns: how well their values can be guessed from the class."""
    if not facts["guesses"]:
        if facts["sensitive"] or not facts["quasi_identifiers"]:
            return None
        words = ["No column is called sensitive, so nothing is said about what a class gives away."]
        return Section("sensitive", "Sensitive columns inside classes", words)
    words = [
        "The best guess about a person whose class is known is its most frequent value. How often is that "
        "right? The line is what anybody would guess without looking at classes."
    ]
    shown = facts["guesses"][:12]
    if len(shown) < len(facts["guesses"]):
        words.append(f"Shown are the first {len(shown)} of {len(facts['guesses'])} sensitive columns.")
    return Section(
        "sensitive",
        "Sensitive columns inside classes",
        words,
        figures=[_guess_figure(guess, facts["counted"]) for guess in shown],
    )


def _guess_figure(guess: dict[str, Any], whom: str) -> Figure:
    sentence = (
        f"The best guess is right for {percent(guess['average'])} of the {whom}, at most for "
        f"{percent(guess['highest'])} of a class; without classes, for {percent(guess['table'])}. "
        "Every class has at least "
        f"{counted(guess['fewest_values'], 'different value')} of {guess['values']:,}."
    )
    rows = [[f"{b['from']:.0%} to {b['to']:.0%}", percent(b["share"])] for b in guess["bins"]]
    table = Table(("confidence", f"share of {whom}"), rows)
    return drawn(guess["name"], charts.guesses_chart(guess), sentence, table)


def riskiest_section(facts: dict[str, Any]) -> Section | None:
    """The section on the classes that give most away."""
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
    words = [f"{which}: those where most could be given away come first."]
    if len(shown) < len(found["columns"]):
        words.append(f"The table has the first {len(shown)} of {len(found['columns'])} quasi-identifiers.")
    return Section("riskiest", "The riskiest classes", words, tables=[Table(head, rows)])


def _shown(label: str | None) -> str:
    return "(missing)" if label is None else label
