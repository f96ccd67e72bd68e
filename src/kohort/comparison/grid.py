"""The grid of a comparison: a cell is an algorithm with a cost and the parameters of the privacy models."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import pyarrow as pa

from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS, algorithm_named
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.io.spec import Spec
from kohort.parameters import check_option
from kohort.problem.costs import cost_named

PARAMETERS = ("k", "l", "alpha", "t")
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

    @property
    def key(self) -> dict[str, Any]:
        return asdict(self)

    def spec(self, spec: Spec) -> Spec:
        """The spec of this release."""
        changed = spec.overridden(k=self.k, algorithm=self.algorithm, cost=self.cost)
        privacy = changed.privacy
        for name, part in _PART.items():
            value = getattr(self, name)
            if value is not None:
                models = [model.model_copy(update={name: value}) for model in getattr(privacy, part)]
                for model in models:
                    model.model()  # refuses a value that cannot be
                privacy = privacy.model_copy(update={part: models})
        return changed.model_copy(update={"privacy": privacy})

    def __str__(self) -> str:
        given = [f"{name} = {getattr(self, name)}" for name in PARAMETERS if getattr(self, name) is not None]
        return ", ".join([self.algorithm, *given])


def cells(
    spec: Spec,
    *,
    algorithms: Sequence[str] | None,
    costs: Sequence[str] | None,
    **swept: Sequence[Any] | None,
) -> list[Cell]:
    """Every cell of a grid, refused where it cannot be asked for; by parameters first, then by algorithm."""
    if spec.events is not None:
        raise UnsupportedError(
            "Releases of two tables, people and events, cannot be compared. Leave 'events' out of the spec "
            "to compare releases of the people alone."
        )
    for name, words in (("algorithms", algorithms), ("costs", costs)):
        check_option(name, words, Sequence[str] | None)
    names = list(_suitable(spec) if algorithms is None else algorithms)
    for name in names:
        algorithm_named(name)
    for cost in costs or ():
        cost_named(cost)
    _check_swept(spec, swept)
    ranges = [
        swept.get(parameter) or [spec.privacy.k if parameter == "k" else None] for parameter in PARAMETERS
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


def _check_swept(spec: Spec, swept: Mapping[str, Sequence[Any] | None]) -> None:
    """Refuse values of the wrong type, and parameters of models that the spec does not ask for."""
    for name, values in swept.items():
        check_option(name, values, (Sequence[int] if name == "k" else Sequence[float]) | None)
    for parameter, part in _PART.items():
        values = swept.get(parameter)
        if values and not getattr(spec.privacy, part):
            raise InputError(
                f"{parameter!r} is swept, but the spec asks for no {part}. Add it to privacy, such as "
                f"{part}: {{attribute: diagnosis, {parameter}: {values[0]}}}."
            )


def _suitable(spec: Spec) -> Iterable[str]:
    """All algorithms of the kind that the spec needs; `auto` would only do again what another does."""
    quasi = any(attribute.role == "quasi-identifier" for attribute in spec.attributes.values())
    return [name for name in (ALGORITHMS if quasi else ITEMS_ALGORITHMS) if name != "auto"]


def fingerprint(table: pa.Table, spec: Spec, resolved: Spec, **settings: Any) -> str:
    """A short digest of everything that the rows of a comparison must have in common.

    `resolved` is the same spec with its hierarchy files read.
    """
    digest = hashlib.sha256()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
        writer.write_table(table.replace_schema_metadata(None))
    digest.update(sink.getvalue())
    same = spec.overridden(k=2, algorithm="auto", cost="loss").model_copy(update={"time_limit": None})
    digest.update(repr((same, sorted(settings.items()))).encode())
    for name, hierarchy in sorted(resolved.request().hierarchies.items()):
        if isinstance(hierarchy, Hierarchy):
            digest.update(repr((name, hierarchy.label, hierarchy.parent.tolist())).encode())
    return digest.hexdigest()[:16]
