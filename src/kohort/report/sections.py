"""From facts to the parts of the page."""

from __future__ import annotations

from typing import Any

from kohort.errors import counted
from kohort.problem.costs import COSTS
from kohort.report import charts
from kohort.report.attributes import STEPS
from kohort.report.page import Figure, Section, Table
from kohort.report.words import done_words, next_words, percent

__all__ = ["sections"]

_MOST_ROWS = 30  # columns in one chart


def sections(facts: dict[str, Any]) -> list[Section]:
    """The parts of the page in their order; those that have nothing to say are left out."""
    parts = [
        _next(facts),
        _done(facts),
        _columns(facts),
        _distributions(facts),
        _classes(facts),
        _sensitive(facts),
        _riskiest(facts),
        _losses(facts),
        _notes(facts),
        _reproduce(facts),
    ]
    return [part for part in parts if part is not None]


def _next(facts: dict[str, Any]) -> Section | None:
    points = next_words(facts)
    return Section("next", "What to do next", points=points) if points else None


def _done(facts: dict[str, Any]) -> Section:
    models = [
        [_capital(m["promise"]), m["asked"], m["measured"], _holds(m["holds"])] for m in facts["models"]
    ]
    checks = [
        [check.get("detail", _capital(check["check"])), _holds(check["holds"])] for check in facts["checks"]
    ]
    held = sum(check["holds"] is True for check in facts["checks"])
    return Section(
        "done",
        "What was done, and why",
        done_words(facts),
        tables=[
            Table(("promise", "asked", "measured", "holds"), models),
            Table(("check against the original", "holds"), checks, f"{held} of {len(checks)} checks hold"),
        ],
    )


def _holds(holds: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not checked"}[holds]


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _columns(facts: dict[str, Any]) -> Section | None:
    shares = [(a["name"], a["steps"]) for a in facts["attributes"]]
    if facts["item_levels"] is not None:
        shares.append(("items in baskets", facts["item_levels"]))
    if not shares:
        return None
    left_out = len(shares) - _MOST_ROWS
    sentences = ["What was generalized least serves analysis best."]
    if left_out > 0:
        sentences.append(f"The charts show the first {_MOST_ROWS} columns, the table all {len(shares)}.")
    figures = [_steps_figure(shares)]
    tables = []
    if facts["attributes"]:
        figures.append(_losses_figure(facts["attributes"]))
        tables.append(_attributes_table(facts["attributes"]))
    return Section("columns", "What became of each column", sentences, figures=figures, tables=tables)


def _steps_figure(shares: list[tuple[str, dict[str, float]]]) -> Figure:
    kept = sum(steps["as it was"] for _, steps in shares) / len(shares)
    stars = sum(steps["*"] for _, steps in shares) / len(shares)
    sentence = (
        f"{_capital(percent(kept))} of all cells are published as they were, {percent(stars)} as *. "
        f"Between them, "
        "the darker, the more values a cell stands for."
    )
    shown = shares[:_MOST_ROWS]
    return Figure(
        "How far cells were generalized",
        charts.svg_of(charts.steps_chart(shown), alternative=f"Stacked bars, one per column. {sentence}"),
        sentence,
        Table(("column", *STEPS), [[name, *map(percent, steps.values())] for name, steps in shares]),
    )


def _losses_figure(attributes: list[dict[str, Any]]) -> Figure:
    most = max(attributes, key=lambda a: a["loss"])
    least = min(attributes, key=lambda a: a["loss"])
    sentence = (
        f"{most['name']} lost most ({most['loss']:.2f}), {least['name']} least ({least['loss']:.2f}). 0: "
        f"every value "
        "as it was; 1: nothing but *."
    )
    losses = [(a["name"], a["loss"]) for a in attributes]
    return Figure(
        "What each column lost",
        charts.svg_of(
            charts.losses_chart(losses[:_MOST_ROWS]), alternative=f"Bars, one per column. {sentence}"
        ),
        sentence,
        Table(("column", "loss"), losses),
    )


def _attributes_table(attributes: list[dict[str, Any]]) -> Table:
    rows = [
        [
            a["name"],
            a["kind"],
            a["values"],
            a["published_values"],
            percent(a["unchanged"]),
            percent(a["starred"]),
            _levels(a["levels"]),
            a["loss"],
        ]
        for a in attributes
    ]
    head = ("column", "kind", "values", "published", "as they were", "as *", "cells at each level", "loss")
    return Table(head, rows)


def _levels(levels: list[dict[str, Any]] | None) -> str:
    if levels is None:
        return "no levels"
    return " · ".join(
        f"{entry['level']}: {percent(entry['share'])}" for entry in levels if entry["share"] > 0
    )


def _distributions(facts: dict[str, Any]) -> Section | None:
    found = facts.get("distributions")
    if not found:
        return None
    kinds = {a["name"]: a for a in facts["attributes"]}
    figures = [_distribution_figure(name, rows, kinds[name]) for name, rows in found.items()]
    sentences = [
        "Wide pale bars: the records of the original. Narrow dark bars: what a reader of the release would "
        "guess, who "
        "spreads every published value evenly over the values that it covers."
    ]
    left_out = len(facts["attributes"]) - len(figures)
    if left_out > 0:
        sentences.append(
            f"Drawn are the {len(figures)} columns that lost most; the other {left_out:,} are in the table "
            f"above."
        )
    return Section("distributions", "Before and after", sentences, figures=figures)


def _distribution_figure(name: str, rows: list[dict[str, Any]], attribute: dict[str, Any]) -> Figure:
    total = sum(row["before"] for row in rows) or 1
    moved = sum(abs(row["before"] - row["after"]) for row in rows) / 2 / total
    sentence = f"The two differ by {percent(moved)} of the records."
    ordered = attribute["kind"] in ("integer", "float", "date", "datetime") and attribute["values"] > 15
    return Figure(
        name,
        charts.svg_of(
            charts.distribution_chart(rows, ordered=ordered),
            alternative=f"Records per value of {name}. {sentence}",
        ),
        sentence,
        Table(
            ("from" if ordered else "value", "before", "after"),
            [[r["value"], round(r["before"]), round(r["after"])] for r in rows],
        ),
    )


def _classes(facts: dict[str, Any]) -> Section | None:
    sizes = facts["class_sizes"]
    if sizes is None:
        return None
    count = facts["classes"]
    sentence = (
        f"{counted(count, 'class', 'classes')}: the smallest has {sizes['smallest']:,} records, the one in "
        f"the middle "
        f"{sizes['median']:,.0f}, the largest {sizes['largest']:,}."
    )
    rows = [[b["size"], b["classes"], b["records"], percent(b["share"])] for b in sizes["bins"]]
    if facts["report"] == "public":  # in few classes of a size, the number of classes would say nothing new
        rows = [[b["size"], b["records"], percent(b["share"])] for b in sizes["bins"]]
    head = (
        "records in the class",
        *(() if facts["report"] == "public" else ("classes",)),
        "records",
        "share",
    )
    figure = Figure(
        "Sizes of classes",
        charts.svg_of(charts.class_sizes_chart(sizes), alternative=f"Bars by size of class. {sentence}"),
        sentence,
        Table(head, rows),
    )
    words = ["A class is all records that look alike in every quasi-identifier. The larger, the safer."]
    return Section("classes", "Classes of look-alikes", words, figures=[figure])


def _sensitive(facts: dict[str, Any]) -> Section | None:
    if not facts["guesses"]:
        if facts["sensitive"] or not facts["quasi_identifiers"]:
            return None
        words = ["No column is called sensitive, so nothing is said about what a class gives away."]
        return Section("sensitive", "Sensitive columns inside classes", words)
    words = [
        "Who knows a person's class guesses its most frequent value. How often is that right? The line is "
        "what "
        "anybody would guess without looking at classes."
    ]
    shown = facts["guesses"][:12]
    if len(shown) < len(facts["guesses"]):
        words.append(f"Shown are the first {len(shown)} of {len(facts['guesses'])} sensitive columns.")
    return Section(
        "sensitive",
        "Sensitive columns inside classes",
        words,
        figures=[_guess_figure(guess) for guess in shown],
    )


def _guess_figure(guess: dict[str, Any]) -> Figure:
    sentence = (
        f"The best guess is right for {percent(guess['average'])} of the records, at most for "
        f"{percent(guess['highest'])} "
        f"of a class; without classes, for {percent(guess['table'])}. Every class has at least "
        f"{counted(guess['fewest_values'], 'different value')} of {guess['values']:,}."
    )
    rows = [[f"{b['from']:.0%} to {b['to']:.0%}", percent(b["share"])] for b in guess["bins"]]
    return Figure(
        guess["name"],
        charts.svg_of(
            charts.guesses_chart(guess), alternative=f"Records by how well a guess works. {sentence}"
        ),
        sentence,
        Table(("confidence", "share of records"), rows),
    )


def _riskiest(facts: dict[str, Any]) -> Section | None:
    found = facts.get("riskiest")
    if not found:
        return None
    shown = found["columns"][:12]
    guessed = bool(facts["guesses"])
    head = ("records", "chance to find a person", *(("best guess",) if guessed else ()), *shown)
    rows = [
        [
            c["records"],
            percent(c["chance"]),
            *([percent(c["guess"])] if guessed else []),
            *map(_shown, c["values"][: len(shown)]),
        ]
        for c in found["classes"]
    ]
    words = [f"The {len(rows)} of {found['of']:,} classes where most could be given away."]
    if len(shown) < len(found["columns"]):
        words.append(f"The table has the first {len(shown)} of {len(found['columns'])} quasi-identifiers.")
    return Section("riskiest", "The riskiest classes", words, tables=[Table(head, rows)])


def _shown(label: str | None) -> str:
    return "(missing)" if label is None else label


def _losses(facts: dict[str, Any]) -> Section:
    rows = [
        [name, value, COSTS[name].meaning if name in COSTS else ""] for name, value in facts["loss"].items()
    ]
    table = Table(("measure", "value", "what it counts"), rows)
    return Section("losses", "All measures of what was lost", tables=[table])


def _notes(facts: dict[str, Any]) -> Section | None:
    return Section("notes", "Notes", points=facts["notes"]) if facts["notes"] else None


def _reproduce(facts: dict[str, Any]) -> Section:
    rows = [
        ["version of Kohort", facts["version"]],
        ["algorithm", facts["algorithm"]],
        [
            "parameters",
            ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items()) or "none",
        ],
        ["seed", str(facts["seed"])],
        ["labels", facts["labels"]],
        ["SHA-256 of the input", facts["sha256"]["input"] or "not from a file"],
        ["SHA-256 of the release", facts["sha256"]["output"] or "not in a file"],
    ]
    if "seconds" in facts:
        rows.append(
            ["seconds", ", ".join(f"{phase} {value:.2f}" for phase, value in facts["seconds"].items())]
        )
    making = facts.get("making", {})
    code = [
        (title, making[key]) for key, title in (("command", "Command"), ("spec", "Spec")) if key in making
    ]
    words = ["The same input, spec, version and seed give the same release, byte by byte."]
    if facts["report"] == "public":
        words = ["Check the release against its certificate: kohort verify RELEASE --certificate CERTIFICATE"]
    return Section(
        "reproduce", "How to reproduce it", words, tables=[Table(("what", "value"), rows)], code=code
    )
