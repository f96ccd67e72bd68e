"""What a published table gives away although every promise about it holds."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kohort.data.counting import stretches_of
from kohort.errors import counted, percent
from kohort.verification.promises import Counts, Promise
from kohort.verification.verdict import Caution


@dataclass(frozen=True)
class Certainty:
    """How certain the values of a sensitive column are, given the class.

    records  in all classes
    known    in classes that have one value
    values   the values that occur
    sure     the largest share of a class that has one value
    """

    records: int
    known: int
    values: frozenset[int]
    sure: float

    def __add__(self, other: Certainty) -> Certainty:
        """The same of two parts of a table together, each with whole classes."""
        return Certainty(
            self.records + other.records,
            self.known + other.known,
            self.values | other.values,
            max(self.sure, other.sure),
        )


def certainty_of(counts: Counts, kept: np.ndarray, how_many: Callable[[np.ndarray], int]) -> Certainty:
    """Measure how certain the values of a sensitive column are, as a class tells them.

    counts    how often each value of the column occurs in each class
    kept      per class whether it is published as a class; withheld records are in none
    how_many  the number of records or people in the classes that are chosen
    """
    certain = certain_classes(counts, kept)
    there = np.zeros(counts.n_values, dtype=bool)
    for cells in stretches_of(len(counts.value_of)):
        there[counts.value_of[cells][kept[counts.class_of[cells]]]] = True
    values = np.flatnonzero(there).tolist()
    sure = (counts.largest[kept] / counts.sizes[kept]).max() if kept.any() else 0.0
    return Certainty(how_many(kept), how_many(certain), frozenset(values), float(sure))


def certain_classes(counts: Counts, kept: np.ndarray) -> np.ndarray:
    """Per class whether it is published and all of its records, or people, have the same value."""
    certain: np.ndarray = kept & (counts.largest == counts.sizes)
    return certain


def caution_about(name: str, found: Certainty, *, promised: bool, whom: str = "record") -> list[Caution]:
    """The caution about a sensitive column, if any: no promise covers it, or a class gives its value away.

    promised  whether a model is about the column
    whom      what was counted: record or person; of people, those who have a value
    """
    records, known = found.records, found.known
    if not records or (promised and not known):
        return []
    if len(found.values) == 1:
        return [
            Caution(
                kind="one-value",
                what=f"All records have the same value of {name!r}, so everybody's value is known for "
                "certain.",
                advice="No promise can change that. If nobody should know it, leave the column out (role: "
                "identifier).",
                column=name,
                records=records,
            )
        ]
    everybody = counted(records, whom, "people" if whom == "person" else "records")
    who = f"{known:,} of {everybody} {'is' if known == 1 else 'are'} in classes that reveal"
    what = f"Nothing is promised about {name!r}, and {who} it for certain."
    if promised:
        what = f"{who} {name!r} for certain, which its promise allows."
    elif not known:
        best = f"the best guess is right for up to {percent(found.sure)} of a class"
        what = f"Nothing is promised about {name!r}; {best}."
    return [
        Caution(
            kind="known-for-certain" if promised else "no-promise",
            what=what,
            advice="Ask for diversity: several different values in every class (l: 2 or more).",
            column=name,
            records=known,
            add={"privacy": {"diversity": [{"attribute": name, "l": 2, "kind": "distinct"}]}},
        )
    ]


def no_promise_at_all(promises: Sequence[Promise]) -> list[Caution]:
    """A caution where nothing is asked for but k = 1, which every table keeps."""
    if any(promise.name != "k-anonymity" or promise.number("k") != 1 for promise in promises):
        return []
    return [_of_k_1("record")]


def cautions_of_baskets(k: int, sensitive: Sequence[str]) -> list[Caution]:
    """Cautions about baskets of which others may know nothing but items."""
    of_columns = [
        Caution(
            kind="no-promise",
            what=(
                f"Nothing is promised about {name!r}: baskets that share some items may share its value, too."
            ),
            advice="Publish it as sensitive items of the baskets (confidence), or leave the column out.",
            column=name,
        )
        for name in sensitive
    ]
    return ([_of_k_1("basket")] if k == 1 else []) + of_columns


def _of_k_1(record: str) -> Caution:
    return Caution(
        kind="k-is-1",
        what=f"k = 1 protects nobody: every {record} may be published as it is.",
        advice="Ask for a larger k, such as 5 or 10.",
    )


def cautions_of_spelling(name: str, texts: Sequence[str | None], counts: np.ndarray) -> list[Caution]:
    """The caution about a column with a promise, if some of its values differ in spelling alone.

    texts   the values; None for a missing one
    counts  how many published records have each

    >>> [caution] = cautions_of_spelling("illness", ("flu", "Flu", "gout"), np.array([3, 1, 2]))
    >>> caution.records
    4
    """
    spelled = defaultdict(list)
    for code in np.flatnonzero(counts).tolist():
        decomposed = unicodedata.normalize("NFD", texts[code] or "").strip().casefold()
        spelled[unicodedata.normalize("NFC", decomposed)].append(code)
    alike = [code for codes in spelled.values() if len(codes) > 1 for code in codes]
    if not alike:
        return []
    records = int(counts[alike].sum())
    what = (
        f"{counted(len(alike), 'value')} of {name!r}, in {counted(records, 'record')}, differ from another "
        "one only in capitals, in spaces around them or in how their letters are encoded, or are empty where "
        "others are missing; its promise takes them for different values."
    )
    advice = "Write equal values alike, and missing ones in one way; then make the release again."
    return [Caution("spelled-alike", what, advice, column=name, records=records)]
