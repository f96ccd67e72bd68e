"""From facts to the parts of the page."""

from __future__ import annotations

from typing import Any

from kohort.problem.costs import COSTS
from kohort.report.class_sections import classes_section, riskiest_section, sensitive_section
from kohort.report.column_sections import columns_section, distributions_section
from kohort.report.page import Section, Table
from kohort.report.risk_and_utility_sections import risk_section, utility_section
from kohort.report.sentences import advice_sentences, capitalized, method_sentences
from kohort.report.together_section import together_section

__all__ = ["reproduce_section", "sections"]


def sections(facts: dict[str, Any]) -> list[Section]:
    """The parts of the page in their order; those that have nothing to say are left out."""
    parts = [
        _next(facts),
        _done(facts),
        columns_section(facts),
        distributions_section(facts),
        classes_section(facts),
        sensitive_section(facts),
        together_section(facts),
        risk_section(facts),
        utility_section(facts),
        riskiest_section(facts),
        _losses(facts),
        _notes(facts),
        reproduce_section(facts),
    ]
    return [part for part in parts if part is not None]


def _next(facts: dict[str, Any]) -> Section | None:
    points = advice_sentences(facts)
    return Section("next", "What to do next", points=points) if points else None


def _done(facts: dict[str, Any]) -> Section:
    models = [
        [capitalized(m["promise"]), m["asked"], m["measured"], _holds(m["holds"])] for m in facts["models"]
    ]
    checks = [
        [check.get("detail", capitalized(check["check"])), _holds(check["holds"])]
        for check in facts["checks"]
    ]
    held = sum(check["holds"] is True for check in facts["checks"])
    return Section(
        "done",
        "What was done, and why",
        method_sentences(facts),
        tables=[
            Table(("promise", "asked", "measured", "holds"), models),
            Table(("check against the original", "holds"), checks, f"{held} of {len(checks)} checks hold"),
        ],
    )


def _holds(holds: bool | None) -> str:
    return {True: "yes", False: "NO", None: "not checked"}[holds]


def _losses(facts: dict[str, Any]) -> Section:
    rows = [
        [name, value, COSTS[name].meaning if name in COSTS else ""] for name, value in facts["loss"].items()
    ]
    table = Table(("measure", "value", "what it counts"), rows)
    return Section("losses", "All measures of information loss", tables=[table])


def _notes(facts: dict[str, Any]) -> Section | None:
    points = [*facts["notes"], *facts["left_out"]]
    return Section("notes", "Notes", points=points) if points else None


def _files(facts: dict[str, Any]) -> list[list[Any]]:
    """The hashes of the files; in public, a commitment that only the steward can open for the original."""
    rows = [["SHA-256 of the release", facts["sha256"]["output"] or "not in a file"]]
    if facts["commitment"] is not None:
        rows.insert(0, ["commitment to the original", facts["commitment"]])
    if facts["report"] == "internal":
        hashed = facts["original_sha256"] or "not from a file"
        rows.insert(0, ["SHA-256 of the original (keep it private)", hashed])
    return rows


def _of_the_run(facts: dict[str, Any]) -> list[list[Any]]:
    """The seed, and whether time ran out: the holder's alone."""
    if facts["report"] == "public":
        return []
    return [
        ["seed", str(facts["seed"])],
        ["stopped by a time limit", "yes" if facts["cut_by_time"] else "no"],
    ]


_SAME = "The same input, spec, version and seed give the same release, byte for byte."
_CUT = (
    "A time limit stopped the search, so the same input, spec, version and seed may give another release, "
    "which "
    "keeps the same promises."
)


def reproduce_section(facts: dict[str, Any]) -> Section:
    """How to make or check the release again: version, parameters, hashes, command and spec."""
    rows = [
        ["version of Kohort", facts["version"]],
        ["algorithm", facts["algorithm"]],
        [
            "parameters",
            ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items()) or "none",
        ],
        *_of_the_run(facts),
        ["labels", facts["labels"]],
        *_files(facts),
    ]
    if "seconds" in facts:
        rows.append(
            ["seconds", ", ".join(f"{phase} {value:.2f}" for phase, value in facts["seconds"].items())]
        )
    making = facts.get("making", {})
    code = [
        (title, making[key]) for key, title in (("command", "Command"), ("spec", "Spec")) if key in making
    ]
    words = [_CUT if facts["cut_by_time"] else _SAME]
    if facts["report"] == "public":
        words = ["Check the release against its certificate: kohort verify RELEASE --certificate CERTIFICATE"]
    return Section(
        "reproduce", "How to reproduce it", words, tables=[Table(("what", "value"), rows)], code=code
    )
