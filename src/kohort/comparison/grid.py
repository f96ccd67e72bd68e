"""The grid of a comparison, and its table as a CSV file: read back to go on where it stopped.

A cell is an algorithm with a cost and the parameters of the privacy models.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa

from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS, algorithm_named
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.files.atomic import replacing
from kohort.files.checked import write_checked
from kohort.parameters import check_option
from kohort.problem.costs import cost_named
from kohort.statement import Statement

Row = dict[str, Any]

_TEXTS = ("algorithm", "cost", "status", "reason", "made_by", "version", "job")
_WHOLE = ("k", "classes", "smallest_class", "withheld")
COLUMNS = (
    "algorithm", "cost", "k", "l", "alpha", "t", "status", "made_by", "loss", "value", "bound", "gap",
    "solver_bound", "solver_gap",
    "highest_risk", "average_risk", "linked", "best_guess", "query_error", "tkd", "tkd_ml2",
    "pair_error", "classes", "smallest_class", "withheld", "seconds", "cpu_seconds", "memory_mb", "reason",
    "version", "job",
)  # fmt: skip


PARAMETERS = ("k", "l", "alpha", "t")
_STRICTER = {"k": 1, "l": 1, "alpha": -1, "t": -1}  # whether a promise is stricter the higher the number is
_OF_RUN = ("bound", "solver_bound", "seconds", "cpu_seconds", "memory_mb", "version", "job")


def with_stricter(rows: Sequence[Row]) -> list[Row]:
    """The rows, each with the cheapest release of stricter promises where that costs less than its own.

    A release that keeps k = 3 keeps k = 2. So the least cost never falls as a promise becomes stricter.
    """
    found = []
    for row in rows:
        best = min(
            (other for other in rows if _keeps(other, row)), key=lambda other: other["value"], default=row
        )
        if best["value"] != row["value"]:
            kept = {name: row[name] for name in ("algorithm", "cost", *PARAMETERS, *_OF_RUN)}
            for gap, bound in (("gap", "bound"), ("solver_gap", "solver_bound")):
                kept[gap] = best["value"] / row[bound] - 1 if row[bound] else None
            stricter = ", ".join(f"{name} = {best[name]:g}" for name in PARAMETERS if best[name] != row[name])
            reason = f"The release for {stricter} loses less, and keeps this promise, too."
            row = best | kept | {"reason": reason}
        found.append(row)
    return found


def _keeps(other: Row, row: Row) -> bool:
    """Whether a release was made for promises that are as strict as those of a row, or stricter."""
    if None in (row["value"], other["value"]) or any(
        other[name] != row[name] for name in ("algorithm", "cost")
    ):
        return False
    pairs = [(other[name], row[name], sign) for name, sign in _STRICTER.items()]
    return all(a == b or (None not in (a, b) and (a - b) * sign > 0) for a, b, sign in pairs)


def read_rows(path: Path, job: str) -> list[Row]:
    """The rows of an earlier run of the same comparison; another one is refused.

    A last line that is cut off, as by a full disk, is left out: its release is made again.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        header, *lines = list(csv.reader(io.StringIO(text, newline="")))
    except (OSError, ValueError, csv.Error):
        header, lines, text = [], [], ""
    if tuple(header) != COLUMNS:
        raise InputError(f"{path} exists and is not a table of a comparison. Choose another output.")
    whole = lines if text.endswith("\n") else lines[:-1]
    rows = []
    for number, cells in enumerate(whole, start=1):
        try:
            rows.append({name: _value(name, text) for name, text in zip(COLUMNS, cells, strict=True)})
        except ValueError:
            raise InputError(
                f"{path}: row {number} is damaged. Remove that row, so that its release is made again, or "
                "choose another output."
            ) from None
    if any(row["job"] != job for row in rows):
        raise InputError(
            f"{path} holds a comparison of other data, another spec, or with other settings. Choose another "
            "output, or remove it to start over."
        )
    return rows


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write all rows to a file, which appears whole or not at all."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        texts = {n: f"{row[n]:.6g}" if isinstance(row.get(n), float) else row.get(n) for n in COLUMNS}
        writer.writerow(texts)
    with replacing(path) as draft:
        write_checked(draft, text.getvalue())


def _value(name: str, text: str) -> Any:
    if text == "" or name in _TEXTS:
        return text or None
    return int(text) if name in _WHOLE else float(text)


_PART = {"l": "diversity", "alpha": "alpha", "t": "closeness"}


@dataclass(frozen=True)
class Cell:
    """One release of the grid; what is None is as in the spec."""

    algorithm: str
    cost: str
    k: int | None = None
    l: float | None = None  # noqa: E741
    alpha: float | None = None
    t: float | None = None

    def spec(self, spec: Statement) -> Statement:
        """The statement of this release."""
        promises = list(spec.promises)
        for name, key in _PART.items():
            value = getattr(self, name)
            if value is not None:  # a value that cannot be is refused
                promises = [replace(p, **{name: value}) if p.spec_key == key else p for p in promises]
        return spec.promising(promises).overridden(k=self.k, algorithm=self.algorithm, cost=self.cost)

    def __str__(self) -> str:
        given = [f"{name} = {getattr(self, name)}" for name in PARAMETERS if getattr(self, name) is not None]
        return ", ".join([self.algorithm, *given])


def cells(
    spec: Statement,
    *,
    algorithms: Sequence[str] | None,
    costs: Sequence[str] | None,
    **swept: Sequence[Any] | None,
) -> list[Cell]:
    """Every cell of a grid, refused where it cannot be asked for; by parameters first, then by algorithm."""
    if spec.events:
        raise UnsupportedError(
            "Releases of two tables, people and events, cannot be compared. Leave 'events' out of the spec "
            "to compare releases of the people alone."
        )
    for name, words in (("algorithms", algorithms), ("costs", costs)):
        check_option(name, words, Sequence[str] | None)
    if (
        algorithms is None
    ):  # all of the kind that the spec needs; `auto` would only do again what another does
        suitable = ALGORITHMS if spec.roles.having("quasi-identifier") else ITEMS_ALGORITHMS
        algorithms = [name for name in suitable if name != "auto"]
    names = list(algorithms)
    for name in names:
        algorithm_named(name)
    for cost in costs or ():
        cost_named(cost)
    _check_swept(spec, swept)
    ranges = [
        swept.get(parameter) or [spec.asked_k if parameter == "k" else None] for parameter in PARAMETERS
    ]
    found = [
        Cell(algorithm, cost, *values)
        for values in product(*ranges)
        for cost in costs or [spec.cost]
        for algorithm in names
    ]
    if not found:
        raise InputError("There is nothing to compare: name at least one algorithm.")
    for cell in found:
        cell.spec(spec)
    return list(dict.fromkeys(found))


def _check_swept(spec: Statement, swept: Mapping[str, Sequence[Any] | None]) -> None:
    """Refuse values of the wrong type, and parameters of models that the spec does not ask for."""
    for name, values in swept.items():
        check_option(name, values, (Sequence[int] if name == "k" else Sequence[float]) | None)
    for parameter, part in _PART.items():
        values = swept.get(parameter)
        if values and all(promise.spec_key != part for promise in spec.promises):
            raise InputError(
                f"{parameter!r} is swept, but the spec asks for no {part}. Add it to privacy, such as "
                f"{part}: {{attribute: diagnosis, {parameter}: {values[0]}}}."
            )


def fingerprint(table: pa.Table, spec: Statement, resolved: Statement, **settings: Any) -> str:
    """A short digest of everything that the rows of a comparison must have in common.

    `resolved` is the same spec with its hierarchy files read.
    """
    digest = hashlib.sha256()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    digest.update(sink.getvalue())
    same = replace(spec.overridden(k=2), algorithm="auto", cost="loss", time_limit=None)
    digest.update(repr((same, sorted(settings.items()))).encode())
    for name, hierarchy in sorted(resolved.hierarchies.items()):
        if isinstance(hierarchy, Hierarchy):
            digest.update(repr((name, hierarchy.label, hierarchy.parent.tolist())).encode())
    return digest.hexdigest()[:16]
