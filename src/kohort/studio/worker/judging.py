"""Questions about the release that was made: the parts of its report, single records, attacks, queries."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import InputError, UnsupportedError
from kohort.release.release import Release
from kohort.report.facts import report_facts
from kohort.report.html import big_figures
from kohort.report.sections import sections
from kohort.report.sentences import advice_of, traffic_light_of, verdict_sentences
from kohort.studio.worker.cells import first_rows
from kohort.studio.worker.lattices import lattice_of
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Workplace
from kohort.utility.queries import Query, answers

_MOST_RECORDS = 20
_MOST_VALUES = 300
_MOST_CONDITIONS = 3
_APART = ("reproduce", "riskiest")  # sections of the report that the studio shows in its own way


def report_parts(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """The parts of the internal report as plain data, with their charts drawn."""
    facts = report_facts(workplace.release, judged=workplace.judged(telling))
    light = traffic_light_of(facts)
    return {
        "light": {"colour": light.colour, "title": light.title},
        "verdict": verdict_sentences(facts),
        "cautions": [caution["what"] for caution in facts["cautions"]] if facts["holds"] else [],
        "advice": advice_of(facts),
        "figures": big_figures(facts),
        "sections": [asdict(section) for section in sections(facts) if section.name not in _APART],
        "quasi_identifiers": facts["quasi_identifiers"],
        "riskiest": facts["riskiest"],
        "counted": facts["counted"],
        "sensitive": facts["sensitive"],
        "lattice": lattice_of(workplace.release),
    }


def records(workplace: Workplace, telling: Telling, *, first: int, klass: int | None) -> dict[str, Any]:
    """Some published records beside their originals: from a place on, or those of a class."""
    release = workplace.release
    sides, originals = release.sides, release.original_rows
    if klass is None:
        chosen = np.arange(first, min(first + _MOST_RECORDS, len(originals)))
    else:
        chosen = np.flatnonzero(sides.after.of_record == klass)[first : first + _MOST_RECORDS]
    shown = _shown_columns(release)
    before = release.dataset.frame.select(shown).to_arrow().take(originals[chosen])
    after = release.arrow.select(shown).take(chosen)
    sizes = sides.sizes_after[sides.after.of_record[chosen]]
    return {
        "columns": shown,
        "classes": bool(release.problem.attributes),
        "first": first,
        "of": len(originals) if klass is None else int(sides.after.sizes[klass]),
        "counted": sides.counted,
        "rows": [
            {
                "original": int(originals[place]) + 1,
                "class": int(sides.after.of_record[place]),
                "size": int(size),
                "before": b,
                "after": a,
            }
            for place, size, b, a in zip(chosen.tolist(), sizes, first_rows(before), first_rows(after))
        ],
    }


def _shown_columns(release: Release) -> list[str]:
    """The columns that are shown of a record: what may be known of it, what is sensitive, and its items."""
    items = [] if release.files.columns_of_events else release.roles.having("items")
    return [*release.roles.having("quasi-identifier"), *release.roles.having("sensitive"), *items]


def attack(workplace: Workplace, telling: Telling, *, known: list[str], targets: int) -> dict[str, Any]:
    """The linkage attack of somebody who knows these columns of people drawn at random."""
    return workplace.release.risk(known=known, targets=targets)["linkage"]


def _columns(release: Release) -> list[Column]:
    """The columns that a query may ask about, in the order in which `answers` numbers them."""
    return [*(a.column for a in release.sides.attributes), *release.sides.sensitive]


def values(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """The columns that a query may ask about, with their values."""
    return {
        "columns": [
            {
                "name": column.name,
                "ordered": column.ordered,
                "values": [text for text in column.texts if text is not None][:_MOST_VALUES],
                "distinct": len(column.texts),
            }
            for column in _columns(workplace.release)
        ]
    }


def query(workplace: Workplace, telling: Telling, *, conditions: list[dict[str, Any]]) -> dict[str, Any]:
    """COUNT the records that meet up to three conditions: the true answer, and the one from the release."""
    release = workplace.release
    columns = _columns(release)
    place_of = {column.name: place for place, column in enumerate(columns)}
    named = [condition["column"] for condition in conditions]
    if not named or len(named) > _MOST_CONDITIONS or len(set(named)) < len(named):
        raise InputError("Choose one to three different columns.")
    if any(name not in place_of for name in named):
        raise InputError("A query asks about quasi-identifiers and sensitive columns.")
    chosen = tuple(_chosen(columns[place_of[c["column"]]], c) for c in conditions)
    asked = Query(0, tuple(place_of[name] for name in named), chosen)
    true, expected = answers(release.sides, [asked], np.arange(release.dataset.n_records))
    error = None if not true[0] else abs(float(expected[0]) - float(true[0])) / float(true[0])
    return {"true": float(true[0]), "expected": float(expected[0]), "error": error}


def _chosen(column: Column, condition: dict[str, Any]) -> np.ndarray:
    """For each value of a column, whether the condition holds."""
    texts = list(column.texts)
    if "values" in condition:
        return np.array([text in condition["values"] for text in texts])
    low, high = condition["from"], condition["to"]
    if low not in texts or high not in texts:
        raise InputError("The ends of a range must be values of the column.")
    place = np.arange(len(texts))
    return (place >= texts.index(low)) & (place <= texts.index(high))


def recoding_map(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """How each value is published, where the algorithm publishes a value alike in all records."""
    release = workplace.release
    try:
        release.value_maps()
    except UnsupportedError as error:
        return {"columns": [], "reason": str(error)}
    found = []
    for attribute in release.problem.attributes:
        label_of = release.recoding.maps(attribute)
        labels: dict[str, int] = {}
        for text, count in zip(attribute.column.texts, attribute.column.counts.tolist()):
            label = str(label_of[text])
            labels[label] = labels.get(label, 0) + count
        pairs = [[text, label_of[text]] for text in attribute.column.texts[:_MOST_VALUES]]
        found.append(
            {
                "name": attribute.name,
                "values": len(attribute.column.texts),
                "labels": [{"label": label, "records": n} for label, n in labels.items()][:_MOST_VALUES],
                "pairs": pairs,
            }
        )
    return {"columns": found, "reason": None}
