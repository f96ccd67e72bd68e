"""Random hierarchies, tables and problems, all of them such that a release can be had."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

import kohort as ko
from kohort.data.column import code_column

NASTY_TEXTS = (
    "a",
    "b",
    "{a, b}",
    " a",
    "a ",
    "x,y",
    'say "hi"',
    "two\nlines",
    "\r",
    "",
    "[a, b]",
    "*",
    "é",
    "(A)",
)
PLAIN_TEXTS = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu")
INNER_LABELS = ("A", "B", "C", "D")


# -- hierarchies -----------------------------------------------------------------------------------


@st.composite
def paths_over(draw, leaves, labels=INNER_LABELS):
    """Paths of a random tree over these leaves: unbalanced, with unary chains and repeated labels."""
    order = draw(st.permutations(leaves))
    return [(leaf, *path, "*") for leaf, path in _grow(draw, order, labels, depth=0)]


def _grow(draw, leaves, labels, depth):
    """Pairs of a leaf and its inner labels below the root, the lowest first."""
    if depth == 4 or not draw(st.booleans()):
        return [(leaf, ()) for leaf in leaves]
    if len(leaves) == 1:
        label = draw(st.sampled_from(labels))  # a unary chain
        return [(leaf, (*path, label)) for leaf, path in _grow(draw, leaves, labels, depth + 1)]
    cut = draw(st.integers(1, len(leaves)))
    below = []
    for part in (leaves[:cut], leaves[cut:]):
        label = draw(st.sampled_from(labels))
        if part:
            below += [(leaf, (*path, label)) for leaf, path in _grow(draw, part, labels, depth + 1)]
    return below


def hierarchies(leaves, labels=INNER_LABELS):
    return paths_over(leaves, labels).map(ko.Hierarchy.from_paths)


# -- columns ---------------------------------------------------------------------------------------

_DAY = date(2024, 2, 27)
_POOLS = {
    "integer": list(range(-3, 12)),
    "float": [-1.5, 0.0, 0.25, 2.0, 2.5, 1e6, 3.75],
    "date": [_DAY + timedelta(days) for days in range(6)],
    "datetime": [datetime(2024, 2, 27, 23, 59, 58) + timedelta(seconds=s / 2) for s in range(6)],
    "boolean": [False, True],
    "digits": ["7", "12", "100", "-3"],
    "text": list(NASTY_TEXTS),
    "plain": list(PLAIN_TEXTS),
}
KINDS = ("integer", "float", "date", "datetime", "boolean", "digits", "text")


@st.composite
def columns(draw, n, kinds=KINDS, nulls=True):
    """n values of one kind, in Arrow; some may be missing, even all."""
    pool = _POOLS[draw(st.sampled_from(kinds))]
    pool = pool[: draw(st.integers(1, len(pool)))]
    values = st.sampled_from(pool)
    if nulls and draw(st.booleans()):
        values = st.one_of(st.none(), values)
    drawn = draw(st.lists(values, min_size=n, max_size=n))
    return pa.array(drawn, pa.array(pool).type)


def texts_of(array):
    """The distinct values as hierarchies know them; no null."""
    return [text for text in code_column("x", array).texts if text is not None]


# -- models ----------------------------------------------------------------------------------------


@st.composite
def feasible_models(draw, n, sensitive):
    """k-anonymity, and perhaps more about the sensitive column, that the whole table satisfies."""
    models = [ko.KAnonymity(draw(st.integers(1, min(n, 6))))]
    if sensitive is not None and draw(st.booleans()):
        name, array = sensitive
        models += draw(st.lists(_about(name, array), min_size=1, max_size=2, unique_by=type))
    return models


def _about(name, array):
    counts = sorted(Counter(code_column("x", array).codes.tolist()).values(), reverse=True)
    n, distinct = sum(counts), len(counts)
    share = Fraction(counts[0], n)
    entropy = math.log(n) - sum(c * math.log(c) for c in counts) / n
    choices = [
        _between(1, 1 / share).map(lambda least: ko.LDiversity(name, least)),
        st.integers(1, distinct).map(lambda least: ko.LDiversity(name, least, kind="distinct")),
        st.floats(0, 1).map(
            lambda part: ko.LDiversity(name, max(1, math.exp(part * entropy) - 1e-6), kind="entropy")
        ),
        _between(share, 1).map(lambda alpha: ko.AlphaDeassociation(name, alpha)),
        _between(0, 1).map(lambda t: ko.TCloseness(name, t)),
        _between(Fraction(1, 4), 3).map(lambda delta: ko.DeltaDisclosure(name, delta)),
        st.tuples(_between(Fraction(1, 4), 3), st.sampled_from(["basic", "enhanced"])).map(
            lambda drawn: ko.BetaLikeness(name, *drawn)
        ),
    ]
    if distinct > 1:
        worst = Fraction(counts[0], sum(counts[1:]))
        choices.append(
            st.integers(1, 4).map(
                lambda more: ko.LDiversity(name, 2, kind="recursive", c=worst + Fraction(more, 4))
            )
        )
    return st.one_of(choices)


def _between(low, high):
    return st.integers(0, 8).map(lambda eighths: low + (Fraction(high) - low) * eighths / 8)


# -- whole problems --------------------------------------------------------------------------------


@dataclass
class Case:
    """A table and what is asked of it; `paths` are those of the hierarchies, for by-definition twins."""

    table: pa.Table
    quasi_identifiers: dict[str, Any]
    privacy: list[Any]
    sensitive: list[str]
    insensitive: list[str]
    options: dict[str, Any]
    paths: dict[str, list] = field(default_factory=dict)

    def anonymize(self, **changes):
        asked = {
            "quasi_identifiers": self.quasi_identifiers,
            "privacy": self.privacy,
            "sensitive": self.sensitive,
            "insensitive": self.insensitive,
            "shuffle": False,  # so that records can be compared with their originals
            **self.options,
        }
        return ko.anonymize(changes.pop("data", self.table), **asked | changes)

    @property
    def k(self):
        return self.privacy[0].k


@st.composite
def cases(draw, kinds=KINDS, max_records=24, free=True, labels=("hierarchy", "tight"), inner=INNER_LABELS):
    """`free`: also columns without a hierarchy, published as any interval or set."""
    n = draw(st.integers(1, max_records))
    arrays = {f"q{i}": draw(columns(n, kinds)) for i in range(draw(st.integers(1, 3)))}
    sensitive = (
        ("illness", draw(columns(n, ("plain", "integer", "boolean")))) if draw(st.booleans()) else None
    )
    privacy = draw(feasible_models(n, sensitive))
    hierarchies, paths = {}, {}
    for name, array in arrays.items():
        hierarchies[name] = None
        leaves = texts_of(array)
        if leaves and (not free or draw(st.booleans())):
            unused = draw(st.sampled_from([[], ["unused"], ["unused", "never"]]))
            paths[name] = draw(paths_over([*leaves, *unused], inner))
            hierarchies[name] = ko.Hierarchy.from_paths(paths[name])
    if sensitive is not None:
        arrays["illness"] = sensitive[1]
    arrays["rest"] = draw(columns(n))
    options = {
        "labels": draw(st.sampled_from(labels)),
        "cost": draw(st.sampled_from(("loss", "ncp", "tree"))),
        "seed": draw(st.integers(0, 3)),
    }
    texts = [name for name in hierarchies if name not in paths and pa.types.is_string(arrays[name].type)]
    if texts and draw(st.booleans()):
        options["orders"] = {texts[0]: draw(st.permutations([*texts_of(arrays[texts[0]]), "unused"]))}
    if draw(st.booleans()):
        options["weights"] = {"q0": draw(st.sampled_from([0.5, 3.0, 1e6]))}
    if "q1" in hierarchies and draw(st.booleans()):
        options["weights"] = {"q1": 0}
    return Case(
        table=pa.table(arrays),
        quasi_identifiers=hierarchies,
        privacy=privacy,
        sensitive=[] if sensitive is None else ["illness"],
        insensitive=["rest"],
        options=options,
        paths=paths,
    )
