"""Apply the maps of a release to another table: the same values, published the same way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.counting import distinct_rows
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InfeasibleError, InputError, UnsupportedError, counted
from kohort.job.maps import Maps
from kohort.job.notes import formula_notes
from kohort.job.order import settle_order
from kohort.job.prepare import Prepared, prepare, settled_roles
from kohort.job.public import HoldsOriginal, committed
from kohort.job.publish import Published, publish
from kohort.job.withheld import holds_in, withheld_notes
from kohort.pipeline.verify_release import verify_published
from kohort.problem.attribute import Attribute
from kohort.problem.promises import KAnonymity, Model
from kohort.recoding.recoding import PublishedColumn, Recoding
from kohort.statement import Statement
from kohort.tables.table import Table
from kohort.verification import Verdict
from kohort.version import __version__


@dataclass(frozen=True, eq=False, repr=False)
class Applied(HoldsOriginal):
    """A table that was recoded by the maps of a release. `table` is of the kind that came in.

    withheld  records that are `*` everywhere or left out
    unseen    per column the records whose value the maps do not know, published as `*`
    remarks   what became of withheld records and of the order
    verdict   what was checked; None if nothing was asked for, and then nothing is promised
    """

    _instead = "Keep applied.table and applied.facts() instead; other processes should send these back."

    published: Published
    maps: Maps
    withheld: int
    unseen: dict[str, int]
    verdict: Verdict | None
    remarks: tuple[str, ...] = ()

    @property
    def table(self) -> Any:
        """The recoded table: pandas, Polars or PyArrow, as it came."""
        return self.published.native

    @property
    def arrow(self) -> pa.Table:
        """The recoded table in Arrow, with dictionaries where values repeat."""
        return self.published.arrow

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences that the publisher of the table should read."""
        notes = [
            f"Column {name!r}: the values of {counted(n, 'record')} are not in the maps and became `*`."
            for name, n in self.unseen.items()
        ]
        notes += self.remarks
        if self.verdict is None:
            notes.append(
                "Nothing is promised about this table: it was recoded, but not verified. To have it "
                "verified, give a k (--k on the command line)."
            )
        return (*notes, *formula_notes(self.published, self.maps.request))

    def facts(self, *, sha256: Mapping[str, str | None] | None = None) -> dict[str, Any]:
        """The facts that `--json` prints, without any cell of the data."""
        verdict = None if self.verdict is None else self.verdict.to_dict()
        return {
            "kohort": "applied maps",
            "version": __version__,
            "records": self.published.dataset.n_records,
            "suppressed": self.withheld,
            "unseen": self.unseen,
            "holds": None if verdict is None else verdict["holds"],
            "verdict": verdict,
            "maps": {"version": self.maps.version, "spec_sha256": self.maps.spec_sha256},
            "notes": list(self.notes),
            "sha256": committed(sha256, None)["sha256"],
        }


def apply_maps(
    maps: Maps, dataset: Table, *, unseen: str = "error", k: int | None = None, key: bytes | None = None
) -> Applied:
    """Recode a table by maps; with a k, verify the result against their models with that k, or raise.

    Where the release could withhold records, those in classes that fail its models are withheld here, too: so
    the same table gives the same release.
    """
    if unseen not in ("error", "suppress"):
        raise InputError(f"'unseen' must be error or suppress. Got {unseen!r}.")
    request = maps.request.promising(_models(maps.request, k), key=key)
    roles = settled_roles(dataset, request)
    columns = [dataset.column(name) for name in roles.having("quasi-identifier")]
    _refuse_nulls(columns, request)
    read = {column.name: maps.columns[column.name].published(column.texts) for column in columns}
    labels = {name: shown for name, (shown, _) in read.items()}
    lacking = {c.name: int(c.counts[~np.array(read[c.name][1], dtype=bool)].sum()) for c in columns}
    unknown = {name: n for name, n in lacking.items() if n}
    if unknown and unseen == "error":
        raise InputError(_unknown_message(unknown))
    trees = {column.name: _two_levels(column.texts, labels[column.name]) for column in columns}
    prepared = prepare(dataset, request.with_columns(hierarchy=trees))
    recoding = _Mapped(labels, np.zeros(dataset.n_records, dtype=bool))
    if request.suppression:
        recoding = replace(recoding, withheld=_withheld(prepared, recoding))
    published = publish(prepared, recoding)
    if not published.n_records:
        raise InfeasibleError("Every record would be withheld: no class satisfies the models of the maps.")
    published, order = settle_order(prepared, published)
    verdict = None if k is None else _verified(prepared, published).cautioned(*order.cautions)
    n_withheld, n_starred = _counted(prepared, recoding, published)
    return Applied(
        published=published,
        maps=maps,
        withheld=n_withheld,
        remarks=(
            *withheld_notes(n_withheld, published.n_left_out, published.broken),
            *_starred_note(n_starred, maps.request.suppression),
            *(f"{caution.what} {caution.advice}" for caution in order.cautions if verdict is None),
        ),
        unseen=unknown,
        verdict=verdict,
    )


def _models(request: Statement, k: int | None) -> tuple[Model, ...]:
    if k is None:
        return request.models
    return (KAnonymity(k), *(model for model in request.models if not isinstance(model, KAnonymity)))


def _refuse_nulls(columns: Sequence[Column], request: Statement) -> None:
    for column in columns if request.nulls == "refuse" else ():
        if column.has_null:
            raise InputError(
                f"Column {column.name!r} has {counted(int(column.counts[-1]), 'missing value')}, and the "
                "maps were made with nulls: refuse. Fill them in."
            )


def _two_levels(texts: Sequence[str | None], labels: Sequence[str | None]) -> Hierarchy:
    """A hierarchy over the values of a column in which each lies below what it is published as."""
    starred = [text for text, label in zip(texts, labels) if label == STAR]
    paths = [
        (text, STAR) if label in (text, STAR) else (text, label, STAR) for text, label in zip(texts, labels)
    ]
    return Hierarchy.from_paths(paths or [(None, STAR)], hidden=starred)


def _unknown_message(unknown: Mapping[str, int]) -> str:
    columns = ", ".join(f"{name!r} ({counted(n, 'record')})" for name, n in unknown.items())
    return (
        f"Some values are not in the maps: {columns}. Correct them, publish them as `*` (unseen: suppress), "
        "or make a new release with these values in the hierarchy."
    )


@dataclass(frozen=True, eq=False)
class _Mapped(Recoding):
    """Every value as the maps publish it; `labels` are by the attribute's name and the code of the value."""

    labels: Mapping[str, Sequence[str | None]]
    withheld: np.ndarray

    def apply(self, attribute: Attribute) -> PublishedColumn:
        labels = self.labels[attribute.name]
        number = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        of_code = np.array([number[label] for label in labels], dtype=np.int32)
        return PublishedColumn(list(number), of_code[attribute.column.codes], np.bincount(of_code))


def _withheld(prepared: Prepared, recoding: Recoding) -> np.ndarray:
    """Per record whether it is withheld: its class fails, or looks like that of withheld records."""
    columns = [recoding.apply(attribute) for attribute in prepared.attributes]
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
    if fails.any() or starred.sum() <= _most_withheld(prepared):
        fails[class_of[starred]] = True
    return fails[class_of]


def _most_withheld(prepared: Prepared) -> int:
    """The number of records that may be withheld."""
    return int(Fraction(str(prepared.request.suppression)) * prepared.dataset.n_records)


def _counted(prepared: Prepared, recoding: _Mapped, published: Published) -> tuple[int, int]:
    """How many records are withheld, and how many are `*` everywhere but form a class of their own.

    Records that are `*` everywhere count as withheld where no more than that may be, as verification counts.
    """
    found = int(recoding.withheld.sum())
    counts = published.n_left_out > 0 or found <= _most_withheld(prepared)
    return (found, 0) if counts else (0, found)


def _starred_note(n_starred: int, suppression: float) -> list[str]:
    if not n_starred:
        return []
    return [
        f"{counted(n_starred, 'record is', 'records are')} `*` in every quasi-identifier, because the "
        "classes that "
        f"the maps give are too small. That is more than may be withheld (suppression: {suppression:g}), so "
        "they "
        "count as a class of their own, not as withheld."
    ]


def _verified(prepared: Prepared, published: Published) -> Verdict:
    verdict = verify_published(prepared, published).verdict
    if not verdict.holds:
        raise InfeasibleError(
            "The recoded table does not satisfy what was asked for, so it was not made. Make a release of "
            "this table with 'kohort anonymize', or ask for a smaller k.\n" + "\n".join(verdict.reasons())
        )
    return verdict
