"""Attribute maps: how a release publishes every value of its quasi-identifiers, for use on other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column, Kind, code_column, unsigned_zero
from kohort.data.counting import distinct_rows
from kohort.data.domain import STAR
from kohort.data.hierarchies.label_ranges import values_in_interval
from kohort.data.hierarchy import Hierarchy
from kohort.data.times import moment_of_text
from kohort.errors import InfeasibleError, InputError, UnsupportedError, counted
from kohort.job.figures import formula_notes, withheld_notes
from kohort.job.order import settle_order
from kohort.job.prepare import Prepared, prepare, settled_roles
from kohort.job.public import HoldsOriginal, committed
from kohort.job.publish import Published, holds_in, publish
from kohort.job.verify import verify_published
from kohort.problem.attribute import Attribute
from kohort.problem.problem import Problem
from kohort.problem.promises import KAnonymity
from kohort.recoding.recoding import PublishedColumn, Recoding
from kohort.statement import Statement
from kohort.statement.columns import columns_of
from kohort.tables.table import Table
from kohort.verification import Verdict
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
        others = [text for text in texts if text is not None and text not in self.values]
        inside = _by_interval(others, self.kind, self.intervals)
        known = [self.rest_is_star or text in self.values or text in inside for text in texts]
        labels = [self.values.get(text, inside.get(text, STAR)) for text in texts]
        return labels, known


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
    kept = Statement.of(
        columns=columns, others=request.roles.others, promises=request.models, **request.kept_by_maps
    )
    return Maps(kept, {a.name: _column_map(a, recoding.maps(a)) for a in problem.attributes}, algorithm)


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
    if column.listed:
        return listed
    intervals = tuple(sorted({label for label in label_of.values() if label and label.startswith("[")}))
    inside = _by_interval([text for text in label_of if text is not None], column.kind, intervals)
    rest = {text: label for text, label in label_of.items() if inside.get(text) != label or text is None}
    in_use = {inside[text] for text in label_of if text is not None and text not in rest}
    return replace(listed, values=rest, intervals=tuple(i for i in intervals if i in in_use))


def _by_interval(texts: Sequence[str], kind: Kind, intervals: Sequence[str]) -> dict[str | None, str | None]:
    """The interval of each value of this kind that lies in exactly one of the intervals."""
    texts = [text for text in texts if _is_of_kind(text, kind)]
    if not texts or not intervals:
        return {}
    column = code_column("", pa.array(texts))
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


@dataclass(frozen=True, eq=False, repr=False)
class Applied(HoldsOriginal):
    """A table that was recoded by the maps of a release. `table` is of the kind that came in.

    withheld  records that are `*` everywhere or left out
    unseen    per column the records whose value the maps do not know, published as `*`
    notes     sentences that the publisher of the table should read
    verdict   what was checked; None if nothing was asked for, and then nothing is promised
    """

    _instead = "Keep applied.table and applied.facts() instead; other processes should send these back."

    published: Published
    maps: Maps
    withheld: int
    unseen: dict[str, int]
    notes: tuple[str, ...]
    verdict: Verdict | None

    @property
    def table(self) -> Any:
        """The recoded table: pandas, Polars or PyArrow, as it came."""
        return self.published.native

    @property
    def arrow(self) -> pa.Table:
        """The recoded table in Arrow, with dictionaries where values repeat."""
        return self.published.arrow

    def facts(self, *, sha256: Mapping[str, str | None] | None = None) -> dict[str, Any]:
        """The facts that `--json` prints, without any cell of the data."""
        verdict = self.verdict and self.verdict.to_dict()
        return {
            "kohort": "applied maps",
            "version": __version__,
            "records": self.published.dataset.n_records,
            "suppressed": self.withheld,
            "unseen": self.unseen,
            "holds": verdict and verdict["holds"],
            "verdict": verdict,
            "maps": {"version": self.maps.version, "spec_sha256": self.maps.spec_sha256},
            "notes": list(self.notes),
            "sha256": committed(sha256, None)["sha256"],
        }


@dataclass(frozen=True, eq=False)
class Recorded(Recoding):
    """The recoding that maps record: `labels` are by the attribute's name and the code of the value.

    unseen  per column how many records have a value that the maps do not know
    """

    labels: Mapping[str, Sequence[str | None]]
    unseen: Mapping[str, int]
    withheld: np.ndarray

    @classmethod
    def of(cls, maps: Maps, columns: Sequence[Column], n_records: int) -> Recorded:
        """What maps make of the columns of a table."""
        labels, unseen = {}, {}
        for column in columns:
            labels[column.name], known = maps.columns[column.name].published(column.texts)
            if n := int(column.counts[~np.array(known, dtype=bool)].sum()):
                unseen[column.name] = n
        return cls(labels, unseen, np.zeros(n_records, dtype=bool))

    def apply(self, attribute: Attribute) -> PublishedColumn:
        labels = self.labels[attribute.name]
        number = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        of_code = np.array([number[label] for label in labels], dtype=np.int32)
        return PublishedColumn(list(number), of_code[attribute.column.codes], np.bincount(of_code))

    def hierarchy(self, column: Column) -> Hierarchy:
        """A hierarchy over the values of a column in which each lies below what it is published as."""
        pairs = list(zip(column.texts, self.labels[column.name]))
        starred = [text for text, label in pairs if label == STAR]
        paths = [(text, STAR) if label in (text, STAR) else (text, label, STAR) for text, label in pairs]
        return Hierarchy.from_paths(paths or [(None, STAR)], hidden=starred)

    def withholding(self, prepared: Prepared, most: int) -> Recorded:
        """The same with records withheld whose class fails, or looks like theirs; `most` may be withheld."""
        columns = [self.apply(attribute) for attribute in prepared.attributes]
        _, sizes, class_of = distinct_rows(np.column_stack([column.of_record for column in columns]))
        fails = np.zeros(len(sizes), dtype=bool)
        for model in prepared.request.models:
            if model.of_table:
                raise UnsupportedError(
                    f"Maps cannot be applied under {model.name}, a promise about a whole table. Make a "
                    "release of this table with 'kohort anonymize'."
                )
            fails |= ~holds_in(model, prepared.sensitive, prepared.units, class_of)
        starred = np.logical_and.reduce(
            [np.array([label == STAR for label in column.labels])[column.of_record] for column in columns]
        )
        if fails.any() or starred.sum() <= most:
            fails[class_of[starred]] = True
        return replace(self, withheld=fails[class_of])


def apply_maps(
    maps: Maps, dataset: Table, *, unseen: str = "error", k: int | None = None, key: bytes | None = None
) -> Applied:
    """Recode a table by maps; with a k, verify the result against their models with that k, or raise.

    It is the job of every release with another algorithm, the recoding that the maps record. Where the
    release could withhold records, those in classes that fail its models are withheld here, too: so the same
    table gives the same release.
    """
    if unseen not in ("error", "suppress"):
        raise InputError(f"'unseen' must be error or suppress. Got {unseen!r}.")
    models = maps.request.models
    if k is not None:
        models = (KAnonymity(k), *(model for model in models if not isinstance(model, KAnonymity)))
    request = maps.request.promising(models, key=key)
    columns = [dataset.column(name) for name in settled_roles(dataset, request).having("quasi-identifier")]
    for column in columns if request.nulls == "refuse" else ():
        if column.has_null:
            raise InputError(
                f"Column {column.name!r} has {counted(int(column.counts[-1]), 'missing value')}, and the "
                "maps were made with nulls: refuse. Fill them in."
            )
    recoding = Recorded.of(maps, columns, dataset.n_records)
    if recoding.unseen and unseen == "error":
        lacking = ", ".join(f"{name!r} ({counted(n, 'record')})" for name, n in recoding.unseen.items())
        raise InputError(
            f"Some values are not in the maps: {lacking}. Correct them, publish them as `*` (unseen: "
            "suppress), or make a new release with these values in the hierarchy."
        )
    trees = {column.name: recoding.hierarchy(column) for column in columns}
    prepared = prepare(dataset, request.with_columns(hierarchy=trees))
    most = int(Fraction(str(request.suppression)) * dataset.n_records)
    if request.suppression:
        recoding = recoding.withholding(prepared, most)
    published = publish(prepared, recoding)
    if not published.n_records:
        raise InfeasibleError("Every record would be withheld: no class satisfies the models of the maps.")
    published, order = settle_order(prepared, published)
    verdict = None
    if k is not None:
        found = verify_published(prepared, published).verdict
        if not found.holds:
            raise InfeasibleError(
                "The recoded table does not satisfy what was asked for, so it was not made. Make a release "
                "of this table with 'kohort anonymize', or ask for a smaller k.\n"
                + "\n".join(found.reasons())
            )
        verdict = found.cautioned(*order.cautions)
    n_withheld = int(recoding.withheld.sum())
    # records that are `*` everywhere count as withheld where no more may be, as verification counts them
    n_starred = 0 if published.n_left_out or n_withheld <= most else n_withheld
    notes = [
        f"Column {name!r}: the values of {counted(n, 'record')} are not in the maps and became `*`."
        for name, n in recoding.unseen.items()
    ]
    notes += withheld_notes(n_withheld - n_starred, published)
    if n_starred:
        notes.append(
            f"{counted(n_starred, 'record is', 'records are')} `*` in every quasi-identifier, because the "
            f"classes that the maps give are too small. That is more than may be withheld (suppression: "
            f"{request.suppression:g}), so they count as a class of their own, not as withheld."
        )
    if verdict is None:
        notes += [f"{caution.what} {caution.advice}" for caution in order.cautions]
        notes.append(
            "Nothing is promised about this table: it was recoded, but not verified. To have it verified, "
            "give a k (--k on the command line)."
        )
    notes += formula_notes(published, request)
    return Applied(published, maps, n_withheld - n_starred, dict(recoding.unseen), tuple(notes), verdict)
