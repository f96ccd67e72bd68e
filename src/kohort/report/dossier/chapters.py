"""The tables and figures of a dossier, made from facts; its words are in the template of its chapters.

The chapters in their order, and the clauses of standards that each may answer, are in `standards.yaml`.
Naming a clause claims no compliance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from kohort.errors import counted
from kohort.report import charts
from kohort.report.page import Figure, Table, drawn, said_in
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
CHAPTERS: dict[str, dict[str, Any]] = _STANDARDS["chapters"]
BLANK = "left blank"


def answers(facts: dict[str, Any], keys: Sequence[str]) -> Table:
    """The steward's answers to questions; those that were not answered are marked as blank."""
    rows = [[QUESTIONS[key], facts["context"][key] or BLANK] for key in keys]
    return Table(("question", "answer of the steward"), rows)


def unanswered(facts: dict[str, Any]) -> list[str]:
    return [QUESTIONS[key] for key, answer in facts["context"].items() if answer is None]


def attacks(criteria: dict[str, Any], linkability: str = "linkability") -> dict[str, dict[str, Any]]:
    """The attacks that were carried out, by what they are called."""
    named = {f"singling out by {entry['by']}": entry for entry in criteria["singling_out"]}
    if criteria["linkability"] is not None:
        named[linkability] = criteria["linkability"]
    return named | {f"inference of {entry['attribute']!r}": entry for entry in criteria["inference"]}


def beyond_chance(criteria: dict[str, Any] | None) -> list[str]:
    """A sentence about the attacks that found more than their control groups."""
    if criteria is None:
        return []
    named = attacks(criteria)
    worse = [name for name, entry in named.items() if entry["after"]["beyond_chance"]]
    tried = f"Of {counted(len(named), 'attack')} carried out on the release"
    if not worse:
        return [f"{tried}, none found more than its control group, beyond chance."]
    found = counted(len(worse), "attack found", "attacks found")
    return [f"{tried}, {found} more than the control group, beyond chance: {', '.join(worse)}."]


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


def roles_table(facts: dict[str, Any]) -> Table:
    loss = {attribute["name"]: attribute["loss"] for attribute in facts["attributes"]}
    rows = [
        [name, role, _ROLE_WORDS.get(role, ""), percent(loss[name]) if name in loss else None]
        for name, role in facts["roles"].items()
    ]
    return Table(("column", "role", "what that means", "detail lost"), rows)


def _holds_word(holds: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not judged"}[holds]


def recipients_table(facts: dict[str, Any]) -> Table:
    rows = []
    for found in facts["recipients"]:
        chances: list[Any] = [None, None, None]
        if (after := found.get("after")) is not None:
            limits = found.get("limits")
            holds = _holds_word(all(lim["holds"] for lim in limits)) if limits else "no limit promised"
            chances = [percent(after["maximum"]), percent(after["average"]), holds]
        knows = "all quasi-identifiers" if found["knows"] is None else ", ".join(found["knows"])
        rows.append([found["name"], knows, *chances])
    return Table(("recipient", "may know", "highest chance", "average chance", "limits hold"), rows)


_ADVERSARIES = {
    "prosecutor": "knows that the person is in the table",
    "journalist": "looks for anybody, and does not know who is in the table",
    "marketer": "links all records at once",
}


def adversaries_table(risk: dict[str, Any]) -> Table:
    """The risk by the usual three adversaries; in public dossiers, of the release alone."""
    rows = []
    for name, what in _ADVERSARIES.items():
        found = risk[name] or {"after": {}}
        for measure, words in (("maximum", "highest chance"), ("average", "average chance")):
            if measure in found["after"]:
                chances = [percent(found[side][measure]) for side in ("before", "after") if side in found]
                rows.append([f"{name}: {what}", words, *chances])
    head = ["adversary", "measure", "original", "release"]
    if rows and len(rows[0]) < len(head):
        head.remove("original")
    return Table(head, rows)


def heat_map(found: dict[str, Any], side: str, words: str) -> Figure:
    grid, names = found[side]["average_by_column"], found["columns"]
    sizes = range(1, len(names) + 1)
    cells = [
        {"column": name, "size": size, "chance": value}
        for name, row in zip(names, grid)
        for size, value in zip(sizes, row)
        if value is not None
    ]
    sentence = (
        f"The average chance of being found in the {words}, by how many quasi-identifiers are known (across) "
        "and which column is among them (down)."
    )
    rows = [[name, *(percent(value) for value in row)] for name, row in zip(names, grid)]
    table = Table(("column", *(f"{size} known" for size in sizes)), rows)
    chart = charts.heat_chart(cells, names)
    return drawn(f"Chance of being found, {words}", chart, sentence, table, shape="A grid of shaded cells")


def sweep_table(found: dict[str, Any]) -> Table:
    """By the number of known columns: the highest and the average chance, and how many are alone."""
    sides = [side for side in ("before", "after") if side in found]
    head = ["known columns", "sets examined"]
    head += [f"{side}: {what}" for side in sides for what in ("highest chance", "average", "unique records")]
    rows = []
    for entries in zip(*(found[side]["by_size"] for side in sides)):
        row: list[Any] = [entries[0]["size"], entries[0]["sets"]]
        for one in entries:
            row += [percent(one["maximum"]), percent(one["average"]), one["most_unique"] or 0]
        rows.append(row)
    return Table(head, rows)


def special_tables(found: dict[str, Any]) -> list[Table]:
    columns = sorted(found["columns"], key=lambda entry: -entry["share"])
    values = [
        [v["column"], str(v["value"]), v["records"], percent(v["share"])] for v in found.get("values", [])
    ]
    return [
        Table(("column", "share of all scores"), [[c["column"], percent(c["share"])] for c in columns]),
        Table(("column", "value", "records", "share of all scores"), values),
    ]


def attacks_table(named: Mapping[str, dict[str, Any]]) -> Table:
    """Singling out, linkability, inference: one line for each attack."""
    rows = []
    for name, entry in named.items():
        after = entry["after"]
        attack = after["attack"]
        rates = (entry["before"]["attack"]["rate"], attack["rate"])
        interval = " to ".join(map(percent, attack["interval"]))
        control, beyond = percent(after["control"]["rate"]), "YES" if after["beyond_chance"] else "no"
        rows.append([name, attack["trials"], *map(percent, rates), interval, control, beyond])
    head = ("attack", "tried", "original", "release", "interval", "control group", "beyond chance")
    return Table(head, rows)


_FEW = 10  # people with a value: fewer say little about it alone


def inference_table(entry: dict[str, Any]) -> Table:
    """How often each value is guessed right; values of few people are counted together."""
    sides = ("before", "after", "control")
    often = [value for value in entry["by_value"] if value["people"] >= _FEW]
    rare = [value for value in entry["by_value"] if value["people"] < _FEW]
    rows = [[str(v["value"]), v["people"], *(percent(v[side]["rate"]) for side in sides)] for v in often]
    if rare:
        people = sum(value["people"] for value in rare)
        hits = [sum(value[side]["hits"] for value in rare) for side in sides]
        name = counted(len(rare), "rare value", "rare values together")
        rows.insert(0, [name, people, *(percent(n / people) for n in hits)])
    head = (f"{entry['attribute']}: value", "tried", "original", "release", "control group")
    return Table(head, rows, folded=f"Inference of {entry['attribute']!r} by value: how often it is right")


_WAYS = {
    "exactly": "known exactly",
    "roughly": "known roughly",
    "exactly_in_class": "known exactly, within the class",
    "roughly_in_class": "known roughly, within the class",
}


def numbers_table(found: dict[str, Any]) -> Table:
    rows = []
    for way, words in _WAYS.items():
        interval = " to ".join(map(percent, found[way]["interval"]))
        alone, share = found[way]["nearest_alone"], percent(found[way]["rate"])
        rows.append([words, found["targets"], alone, share, interval])
    head = ("the numbers of a person", "looked for", "nearest to their own record", "share", "interval")
    return Table(head, rows)


def intruders_table(facts: dict[str, Any]) -> Table:
    found = [] if facts["intruders"] is None else facts["intruders"]["by_method"]
    rows = [[entry[k] for k in ("method", "looked_for", "suspected", "confirmed")] for entry in found]
    return Table(("known of the person", "looked for", "suspected", "confirmed"), rows)


def analyses_tables(facts: dict[str, Any]) -> list[Table]:
    """The coefficients of each model, then means and quartiles."""
    tables = []
    for model in facts["analyses"]:
        rows = [
            [c["coefficient"], _estimate(c["before"]), _estimate(c["after"]), percent(c["overlap"])]
            for c in model.get("coefficients", [])
        ]
        tables.append(Table((model["model"], "original", "release", "overlap of intervals"), rows))
    rows = [
        [m["column"], *(_mean(m[side]) for side in ("before", "after")), percent(m["overlap"])]
        for m in facts["means"]
    ]
    head = ("mean and quartiles", "original", "release", "overlap of intervals of the mean")
    return [*tables, Table(head, rows)]


def _estimate(found: dict[str, Any] | None) -> str:
    if found is None:
        return "cannot be estimated"
    low, high = found["interval"]
    return f"{number(found['value'])} ({number(low)} to {number(high)})"


def _mean(found: dict[str, Any]) -> str:
    low, middle, high = map(number, found["quartiles"])
    return f"{number(found['mean'])}; {low}, {middle}, {high}"


def controls_table(facts: dict[str, Any]) -> Table:
    rows = [
        [r["name"], r["purpose"] or BLANK, "; ".join(r["controls"]) or BLANK, r["review"] or BLANK]
        for r in facts["recipients"]
    ]
    return Table(("recipient", "purpose", "controls", "review by"), rows)


def chapters_table(chapters: Sequence[dict[str, Any]]) -> Table:
    """Where each chapter is from, and the clauses that it may answer."""
    rows = [[about["heading"], about["source"], "; ".join(about["clauses"]) or "-"] for about in chapters]
    return Table(("chapter", "where it is from", "clauses that it may answer"), rows)


def loss_rows(facts: dict[str, Any]) -> list[list[str]]:
    return [[name, number(value)] for name, value in facts["loss"].items()]


def review_rows(facts: dict[str, Any]) -> list[list[str]]:
    return [[entry["detail"], _holds_word(entry["holds"])] for entry in facts["reviews"]]


_SHOWN: tuple[Callable[..., Any], ...] = (
    *(answers, unanswered, attacks, beyond_chance, roles_table, recipients_table, adversaries_table),
    *(heat_map, sweep_table, special_tables, attacks_table, inference_table, numbers_table),
    *(intruders_table, analyses_tables, controls_table, chapters_table, loss_rows, review_rows),
    *(beside_the_best, counted, method_sentences, parameters_text, promises_table, reproduce_section),
    *(said_in, verdict_sentences, withheld_text),
)
WORDS: dict[str, Any] = {
    **{shown.__name__: shown for shown in _SHOWN},
    "blank": BLANK,
    "documents": list(SOURCES.items()),
}
"""What the template of the chapters may name."""
