"""Apply the maps of a release to another table: the same values, published the same way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.data.dataset import Dataset
from kohort.data.domain import STAR
from kohort.errors import InfeasibleError, InputError, counted
from kohort.pipeline.commitment import committed
from kohort.pipeline.maps import Maps
from kohort.pipeline.notes import formula_notes
from kohort.pipeline.order import kept_columns, settle_order
from kohort.pipeline.prepare import settled_roles
from kohort.pipeline.private import HoldsOriginal
from kohort.pipeline.publish import as_arrow, as_native, labelled, replaced_identifiers
from kohort.pipeline.request import Request
from kohort.pipeline.withheld import broken_by, starred, withheld_notes
from kohort.problem.models import KAnonymity
from kohort.problem.roles import Roles
from kohort.recoding.recoding import PublishedColumn
from kohort.verification import Verdict, check_columns, check_conserved, published_classes, verify_models
from kohort.verification.classes import PublishedClasses
from kohort.verification.order_attack import OrderAttack, Sighted, attack_order, true_ranks
from kohort.version import __version__

__all__ = ["Applied", "apply_maps"]

Columns = dict[str, pa.Array | None]


@dataclass(frozen=True, eq=False, repr=False)
class Applied(HoldsOriginal):
    """A table that was recoded by the maps of a release. `table` is of the kind that came in.

    withheld  records that are `*` everywhere or left out
    unseen    per column the records whose value the maps do not know, published as `*`
    remarks   what became of withheld records and of the order
    verdict   what was checked; None if nothing was asked for, and then nothing is promised
    """

    _instead = "Keep applied.table and applied.facts() instead; other processes should send these back."

    dataset: Dataset
    maps: Maps
    columns: Mapping[str, pa.Array | None]
    rows: np.ndarray | None
    withheld: int
    unseen: dict[str, int]
    verdict: Verdict | None
    remarks: tuple[str, ...] = ()

    @cached_property
    def table(self) -> Any:
        """The recoded table: pandas, Polars or PyArrow, as it came."""
        return as_native(self.dataset, dict(self.columns), self.rows)

    @cached_property
    def arrow(self) -> pa.Table:
        """The recoded table in Arrow, with dictionaries where values repeat."""
        return as_arrow(
            self.dataset, dict(self.columns), _published_names(self.dataset, self.columns), self.rows
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences that the one who publishes should read."""
        notes = [
            f"Column {name!r}: the values of {counted(n, 'record')} are not in the maps and became `*`."
            for name, n in self.unseen.items()
        ]
        notes += self.remarks
        if self.verdict is None:
            notes.append("Nothing is promised about this table: it was recoded, not verified. Ask for a k.")
        return (*notes, *formula_notes(self.dataset, self.maps.request, self.columns, self.rows))

    def facts(self, *, sha256: Mapping[str, str | None] | None = None) -> dict[str, Any]:
        """What `--json` prints. No cell of the data is in it."""
        verdict = None if self.verdict is None else self.verdict.to_dict()
        return {
            "kohort": "applied maps",
            "version": __version__,
            "records": self.dataset.n_records,
            "suppressed": self.withheld,
            "unseen": self.unseen,
            "holds": None if verdict is None else verdict["holds"],
            "verdict": verdict,
            "maps": {"version": self.maps.version, "spec_sha256": self.maps.spec_sha256},
            "notes": list(self.notes),
            "sha256": committed(sha256, None)["sha256"],
        }


def apply_maps(
    maps: Maps, dataset: Dataset, *, unseen: str = "error", k: int | None = None, key: bytes | None = None
) -> Applied:
    """Recode a table; with a k, verify it against the models of the maps with that k, or raise.

    Where the release could withhold records, those in classes that fail its models are withheld here, too: so
    the same table gives the same release.
    """
    if unseen not in ("error", "suppress"):
        raise InputError(f"'unseen' must be error or suppress. Got {unseen!r}.")
    request = replace(maps.request, models=_models(maps.request, k), key=key)
    roles = settled_roles(dataset, request)
    names = roles.having("quasi-identifier")
    recoded = {name: _recoded(maps, dataset.column(name)) for name in names}
    unknown = {name: int(part.n_unknown) for name, part in recoded.items() if part.n_unknown}
    if unknown and unseen == "error":
        raise InputError(_unknown_message(unknown))
    nobody = np.zeros(dataset.n_records, dtype=bool)
    columns: Columns = replaced_identifiers(dataset, request, roles)
    plain = columns | _labelled(recoded, nobody, replace(request, nulls="value"))  # as the search saw them
    withheld = _withheld(_classes(dataset, plain, names, request, None), request)
    columns = columns | _labelled(recoded, withheld, request)
    kept, broken = _kept(dataset, columns, names, request, withheld)
    if kept is not None and not len(kept):
        raise InfeasibleError("Every record would be withheld: no class keeps what the maps promise.")
    attack = partial(_attack, dataset, roles, recoded, withheld, request)
    order = settle_order(request, dataset, roles, columns, kept=kept, attack=attack)
    return Applied(
        dataset=dataset,
        maps=maps,
        columns=columns,
        rows=order.rows,
        withheld=int(withheld.sum()),
        remarks=(
            *withheld_notes(
                int(withheld.sum()), 0 if kept is None else dataset.n_records - len(kept), broken
            ),
            *order.notes,
            *(f"{caution.what} {caution.advice}" for caution in order.cautions),
        ),
        unseen=unknown,
        verdict=None if k is None else _verified(dataset, columns, roles, request, kept),
    )


def _kept(
    dataset: Dataset, columns: Columns, names: list[str], request: Request, withheld: np.ndarray
) -> tuple[np.ndarray | None, str | None]:
    """The records to publish (None: all), and the promises that the withheld ones would break as `*`."""
    if not withheld.any():
        return None, None
    if request.suppressed == "drop":
        return np.flatnonzero(~withheld), None
    sensitive = _classes(dataset, columns, names, request, None).sensitive
    broken = broken_by(request.models, sensitive, starred([columns[name] for name in names]))
    return (np.flatnonzero(~withheld), broken) if broken else (None, None)


def _models(request: Request, k: int | None) -> tuple:
    if k is None:
        return request.models
    return (KAnonymity(k), *(model for model in request.models if not isinstance(model, KAnonymity)))


@dataclass(frozen=True, eq=False)
class _Recoded:
    published: PublishedColumn
    n_unknown: int


def _recoded(maps: Maps, column: Column) -> _Recoded:
    if maps.request.nulls == "refuse" and column.has_null:
        raise InputError(
            f"Column {column.name!r} has {counted(int(column.counts[-1]), 'missing value')}, and the maps "
            "were made with nulls: refuse. Fill them in."
        )
    labels, known = maps.columns[column.name].published(column.texts)
    n_unknown = int(column.counts[~np.array(known, dtype=bool)].sum())
    return _Recoded(PublishedColumn(labels, column.codes), n_unknown)


def _attack(
    dataset: Dataset,
    roles: Roles,
    recoded: Mapping[str, _Recoded],
    withheld: np.ndarray,
    request: Request,
    rows: np.ndarray,
) -> OrderAttack | None:
    """What an attack on the order of these records comes to; the maps say which values a label covers."""
    quasi = [_sighted(dataset.column(name), part, withheld, rows) for name, part in recoded.items()]
    k = max((model.k for model in request.models if isinstance(model, KAnonymity)), default=1)
    found = attack_order(quasi, kept_columns(dataset, roles, rows), k)
    return found if found.orders else None


def _sighted(column: Column, recoded: _Recoded, withheld: np.ndarray, rows: np.ndarray) -> Sighted:
    n_values = len(column.texts) - column.has_null
    labels = recoded.published.labels[:n_values]
    codes_of: dict[str | None, list[int]] = {}
    for code, label in enumerate(labels):
        codes_of.setdefault(label, []).append(code)
    first = np.array([codes_of[label][0] for label in labels] + [-1] * column.has_null)[column.codes]
    last = np.array([codes_of[label][-1] for label in labels] + [-1] * column.has_null)[column.codes]
    unsaid = withheld | np.isin(column.codes, [c for c, label in enumerate(labels) if label == STAR])
    first[unsaid], last[unsaid] = 0, max(n_values - 1, 0)
    return Sighted(column.name, first[rows], last[rows], true_ranks(column, rows))


def _unknown_message(unknown: Mapping[str, int]) -> str:
    columns = ", ".join(f"{name!r} ({counted(n, 'record')})" for name, n in unknown.items())
    return (
        f"Some values are not in the maps: {columns}. Correct them, publish them as `*` (unseen: suppress), "
        "or make a new release with these values in the hierarchy."
    )


def _labelled(recoded: Mapping[str, _Recoded], withheld: np.ndarray, request: Request) -> Columns:
    return {
        name: labelled(part.published, withheld, request.nulls == "star") for name, part in recoded.items()
    }


def _published_names(dataset: Dataset, columns: Mapping[str, pa.Array | None]) -> list[str]:
    return [name for name in dataset.names if columns.get(name, ...) is not None]


def _classes(
    dataset: Dataset, columns: Columns, names: list[str], request: Request, kept: np.ndarray | None
) -> PublishedClasses:
    published = Dataset(as_arrow(dataset, columns, _published_names(dataset, columns), kept))
    return published_classes(
        published, names, request.models, hierarchies=_hierarchies(request), orders=request.orders
    )


def _hierarchies(request: Request) -> dict:
    return {name: hierarchy for name, hierarchy in request.hierarchies.items() if hierarchy is not None}


def _withheld(classes: PublishedClasses, request: Request) -> np.ndarray:
    """The records of classes that fail, and of the class that withheld records would look like."""
    fails = np.zeros(len(classes.sizes), dtype=bool)
    if request.suppression:
        fails |= ~np.logical_and.reduce([classes.holds(m, classes.counts(m)) for m in request.models])
        allowed = int(Fraction(str(request.suppression)) * int(classes.sizes.sum()))
        if fails.any() or classes.sizes[classes.all_star].sum() <= allowed:
            fails |= classes.all_star
    return fails[classes.class_of_record]


def _verified(
    dataset: Dataset, columns: Columns, roles: Roles, request: Request, kept: np.ndarray | None
) -> Verdict:
    classes = _classes(dataset, columns, roles.having("quasi-identifier"), request, kept)
    rows = np.arange(dataset.n_records) if kept is None else kept
    published = Dataset(as_arrow(dataset, columns, _published_names(dataset, columns), kept))
    untouched = [*roles.having("sensitive"), *roles.having("insensitive")]
    hidden = [name for name, column in columns.items() if column is None]
    shown = [name for name, column in columns.items() if column is not None]
    verdict = verify_models(
        classes,
        request.models,
        suppression=request.suppression,
        dropped=dataset.n_records - len(rows),
        checks=[
            check_columns(published, untouched, hidden, shown),
            *check_conserved(published, dataset, untouched, rows),
        ],
        sensitive=[published.sensitive_column(name) for name in roles.having("sensitive")],
    )
    if not verdict.holds:
        raise InfeasibleError(
            "The recoded table does not keep what is asked, so nothing was made of it. Make a release of "
            "this table with 'kohort anonymize', or ask for a smaller k.\n" + "\n".join(verdict.reasons())
        )
    return verdict
