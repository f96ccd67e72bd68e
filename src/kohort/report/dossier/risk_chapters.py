"""The chapters on threats, risk, knowledge and the attacks that were carried out."""

from __future__ import annotations

from typing import Any

from kohort.errors import counted
from kohort.report import charts
from kohort.report.dossier.chapters import BLANK, Chapter, answers, holds_word
from kohort.report.page import Figure, Section, Table, drawn, said_in
from kohort.report.sections import promises_table
from kohort.report.sentences import percent


def threats_chapter(facts: dict[str, Any]) -> Chapter:
    rows = [
        [r["name"], "all quasi-identifiers" if r["knows"] is None else ", ".join(r["knows"]), *_chances(r)]
        for r in facts["recipients"]
    ]
    sentences = [r["sentence"] for r in facts["recipients"] if "sentence" in r]
    head = ("recipient", "may know", "highest chance", "average chance", "limits hold")
    recipients = Section(
        "recipients",
        "Who gets it, and what they may know",
        sentences or [f"Recipients are {BLANK} in the spec."] if not rows else sentences,
        tables=[Table(head, rows)] if rows else [],
    )
    questions = answers(facts, "reasonable_means", "motives", "harm", "earlier_releases")
    return Chapter(
        "threats",
        "Threat model",
        "recipients and answers by the steward; chances computed",
        [recipients, Section("means", "Means, motives and harm", tables=[questions])],
    )


def _chances(recipient: dict[str, Any]) -> list[Any]:
    after, limits = recipient.get("after"), recipient.get("limits")
    if after is None:
        return [None, None, None]
    holds = holds_word(all(limit["holds"] for limit in limits)) if limits else "no limit promised"
    return [percent(after["maximum"]), percent(after["average"]), holds]


def risk_chapter(facts: dict[str, Any]) -> Chapter:
    words = [limit["sentence"] for limit in facts["limits"]]
    if not words:
        words = ["The spec states no limit on the risk; the k that is promised bounds it by 1/k."]
    threshold = Section("threshold", "Threshold statement", words, tables=[promises_table(facts)])
    return Chapter("risk", "Risk and thresholds", "computed", [threshold, _measured_risk(facts["risk"])])


_ADVERSARIES = {
    "prosecutor": "knows that the person is in the table",
    "journalist": "looks for anybody, and does not know who is in the table",
    "marketer": "links all records at once",
}


def _measured_risk(risk: dict[str, Any]) -> Section:
    """The risk by the usual three adversaries; in public dossiers, of the release alone."""
    rows = []
    for name, what in _ADVERSARIES.items():
        found = risk[name]
        if found is None:
            continue
        for measure, words in (("maximum", "highest chance"), ("average", "average chance")):
            if measure in found["after"]:
                chances = [percent(found[side][measure]) for side in ("before", "after") if side in found]
                rows.append([f"{name}: {what}", words, *chances])
    names = ("uniqueness", "k_map", "population_uniqueness", "sampling_weights", "dominance")
    head = ["adversary", "measure", "original", "release"]
    if rows and len(rows[0]) < len(head):
        head.remove("original")
    tables = [Table(head, rows)] if rows else []
    return Section("measured", "Risk that was measured", said_in(risk, names), tables=tables)


def knowledge_chapter(facts: dict[str, Any]) -> Chapter | None:
    found = facts["knowledge"]
    if found is None:
        return None
    figures = [
        _heat_map(found, side, words)
        for side, words in (("before", "original"), ("after", "release"))
        if side in found
    ]
    words = [found["sentence"]] if "sentence" in found else [_public_sentence(found)]
    parts = [Section("sweep", "Every set of columns", words, figures=figures, tables=[_by_size(found)])]
    if "special_uniques" in found:
        parts.append(_special(found["special_uniques"]))
    return Chapter("knowledge", "What may be known: the knowledge sweep", "computed", parts)


def _public_sentence(found: dict[str, Any]) -> str:
    least = found["after"]["smallest_class"]
    return (
        f"{found['examined']:,} of {found['sets']:,} sets of quasi-identifiers that somebody may know were "
        f"examined in the release. Whatever is known, at least {least:,} {found['counted']} look alike."
    )


def _heat_map(found: dict[str, Any], side: str, words: str) -> Figure:
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


def _by_size(found: dict[str, Any]) -> Table:
    """By the number of known columns: the highest and the average chance, and how many are alone."""
    sides = [side for side in ("before", "after") if side in found]
    head = ["known columns", "sets examined"]
    head += [f"{side}: {what}" for side in sides for what in ("highest chance", "average", "unique records")]
    rows = []
    for place, entry in enumerate(found[sides[0]]["by_size"]):
        row: list[Any] = [entry["size"], entry["sets"]]
        for side in sides:
            one = found[side]["by_size"][place]
            row += [percent(one["maximum"]), percent(one["average"]), one["most_unique"] or 0]
        rows.append(row)
    return Table(head, rows)


def _special(found: dict[str, Any]) -> Section:
    columns = sorted(found["columns"], key=lambda entry: -entry["share"])
    tables = [Table(("column", "share of all scores"), [[c["column"], percent(c["share"])] for c in columns])]
    if found.get("values"):
        rows = [[v["column"], str(v["value"]), v["records"], percent(v["share"])] for v in found["values"]]
        tables.append(Table(("column", "value", "records", "share of all scores"), rows))
    words = [
        found["sentence"],
        "A set of columns by which a record is unique, while it is not by any part of the set, scores more "
        "the fewer columns it has (SUDA2). A column's share counts the sets that it is in, so shares add up "
        "to more than 100 %.",
    ]
    return Section("special", "Special uniques of the original", words, tables=tables)


_NOT_PUBLIC = (
    "What attacks with control groups and automatic attempts to find people achieve is counted beside the "
    "original, so it could test guesses about it: the internal version of this dossier shows it."
)


def tests_chapter(facts: dict[str, Any]) -> Chapter | None:
    found = [_criteria(facts["criteria"]), _numbers(facts["numbers"]), _intruders(facts)]
    parts = [part for part in found if part is not None]
    if facts["report"] == "public":
        parts.insert(0, Section("attacks", "Attacks", [_NOT_PUBLIC]))
    return Chapter("tests", "Adversarial tests", "computed; human attempts by the steward", parts)


_CRITERIA_WORDS = (
    "Each attack below was carried out. Its control group could not have learnt anything from the record in "
    "question: only what the attack achieves beyond it is due to the release. Intervals are of 95 %."
)


def _criteria(found: dict[str, Any] | None) -> Section | None:
    """Singling out, linkability, inference: one line for each attack."""
    if found is None:
        return None
    named = [(f"singling out by {entry['by']}", entry) for entry in found["singling_out"]]
    if found["linkability"] is not None:
        named.append(("linkability of two sources", found["linkability"]))
    named += [(f"inference of {entry['attribute']!r}", entry) for entry in found["inference"]]
    rows = [[name, *_rates(entry)] for name, entry in named]
    head = ("attack", "tried", "original", "release", "interval", "control group", "beyond chance")
    tables = [Table(head, rows)]
    tables += [table for entry in found["inference"] if (table := _by_value(entry)) is not None]
    sentences = [entry["sentence"] for _, entry in named]
    return Section(
        "criteria",
        "Singling out, linkability and inference",
        [
            _CRITERIA_WORDS,
            f"{found['targets']:,} of {found['of']:,} records were drawn, seed {found['seed']}.",
        ],
        points=sentences,
        tables=tables,
    )


def _rates(entry: dict[str, Any]) -> list[Any]:
    after = entry["after"]
    attack, control = after["attack"], after["control"]
    low, high = attack["interval"]
    return [
        attack["trials"],
        percent(entry["before"]["attack"]["rate"]),
        percent(attack["rate"]),
        f"{percent(low)} to {percent(high)}",
        percent(control["rate"]),
        "YES" if after["beyond_chance"] else "no",
    ]


_FEW = 10  # people with a value: fewer say little about it alone


def _by_value(entry: dict[str, Any]) -> Table | None:
    """How often each value is guessed right; values of few people are counted together."""
    if not entry.get("by_value"):
        return None
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


def _numbers(found: dict[str, Any] | None) -> Section | None:
    if found is None:
        return None
    ways = {
        "exactly": "known exactly",
        "roughly": "known roughly",
        "exactly_in_class": "known exactly, within the class",
        "roughly_in_class": "known roughly, within the class",
    }
    rows = [
        [
            words,
            found["targets"],
            found[way]["nearest_alone"],
            percent(found[way]["rate"]),
            " to ".join(map(percent, found[way]["interval"])),
        ]
        for way, words in ways.items()
    ]
    head = ("the numbers of a person", "looked for", "nearest to their own record", "share", "interval")
    return Section("numbers", "Numbers kept as they are", [found["sentence"]], tables=[Table(head, rows)])


def _intruders(facts: dict[str, Any]) -> Section | None:
    found, human = facts["intruders"], facts["human"]
    sentences, rows = [], []
    if found is not None:
        sentences.append(f"{found['sentence']} Seed {found['seed']}: the same attempts can be made again.")
        rows = [
            [entry["method"], *(entry[key] for key in ("looked_for", "suspected", "confirmed"))]
            for entry in found["by_method"]
        ]
    sentences.append(human["sentence"] if human is not None else f"Human attempts: {BLANK}.")
    head = ("known of the person", "looked for", "suspected", "confirmed")
    words = (
        "If the records that fit what is known are one person's alone, that is a suspicion; it is confirmed "
        "if it is the right person."
    )
    return Section("intruders", "Intruder protocol", [words, *sentences], tables=[Table(head, rows)])
