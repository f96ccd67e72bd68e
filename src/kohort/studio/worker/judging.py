"""Questions about the release that was made: its report, single records, attacks, queries, maps, lattice."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import product
from typing import Any

import numpy as np

from kohort.algorithms.levels import level_nodes
from kohort.data.column import Column
from kohort.data.counting import count_pairs
from kohort.errors import InputError, UnsupportedError
from kohort.job.sides import BasketPair
from kohort.recoding.items import DROPPED, WITHHELD
from kohort.recoding.recoding import STATES, Lattice
from kohort.release.release import Release
from kohort.report.facts import report_facts
from kohort.report.html import big_figures
from kohort.report.sections import sections
from kohort.report.sentences import advice_of, traffic_light_of, verdict_sentences
from kohort.studio.worker.describing import first_rows, most_common
from kohort.studio.worker.workplace import Workplace
from kohort.utility.queries import Query, answers, item_answers

_MOST_RECORDS = 20
_MOST_VALUES = 300
_MOST_CONDITIONS = 3
_APART = ("reproduce", "riskiest")  # sections of the report that the studio shows in its own way


def report_parts(workplace: Workplace) -> dict[str, Any]:
    """The parts of the internal report as plain data, with their charts drawn."""
    facts = report_facts(workplace.release, judged=workplace.judged())
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


def records(workplace: Workplace, *, first: int, klass: int | None) -> dict[str, Any]:
    """Some published records beside their originals: from a place on, or those of a class."""
    release = workplace.release
    sides, originals = release.sides, release.original_rows
    if klass is None:
        chosen = np.arange(first, min(first + _MOST_RECORDS, len(originals)))
    else:
        chosen = np.flatnonzero(sides.after.of_record == klass)[first : first + _MOST_RECORDS]
    # what may be known of a record, what is sensitive, and its items
    kinds = ("quasi-identifier", "sensitive", *(() if release.files.columns_of_events else ("items",)))
    shown = [name for kind in kinds for name in release.roles.having(kind)]
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


def attack(workplace: Workplace, *, known: list[str], targets: int) -> dict[str, Any]:
    """The linkage attack of somebody who knows these columns of people drawn at random."""
    return workplace.release.risk(known=known, targets=targets)["linkage"]


def _columns(release: Release) -> list[Column]:
    """The columns that a query may ask about, in the order in which `answers` numbers them."""
    return [*(a.column for a in release.sides.attributes), *release.sides.sensitive]


def values(workplace: Workplace) -> dict[str, Any]:
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


def query(workplace: Workplace, *, conditions: list[dict[str, Any]]) -> dict[str, Any]:
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
    return _answered(*answers(release.sides, [asked], np.arange(release.dataset.n_records)))


def _answered(true: np.ndarray, expected: np.ndarray) -> dict[str, Any]:
    """The answer to one query, and how far the expected one is from the true one."""
    right, guess = float(true[0]), float(expected[0])
    return {"true": right, "expected": guess, "error": abs(guess - right) / right if right else None}


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


def recoding_map(workplace: Workplace) -> dict[str, Any]:
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


# -- baskets -----------------------------------------------------------------------------------------


_MOST_ITEMS = 300
_MOST_ASKED = 3
_MOST_LABELS = 4  # of one item, where it is published in different ways
_NO_LABEL = {WITHHELD: "(its basket is withheld)", DROPPED: "(dropped)"}


def _pair(workplace: Workplace) -> BasketPair:
    pair = workplace.release.sides.baskets
    if pair is None:
        raise InputError("This release has no items.")
    return pair


def item_attack(workplace: Workplace, *, known_items: int, targets: int) -> dict[str, Any]:
    """The linkage attack of somebody who knows this many items of people drawn at random."""
    _pair(workplace)
    return workplace.release.risk(known_items=known_items, targets=targets)["linkage"]


def items(workplace: Workplace) -> dict[str, Any]:
    """The items that a query may ask about, the most common first."""
    baskets = _pair(workplace).original
    return {"items": most_common(baskets, _MOST_ITEMS), "distinct": len(baskets.items.texts)}


def item_query(workplace: Workplace, *, items: list[str]) -> dict[str, Any]:
    """COUNT the baskets that hold all of these items: the true answer, and the one from the release."""
    pair = _pair(workplace)
    code_of = {text: code for code, text in enumerate(pair.original.items.texts)}
    if not 1 <= len(set(items)) <= _MOST_ASKED or any(item not in code_of for item in items):
        raise InputError("Choose one to three different items of the table.")
    asked = np.array([code_of[item] for item in dict.fromkeys(items)])
    return _answered(*item_answers(pair, [asked]))


def item_map(workplace: Workplace) -> dict[str, Any]:
    """What each of the most common items is published as, and in how many baskets."""
    part = workplace.release.items
    if part is None:
        raise InputError("This release has no items.")
    column, published = part.problem.baskets.items, part.problem.hierarchy.published
    nodes = part.recoding.node_of_occurrence.astype(np.int64)
    shift = -min(_NO_LABEL)  # so that withheld and dropped ones have numbers from 0, too
    item, node, count = count_pairs(column.codes, nodes + shift, len(column.texts), len(published) + shift)
    first = np.searchsorted(item, np.arange(len(column.texts) + 1))
    found = []
    for code in np.argsort(-column.counts, kind="stable")[:_MOST_ITEMS].tolist():
        places = slice(first[code], first[code + 1])
        shown = (node[places] - shift).tolist()
        names = [_NO_LABEL[place] if place < 0 else str(published[place]) for place in shown]
        labels = dict(zip(names, count[places].tolist()))
        often = sorted(labels.items(), key=lambda label: -label[1])
        words = ", ".join(f"{label} ({n:,})" for label, n in often[:_MOST_LABELS])
        words += f" and {len(often) - _MOST_LABELS} more" if len(often) > _MOST_LABELS else ""
        found.append([str(column.texts[code]), often[0][0] if len(often) == 1 else words])
    used = len(part.recoding.nodes_used())
    return {"items": found, "distinct": len(column.texts), "published": used}


# -- the lattice of levels that a full-domain search has searched -----------------------------------


MOST_NODES = 150  # nodes that are drawn; of a larger lattice those that are nearest to the chosen one
_WIDEST = 16  # nodes in a row, where not all are drawn


def lattice_of(release: Release) -> dict[str, Any] | None:
    """The levels of each column, the nodes to draw and how many nodes are in each state; None without one.

    A larger lattice is drawn around the chosen node, as far as the limit allows.
    """
    lattice = release.recoding.lattice
    if lattice is None:
        return None
    counts = np.bincount(lattice.states.ravel(), minlength=len(STATES))
    return {
        "columns": _levels(release, lattice),
        "nodes": [_node(lattice, levels) for levels in _drawn(lattice)],
        "of": int(lattice.states.size),
        "most": MOST_NODES,
        "counts": {name: int(count) for name, count in zip(STATES, counts)},
    }


def _levels(release: Release, lattice: Lattice) -> list[dict[str, Any]]:
    """For each column how many different labels each of its levels has, and the level that is published."""
    problem = release.problem
    return [
        {
            "name": attribute.name,
            "chosen": int(chosen),
            "labels": [len(np.unique(nodes)) for nodes in level_nodes(hierarchy)],
        }
        for attribute, hierarchy, chosen in zip(problem.attributes, problem.coded.hierarchies, lattice.chosen)
    ]


def _drawn(lattice: Lattice) -> list[tuple[int, ...]]:
    """All nodes, or as many steps around the chosen one as the limit allows."""
    if lattice.states.size <= MOST_NODES:
        return list(np.ndindex(lattice.states.shape))
    found, steps = [lattice.chosen], 1
    while len(wider := _around(lattice, steps)) <= MOST_NODES:
        if steps > 1 and max(Counter(map(sum, wider)).values()) > _WIDEST:
            break  # nodes with the same sum of levels stand in a row
        found, steps = wider, steps + 1
    return found


def _around(lattice: Lattice, steps: int) -> list[tuple[int, ...]]:
    """The nodes that are at most so many steps up or down from the chosen one."""
    ranges = [
        range(max(level - steps, 0), min(level + steps, n - 1) + 1)
        for level, n in zip(lattice.chosen, lattice.states.shape)
    ]
    near = (
        levels
        for levels in product(*ranges)
        if sum(abs(a - b) for a, b in zip(levels, lattice.chosen)) <= steps
    )
    return sorted(near)


def _node(lattice: Lattice, levels: tuple[int, ...]) -> dict[str, Any]:
    state = STATES[int(lattice.states[levels])]
    return {"levels": list(levels), "state": state, "chosen": levels == lattice.chosen}
