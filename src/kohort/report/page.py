"""The parts of a report page, made from facts: headings, sentences, figures and tables, many of them drawn.

What became of columns, what an attacker finds, what is still useful.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kohort.charts import svg_of
from kohort.report import charts
from kohort.report.columns import STEPS
from kohort.report.sentences import capitalized, percent


@dataclass(frozen=True)
class Table:
    """Rows under a head. Numbers among the cells are set as such; texts are escaped by the template.

    `folded` is the summary under which the table is hidden until a reader opens it.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[Any]]
    folded: str | None = None


@dataclass(frozen=True)
class Figure:
    """A chart with a heading, the sentence that says what it shows, and its figures as a table."""

    heading: str
    svg: str
    sentence: str
    table: Table


def drawn(heading: str, chart: dict[str, Any], sentence: str, table: Table, *, shape: str = "Bars") -> Figure:
    """A figure with its chart drawn; the text alternative says its shape and the sentence."""
    return Figure(heading, svg_of(chart, alternative=f"{shape}. {sentence}"), sentence, table)


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    name: str
    heading: str
    sentences: Sequence[str] = ()
    points: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    code: Sequence[tuple[str, str]] = field(default=())


_MOST_ROWS = 30  # columns in one chart


def columns_section(facts: dict[str, Any]) -> Section | None:
    shares = [(a["name"], a["steps"]) for a in facts["attributes"]]
    if facts["item_levels"] is not None:
        shares.append(("items in baskets", facts["item_levels"]))
    if not shares:
        return None
    left_out = len(shares) - _MOST_ROWS
    sentences = ["The less a column was generalized, the more useful it is for analysis."]
    if left_out > 0:
        sentences.append(f"The charts show the first {_MOST_ROWS} columns, the table all {len(shares)}.")
    known = [facts["attributes"]] if facts["attributes"] else []
    figures = [_steps_figure(shares), *map(_losses_figure, known)]
    tables = [*map(_attributes_table, known)]
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
        [*(a[name] for name in ("name", "kind", "values", "published_values")),
         percent(a["unchanged"]), percent(a["starred"]), _levels(a["levels"]), a["loss"]]
        for a in attributes
    ]  # fmt: skip
    head = ("column", "kind", "values", "published", "unchanged", "as *", "cells at each level", "loss")
    return Table(head, rows)


def _levels(levels: list[dict[str, Any]] | None) -> str:
    if levels is None:
        return "no levels"
    return " · ".join(
        f"{entry['level']}: {percent(entry['share'])}" for entry in levels if entry["share"] > 0
    )


def distributions_section(facts: dict[str, Any]) -> Section | None:
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
    counts = [[row["value"], round(row["before"]), round(row["after"])] for row in rows]
    table = Table(("from" if ordered else "value", "before", "after"), counts)
    shape = f"Bars: records per value of {name}"
    return drawn(name, charts.distribution_chart(rows, ordered=ordered), sentence, table, shape=shape)


_WORTH_LEARNING = 0.02  # how much better than guessing a model of the original must be


_MEASURED = (
    "prosecutor", "journalist", "marketer", "households", "sampling_weights", "dominance", "k_map",
    "population_uniqueness", "order",
)  # fmt: skip


def risk_section(facts: dict[str, Any]) -> Section:
    """The section on risk: the chance that people are found, by counting and by an actual attack."""
    risk = facts["risk"]
    figures = [_chances(risk)] if risk["prosecutor"] is not None else []
    figures += [_attack(risk)] if risk["linkage"] is not None else []
    return Section("risk", "Can people be found?", said_in(risk, _MEASURED), figures=figures)


def said_in(facts: dict[str, Any], names: Sequence[str]) -> list[str]:
    """The sentences of these facts, as far as they are there; public ones say none."""
    return [facts[name]["sentence"] for name in names if facts.get(name) and "sentence" in facts[name]]


def _chances(risk: dict[str, Any]) -> Figure:
    """Prosecutor risk and uniqueness, before (left out of public reports) and after."""
    found, unique, whom = risk["prosecutor"], risk["uniqueness"], risk["counted"]
    names = {
        "maximum": "highest chance",
        "average": "average chance",
        "over_threshold": f"{whom} over {percent(risk['threshold'])}",
    }
    sides = [side for side in ("before", "after") if side in found]
    rows = [{"value": name, **{side: found[side][key] for side in sides}} for key, name in names.items()]
    rows.append({"value": f"unique {whom}", **{side: unique[side] for side in sides}})
    after = found["after"]
    sentence = (
        "An attacker who knows every quasi-identifier of a person finds the record with a chance of at most "
        f"{percent(after['maximum'])}, {percent(after['average'])} on average. "
        f"{percent(unique['after'])} of the published {whom} are unique."
    )
    shown = [[row["value"], *(percent(row[side]) for side in sides)] for row in rows]
    return drawn(
        "The chance that a person is found",
        charts.rates_chart(rows),
        sentence,
        Table(("chance", *sides), shown),
    )


def _attack(risk: dict[str, Any]) -> Figure:
    attack = risk["linkage"]
    sides = {"original": attack.get("before"), "release": attack["after"]}
    rows = [
        {"side": name, "rate": side["hit_rate"], "low": side["interval"][0], "high": side["interval"][1]}
        for name, side in sides.items()
        if side is not None
    ]
    rates = [[row["side"], *(percent(row[key]) for key in ("rate", "low", "high"))] for row in rows]
    allowed = f"The dashed line is the highest chance allowed, {percent(risk['threshold'])}."
    return drawn(
        "A simulated attack",
        charts.attack_chart(rows, risk["threshold"]),
        f"{attack['sentence']} {allowed}",
        Table(("table", "people found", "from", "to"), rates),
        shape="Dots with intervals",
    )


@dataclass(frozen=True)
class _Shares:
    """What a figure of shares shows of a part of the facts: a bar for each fact, with its name."""

    heading: str
    head: tuple[str, str]
    title: str
    bars: dict[str, str]


_USES = {
    "queries": _Shares(
        "Counting: errors of COUNT queries",
        ("queries", "error at most"),
        "relative error",
        {
            "median_relative_error": "half of the queries",
            "mean_relative_error": "on average",
            "p90_relative_error": "nine in ten queries",
        },
    ),
    "itemsets": _Shares(
        "Baskets: what mining still finds",
        ("measure", "share"),
        "lost",
        {"ncp": "ncp", "tkd": "tKd", "tkd_ml2": "tKd-ML2", "pair_error": "error of pairs"},
    ),
    "classification": _Shares(
        "Learning: {target}",
        ("model", "right"),
        "correct predictions",
        {
            "floor": "most frequent value",
            "accuracy": "learnt from the release",
            "ceiling": "learnt from the original",
        },
    ),
}


def utility_section(facts: dict[str, Any]) -> Section | None:
    utility, loss = facts["utility"], facts["loss"]
    figures, sentences = [], []
    for name, shown in _USES.items():
        if utility[name] is None:
            continue
        found = {"ncp": loss.get("ncp", loss.get("items-ncp"))} | utility[name]
        sentence = found["sentence"]
        if name == "classification":
            if found["ceiling"] - found["floor"] < _WORTH_LEARNING:  # equal bars would mislead
                sentences.append(_nothing_learnt(found))
                continue
            at_random = ", drawn at random" if found["sampled"] else ""
            sentence += (
                f" The models learnt from {found['trained_on']:,} records and were tested on "
                f"{found['tested_on']:,}{at_random}."
            )
        bars = [(words, found[fact]) for fact, words in shown.bars.items() if found[fact] is not None]
        table = Table(shown.head, [[words, percent(share)] for words, share in bars])
        heading = shown.heading.format(target=found.get("target"))
        figures.append(drawn(heading, charts.bars_chart(bars, title=shown.title), sentence, table))
    if (pairs := utility["association"]) is not None:
        figures += [_association(pairs)] if pairs["pairs"] else []
        sentences += [] if pairs["pairs"] else [pairs["sentence"]]
    if not figures and not sentences:
        return None
    return Section("utility", "How useful is the release?", sentences, figures=figures)


def _nothing_learnt(found: dict[str, Any]) -> str:
    """A sentence that explains why there is no chart of a model."""
    return (
        f"Learning: the quasi-identifiers say little about {found['target']!r}. Even a model that learns "
        f"from the original is right for {percent(found['ceiling'])} of people it has not seen, and always "
        f"guessing the most frequent value for {percent(found['floor'])}; learnt from the release, it is "
        f"{percent(found['accuracy'])}. So learning shows nothing about what the release has lost."
    )


def _association(found: dict[str, Any]) -> Figure:
    rows = [[" and ".join(pair["attributes"]), pair["before"], pair["after"]] for pair in found["pairs"]]
    strongest = sorted(rows, key=lambda row: -row[1])[:20]
    sentence = f"{found['sentence']} Pairs on the dashed line did not change."
    table = Table(("strongest pairs", "before", "after"), strongest)
    chart = charts.pairs_chart(found["pairs"])
    return drawn("Columns that are associated", chart, sentence, table, shape="Dots, one per pair of columns")
