"""From facts to the parts of the page."""

from __future__ import annotations

from typing import Any

from kohort.errors import counted
from kohort.problem.costs import COSTS
from kohort.report import charts
from kohort.report.page import (
    Figure,
    Section,
    Table,
    columns_section,
    distributions_section,
    drawn,
    risk_section,
    utility_section,
)
from kohort.report.sentences import (
    advice_sentences,
    capitalized,
    method_sentences,
    parameters_text,
    percent,
    together_sentences,
)


def sections(facts: dict[str, Any]) -> list[Section]:
    """The parts of the page in their order; those that have nothing to say are left out."""
    advice, notes = advice_sentences(facts), [*facts["notes"], *facts["left_out"]]
    parts = [
        Section("next", "What to do next", points=advice) if advice else None,
        _done(facts),
        columns_section(facts),
        distributions_section(facts),
        _classes_section(facts),
        _sensitive_section(facts),
        together_section(facts),
        risk_section(facts),
        utility_section(facts),
        _riskiest_section(facts),
        _losses(facts),
        Section("notes", "Notes", points=notes) if notes else None,
        reproduce_section(facts),
    ]
    return [part for part in parts if part is not None]


def _done(facts: dict[str, Any]) -> Section:
    rows = [[c.get("detail", capitalized(c["check"])), _holds(c["holds"])] for c in facts["checks"]]
    held = sum(check["holds"] is True for check in facts["checks"])
    checks = Table(("check against the original", "holds"), rows, f"{held} of {len(rows)} checks hold")
    words = method_sentences(facts)
    return Section("done", "What was done, and why", words, tables=[promises_table(facts), checks])


def promises_table(facts: dict[str, Any]) -> Table:
    """Every promise: asked, measured, and whether it holds."""
    rows = [
        [capitalized(m["promise"]), m["asked"], m["measured"], _holds(m["holds"])] for m in facts["models"]
    ]
    return Table(("promise", "asked", "measured", "holds"), rows)


def _holds(holds: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not checked"}[holds]


def _losses(facts: dict[str, Any]) -> Section:
    rows = [
        [name, loss, COSTS[name].meaning if name in COSTS else ""] for name, loss in facts["loss"].items()
    ]
    table = Table(("measure", "value", "what it counts"), rows)
    return Section("losses", "All measures of information loss", tables=[table])


def _files(facts: dict[str, Any]) -> list[list[Any]]:
    """The hashes of the files; in public, a commitment that only the steward can open for the original."""
    rows = [["SHA-256 of the release", facts["sha256"]["output"] or "not in a file"]]
    if facts["commitment"] is not None:
        rows.insert(0, ["commitment to the original", facts["commitment"]])
    if facts["report"] == "internal":
        hashed = facts["original_sha256"] or "not from a file"
        rows.insert(0, ["SHA-256 of the original (keep it private)", hashed])
    return rows


_SAME = "The same input, spec, version and seed give the same release, byte for byte."
_MAKING = {"command": "Command", "spec": "Spec"}
_CHECK_AGAIN = "Check the release against its certificate: kohort verify RELEASE --certificate CERTIFICATE"
_CUT = (
    "A time limit stopped the search, so the same input, spec, version and seed may give another release, "
    "which keeps the same promises."
)


def reproduce_section(facts: dict[str, Any]) -> Section:
    """How to make or check the release again: version, parameters, hashes, command and spec.

    The seed, and whether time ran out, are the holder's alone.
    """
    is_public = facts["report"] == "public"
    seed, cut = str(facts["seed"]), "yes" if facts["cut_by_time"] else "no"
    rows = [
        ["version of Kohort", facts["version"]],
        ["algorithm", facts["algorithm"]],
        ["parameters", parameters_text(facts) or "none"],
        *([] if is_public else [["seed", seed], ["stopped by a time limit", cut]]),
        ["labels", facts["labels"]],
        *_files(facts),
    ]
    if "seconds" in facts:
        seconds = ", ".join(f"{phase} {value:.2f}" for phase, value in facts["seconds"].items())
        rows.append(["seconds", seconds])
    making = facts.get("making", {})
    code = [(words, making[key]) for key, words in _MAKING.items() if key in making]
    words = _CHECK_AGAIN if is_public else _CUT if facts["cut_by_time"] else _SAME
    tables = [Table(("what", "value"), rows)]
    return Section("reproduce", "How to reproduce it", [words], tables=tables, code=code)


def _classes_section(facts: dict[str, Any]) -> Section | None:
    sizes = facts["class_sizes"]
    if sizes is None:
        return None
    whom = sizes["counted"]
    if facts["classes"] == 1:
        sentence = f"All {_number(sizes['largest'], whom)} form one class."
    else:
        sentence = (
            f"There are {facts['classes']:,} classes. The smallest has {_number(sizes['smallest'], whom)}, "
            f"the median is {sizes['median']:,.0f}, and the largest has {sizes['largest']:,}."
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


def _sensitive_section(facts: dict[str, Any]) -> Section | None:
    heading = "Sensitive columns inside classes"
    if not facts["guesses"]:
        if facts["sensitive"] or not facts["quasi_identifiers"]:
            return None
        none = "No column has the role sensitive, so this report says nothing about what a class may reveal."
        return Section("sensitive", heading, [none])
    words = [
        "Somebody who knows the class of a person would guess the most frequent value in that class. The "
        "bars show how often this guess is right. The dashed line shows how often a guess is right without "
        "classes: that of the most frequent value in the whole table."
    ]
    shown = facts["guesses"][:12]
    if len(shown) < len(facts["guesses"]):
        words.append(f"The charts show the first {len(shown)} of {len(facts['guesses'])} sensitive columns.")
    figures = [_guess_figure(guess, facts["counted"]) for guess in shown]
    return Section("sensitive", heading, words, figures=figures)


def _guess_figure(guess: dict[str, Any], whom: str) -> Figure:
    fewest, values = guess["fewest_values"], guess["values"]
    variety = f"The least varied class has {fewest:,} of the {values:,} different values."
    sentence = (
        f"The guess is right for {percent(guess['average'])} of all {whom}, and for up to "
        f"{percent(guess['highest'])} of a class; without classes, for {percent(guess['table'])}. "
        f"{'All records have the same value.' if values == 1 else variety}"
    )
    rows = [[f"{b['from']:.0%} to {b['to']:.0%}", percent(b["share"])] for b in guess["bins"]]
    table = Table(("confidence", f"share of {whom}"), rows)
    return drawn(guess["name"], charts.guesses_chart(guess), sentence, table)


def _riskiest_section(facts: dict[str, Any]) -> Section | None:
    found = facts.get("riskiest")
    if not found:
        return None
    shown = found["columns"][:12]
    guessed = bool(facts["guesses"])
    whom = "people" if "people" in found["classes"][0] else "records"
    head = (whom, "chance to find a person", *(("best guess",) if guessed else ()), *shown)
    rows = []
    for c in found["classes"]:
        labels = ["(missing)" if label is None else label for label in c["values"][: len(shown)]]
        rows.append([c[whom], percent(c["chance"]), *([percent(c["guess"])] if guessed else []), *labels])
    which = "All classes" if len(rows) == found["of"] else f"{len(rows)} of {found['of']:,} classes"
    words = [f"{which}, beginning with those that reveal most."]
    if len(shown) < len(found["columns"]):
        words.append(f"The table shows the first {len(shown)} of {len(found['columns'])} quasi-identifiers.")
    return Section("riskiest", "The riskiest classes", words, tables=[Table(head, rows)])


_PEOPLE = {
    "new": "people published for the first time",
    "kept": "people who were published before",
    "gone": "people of earlier releases who have left",
    "passed_on": "newcomers who took over the place of somebody who left",
    "resting": "people withheld because their group cannot be shown",
    "waiting": "newcomers withheld until there are more of them",
}


def together_section(facts: dict[str, Any]) -> Section | None:
    """What all releases leave to somebody who has them; None without a ledger."""
    together = facts["together"]
    if together is None:
        return None
    tables = []
    if "people" in together:
        rows = [[words, together["people"][name]] for name, words in _PEOPLE.items()]
        tables.append(Table(("people", "how many"), rows))
    return Section("together", "Together with earlier releases", together_sentences(together), tables=tables)
