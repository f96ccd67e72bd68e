"""Attribute maps: how a release publishes every value of its quasi-identifiers, for use on other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

import pyarrow as pa

from kohort.data.column import Column, Kind, code_column, unsigned_zero
from kohort.data.domain import STAR
from kohort.data.hierarchies.label_ranges import values_in_interval
from kohort.data.hierarchy import Hierarchy
from kohort.data.times import moment_of_text
from kohort.errors import UnsupportedError
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.recoding.recoding import Recoding
from kohort.statement import Statement
from kohort.statement.columns import columns_of
from kohort.version import __version__


@dataclass(frozen=True)
class ColumnMap:
    """What each value of a column is published as.

    values        by value; a missing value is None
    intervals     published intervals, each for all values of the column's kind that lie in it
    rest_is_star  whether any other value is published as `*`
    kind          the kind of the column: integer, float, date, ...
    """

    values: Mapping[str | None, str | None] = field(default_factory=dict)
    intervals: tuple[str, ...] = ()
    rest_is_star: bool = False
    kind: Kind = "string"

    def published(self, texts: Sequence[str | None]) -> tuple[list[str | None], list[bool]]:
        """What each of these values is published as, and whether the map knows it."""
        if self.kind == "boolean":  # true, True or TRUE
            spelled = {text.lower(): text for text in self.values if text is not None}
            texts = [text if text is None else spelled.get(text.lower(), text) for text in texts]
        if self.kind in ("integer", "float"):
            texts = [text if text is None else unsigned_zero(text) for text in texts]
        inside = self._inside([text for text in texts if text is not None and text not in self.values])
        known = [self.rest_is_star or text in self.values or text in inside for text in texts]
        labels = [self.values.get(text, inside.get(text, STAR)) for text in texts]
        return labels, known

    def _inside(self, texts: Sequence[str]) -> dict[str | None, str | None]:
        """The values that lie in exactly one interval, and that interval."""
        texts = [text for text in texts if _is_of_kind(text, self.kind)]
        if not texts or not self.intervals:
            return {}
        return _by_interval(code_column("", pa.array(texts)), self.intervals)


@dataclass(frozen=True, eq=False)
class Maps:
    """The maps of a release, and what else is needed to publish another table in the same way.

    request  roles, identifiers, models and suppression; the hierarchies are those of sensitive columns only
    columns  the map of each quasi-identifier
    """

    request: Statement
    columns: Mapping[str, ColumnMap]
    algorithm: str
    spec_sha256: str | None = None
    version: str = __version__


def refuse_no_maps(problem: Problem, recoding: Recoding, algorithm: str) -> None:
    """Refuse a release that has no maps: it must publish a value the same way wherever it occurs."""
    if problem.items is not None:
        raise UnsupportedError("Maps are of quasi-identifiers. A column of items has none.")
    if not recoding.is_global:
        raise UnsupportedError(
            f"{algorithm} publishes the same value differently in different classes, so there are no maps to "
            "write. Choose an algorithm that recodes globally, such as full-domain."
        )
    if problem.tight:
        raise UnsupportedError(
            "With labels: tight, what is published depends on the values that the records have. "
            "Maps need labels: hierarchy."
        )


def maps_of(request: Statement, problem: Problem, recoding: Recoding, *, algorithm: str) -> Maps:
    """The maps of a release, which are refused where there are none."""
    refuse_no_maps(problem, recoding, algorithm)
    return Maps(
        request=_to_keep(request, problem),
        columns={a.name: _column_map(a, recoding.maps(a)) for a in problem.attributes},
        algorithm=algorithm,
    )


def _to_keep(request: Statement, problem: Problem) -> Statement:
    sensitive = problem.sensitive
    if request.perturbations or set(request.publish.values()) - {"interval"}:
        raise UnsupportedError(
            "Maps say what a value is published as. Perturbed columns, means and medians have none: leave "
            "the maps out."
        )
    columns = columns_of(
        request.roles.of,
        hierarchy={n: s.hierarchy for n, s in sensitive.items() if s.hierarchy is not None},
        order={n: tuple(order) for n, order in request.orders.items() if n in sensitive},
        treatment=request.treatments,
        join=request.joins,
    )
    return Statement.of(
        columns=columns, others=request.roles.others, promises=request.models, **request.kept_by_maps
    )


def _column_map(attribute: Attribute, label_of: Mapping[str | None, str | None]) -> ColumnMap:
    """The map of a column; where it has a hierarchy, without values that only the data has."""
    domain, column = attribute.domain, attribute.column
    hidden = isinstance(domain, Hierarchy) and bool(domain.hidden.any())
    if set(label_of.values()) == {STAR}:
        return ColumnMap(rest_is_star=True, kind=column.kind)
    if isinstance(domain, Hierarchy):
        lacking = {text for text, hides in zip(domain.leaves, domain.hidden) if hides}
        label_of = {text: label for text, label in label_of.items() if text not in lacking}
    listed = ColumnMap(label_of, rest_is_star=hidden, kind=column.kind)
    texts = [text for text in label_of if text is not None and _is_of_kind(text, column.kind)]
    if column.listed or not texts:
        return listed
    intervals = tuple(sorted({label for label in label_of.values() if label and label.startswith("[")}))
    inside = _by_interval(code_column("", pa.array(texts)), intervals)
    rest = {text: label for text, label in label_of.items() if inside.get(text) != label or text is None}
    in_use = {inside[text] for text in label_of if text is not None and text not in rest}
    return replace(listed, values=rest, intervals=tuple(i for i in intervals if i in in_use))


def _by_interval(column: Column, intervals: Sequence[str]) -> dict[str | None, str | None]:
    """The interval of each value that lies in exactly one of the intervals."""
    if not column.ordered:
        return {}
    found: dict[str | None, list[str]] = {}
    for label in intervals:
        for text in values_in_interval(label, column):
            found.setdefault(text, []).append(label)
    return {text: labels[0] for text, labels in found.items() if len(labels) == 1}


def _is_of_kind(text: str, kind: Kind) -> bool:
    """Whether a text can be compared with the ends of intervals."""
    try:
        if kind == "date":
            date.fromisoformat(text)
        elif kind == "datetime":
            return moment_of_text(text) is not None
        else:
            float(text)
    except ValueError:
        return False
    return kind not in ("string", "boolean")
