"""Columns on the page: how far each was generalized, what it lost, how its values are spread."""

from __future__ import annotations

from typing import Any

from kohort.report import charts
from kohort.report.attribute_facts import STEPS
from kohort.report.page import Figure, Section, Table, drawn
from kohort.report.sentences import capitalized, percent

_MOST_ROWS = 30  # columns in one chart


def columns_section(facts: dict[str, Any]) -> Section | None:
    """The section on columns: how far each was generalized, and what it lost."""
    shares = [(a["name"], a["steps"]) for a in facts["attributes"]]
    if facts["item_levels"] is not None:
        shares.append(("items in baskets", facts["item_levels"]))
    if not shares:
        return None
    left_out = len(shares) - _MOST_ROWS
    sentences = ["The less a column was generalized, the more useful it is for analysis."]
    if left_out > 0:
        sentences.append(f"The charts show the first {_MOST_ROWS} columns, the table all {len(shares)}.")
    figures = [_steps_figure(shares)]
    tables = []
    if facts["attributes"]:
        figures.append(_losses_figure(facts["attributes"]))
        tables.append(_attributes_table(facts["attributes"]))
    return Section("columns", "What became of each column", sentences, figures=figures, tables=tables)


def _steps_figure(shares: list[tuple[str, dict[str, float]]]) -> Figure:
    kept = sum(steps["unchanged"] for _, steps in shares) / len(shares)
    stars = sum(steps["*"] for _, steps in shares) / len(shares)
    sentence = (
        f"{capitalized(percent(kept))} of all cells are published unchanged, {percent(stars)} as *. The "
        "steps in between say how far a cell is on the way from its own value to *: the darker, the less it "
        "says."
    )
    chart = charts.steps_chart(shares[:_MOST_ROWS])
    table = Table(("column", *STEPS), [[name, *map(percent, steps.values())] for name, steps in shares])
    return drawn(
        "How far cells were generalized", chart, sentence, table, shape="Stacked bars, one per column"
    )


def _losses_figure(attributes: list[dict[str, Any]]) -> Figure:
    most = max(attributes, key=lambda a: a["loss"])
    least = min(attributes, key=lambda a: a["loss"])
    if most["loss"] == least["loss"]:
        extent = f"Every column lost the same share ({most['loss']:.2f})"
    else:
        extent = (
            f"{most['name']} lost the most ({most['loss']:.2f}), "
            f"{least['name']} the least ({least['loss']:.2f})"
        )
    sentence = f"{extent}. 0 means that every value is unchanged, 1 that every value is *."
    losses = [(a["name"], a["loss"]) for a in attributes]
    chart = charts.bars_chart(losses[:_MOST_ROWS], title="loss", shares=False)
    return drawn("What each column lost", chart, sentence, Table(("column", "loss"), losses))


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
    head = ("column", "kind", "values", "published", "unchanged", "as *", "cells at each level", "loss")
    return Table(head, rows)


def _levels(levels: list[dict[str, Any]] | None) -> str:
    if levels is None:
        return "no levels"
    return " · ".join(
        f"{entry['level']}: {percent(entry['share'])}" for entry in levels if entry["share"] > 0
    )


def distributions_section(facts: dict[str, Any]) -> Section | None:
    """The section on distributions: how values are spread, before and after."""
    found = facts.get("distributions")
    if not found:
        return None
    kinds = {a["name"]: a for a in facts["attributes"]}
    figures = [_distribution_figure(name, rows, kinds[name]) for name, rows in found.items()]
    sentences = [
        "Wide pale bars show the records of the original. Narrow dark bars show what a reader of the "
        "release would estimate by spreading every published value evenly over the values that it covers."
    ]
    left_out = len(facts["attributes"]) - len(figures)
    if left_out > 0:
        sentences.append(
            f"Only the {len(figures)} columns that lost the most are drawn; the other {left_out:,} are in "
            "the table above."
        )
    return Section("distributions", "Before and after", sentences, figures=figures)


def _distribution_figure(name: str, rows: list[dict[str, Any]], attribute: dict[str, Any]) -> Figure:
    total = sum(row["before"] for row in rows) or 1
    moved = sum(abs(row["before"] - row["after"]) for row in rows) / 2 / total
    sentence = f"Before and after differ by {percent(moved)} of the records."
    ordered = attribute["binned"]
    table = Table(
        ("from" if ordered else "value", "before", "after"),
        [[row["value"], round(row["before"]), round(row["after"])] for row in rows],
    )
    shape = f"Bars: records per value of {name}"
    return drawn(name, charts.distribution_chart(rows, ordered=ordered), sentence, table, shape=shape)
