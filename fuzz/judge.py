"""Judge what came of a case by definition alone: complaints, or none."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cached_property
from typing import Any

from by_definition.original_columns import OriginalColumn
from by_definition.published_columns import reading_of
from by_definition.verification import classes
from fuzz.attempt import Outcome
from fuzz.case import Case, python_values
from fuzz.judge_figures import figure_complaints
from fuzz.judge_items import items_complaints
from fuzz.judge_labels import meaning_complaints
from fuzz.judge_models import model_complaints
from fuzz.judge_refusals import refusal_complaints

__all__ = ["Judged", "complaints"]

STAR = "*"
TEXT_FILES = ("csv", "csv.gz", "tsv", "jsonl", "xlsx")


def complaints(case: Case, outcome: Outcome) -> list[str]:
    """Everything that is wrong with an outcome, a sentence each."""
    if outcome.crash is not None:
        return [f"crash: {outcome.crash}"]
    if outcome.refusal is not None:
        return refusal_complaints(case, *outcome.refusal)
    judged = Judged(case, outcome)
    found = judged.row_complaints()
    if found:  # nothing can be compared record by record
        return found
    if case.quasi:
        found += judged.coverage_complaints()
        found += judged.class_complaints()
    if case.items is not None:
        found += items_complaints(judged)
    if case.quasi and not found:
        found += meaning_complaints(judged)
        found += figure_complaints(judged)
    return found


@dataclass
class Judged:
    """A case and its release, side by side; `rows` are the originals of the published records."""

    case: Case
    outcome: Outcome

    @property
    def release(self) -> Any:
        return self.outcome.release

    @property
    def table(self) -> dict[str, list]:
        assert self.outcome.table is not None
        return self.outcome.table

    @cached_property
    def rows(self) -> list[int]:
        if "row" in self.table:
            return [int(row) for row in self.table["row"]]
        return list(range(len(next(iter(self.table.values())))))

    @cached_property
    def originals(self) -> dict[str, OriginalColumn]:
        orders = self.case.options.get("orders", {})
        return {
            name: OriginalColumn(python_values(column), orders.get(name))
            for name, column in self.case.columns.items()
            if column.kind != "items"
        }

    @cached_property
    def readings(self) -> dict[str, Any]:
        """Per quasi-identifier how its labels are read."""
        tight = self.case.options.get("labels") == "tight"
        found = {}
        for name in self.case.quasi:
            original = self.originals[name]
            paths = _spelled_as_in(original, self.paths(name))
            leaves = {path[0] for path in paths} if paths else set()
            missing = [text for text in original.distinct if paths and text not in leaves]
            found[name] = reading_of(original, paths=paths, tight=tight, missing=missing)
        return found

    def paths(self, name: str) -> list | None:
        """Of a hierarchy that the case gives; of one that was built, as it was built."""
        source = self.case.quasi[name]
        if source is None:
            return None
        if isinstance(source, dict) and ("paths" in source or "csv" in source):
            return source.get("paths") or [[leaf or None, *rest] for leaf, *rest in source["csv"]]
        attribute = next(a for a in self.release.problem.attributes if a.name == name)
        return [path for path in attribute.domain.paths() if path[0] is not None] or None

    @cached_property
    def looks(self) -> list[tuple]:
        """Per published record what it looks like."""
        return list(zip(*(self.table[name] for name in self.case.quasi)))

    @cached_property
    def starred(self) -> list[bool]:
        """Per published record whether it is `*` everywhere."""
        return [all(label == STAR for label in look) for look in self.looks]

    @property
    def most_withheld(self) -> int:
        return int(Fraction(str(self.case.options.get("suppression", 0))) * self.case.n)

    @property
    def dropped(self) -> int:
        return self.case.n - len(self.rows)

    def row_complaints(self) -> list[str]:
        """Records lost, doubled or invented; columns missing, published or changed that should not be."""
        case, rows = self.case, self.rows
        found = []
        expected = [
            name for name in case.columns if name not in (*case.identifiers, case.person, case.weight)
        ]
        if list(self.table) != expected:
            return [f"columns: {list(self.table)} instead of {expected}"]
        if len(set(rows)) < len(rows) or not set(rows) <= set(range(case.n)):
            return [f"rows: {rows} are not some of the {case.n} records, each once"]
        if self.dropped > self.most_withheld:
            found.append(f"withheld: {self.dropped} records are left out, {self.most_withheld} may be")
        if case.options.get("shuffle", "auto") is False and rows != sorted(rows):
            found.append("order: the records are in another order although nobody asked for that")
        for name in (*case.sensitive, *case.insensitive):
            before, after = python_values(case.columns[name]), self.table[name]
            if case.frame in TEXT_FILES:  # text files have no types
                before, after = _untyped(case.columns[name].kind, before, after)
            if [before[row] for row in rows] != after:
                found.append(f"conserved: column {name!r} was changed")
        return found

    def coverage_complaints(self) -> list[str]:
        """Published values that nobody can read, or that do not cover their originals."""
        found = []
        for name, reading in self.readings.items():
            texts = self.originals[name].texts
            for label, row in zip(self.table[name], self.rows):
                generalized = reading.generalized(label)
                if generalized is None:
                    found.append(f"coverage: nobody can read the label {label!r} of {name!r}")
                elif texts[row] not in generalized.leaves:
                    found.append(f"coverage: {label!r} of {name!r} does not cover {texts[row]!r}")
                elif label is None and self.case.options.get("nulls") == "star":
                    found.append(f"nulls: a missing value of {name!r} is published")
        return sorted(set(found))

    def class_complaints(self) -> list[str]:
        """Classes that break a promise. Withheld records may be `*` as far as the limit allows."""
        found = []
        for look, records in classes(list(zip(*self.looks))).items():
            rows = [self.rows[record] for record in records]
            broken = model_complaints(self.case, self.originals, rows)
            everywhere = all(label == STAR for label in look)
            if broken and not (everywhere and len(rows) + self.dropped <= self.most_withheld):
                found += [f"model: {text} in the class {look!r}" for text in broken]
        return found


def _spelled_as_in(original: OriginalColumn, paths: list | None) -> list | None:
    """The paths with leaves such as 7.0 spelled as 7 where the column holds whole numbers."""
    if paths is None:
        return None
    whole = {f"{text}.0": text for text in original.distinct}
    return [[whole.get(leaf, leaf), *rest] for leaf, *rest in paths]


def _untyped(kind: str, before: list, after: list) -> tuple[list, list]:
    """Values and what a file without types made of them, as something that can be compared."""
    read = _SPELLED.get(kind)
    if read is None:
        return OriginalColumn(before).texts, OriginalColumn(after).texts
    return before, [None if value is None else read(str(value)) for value in after]


_SPELLED = {  # what files spell in several ways: -0.0 and 0, a time with a T or a space, fewer digits
    "float": float,
    "datetime": datetime.fromisoformat,
}
