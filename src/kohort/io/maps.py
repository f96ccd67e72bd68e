"""Map files: JSON with one line per published value, for people to read and for `kohort apply`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, create_model

from kohort.data.column import Kind
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.io.json_text import read_document
from kohort.job.maps import ColumnMap, Maps
from kohort.problem.promises import MODELS, Model
from kohort.problem.roles import Role, Roles
from kohort.statement import Statement
from kohort.statement.columns import Treatment, columns_of
from kohort.statement.options import OPTIONS

IN_INTERVAL, OTHERS = "in the interval", "all others"
_Text = str | None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Entry(_Part):
    """A published value, and the values that are published so."""

    published: _Text
    values: list[_Text] | Literal["in the interval", "all others"]


class _Column(_Part):
    kind: Kind
    map: list[_Entry]


class _Sensitive(_Part):
    order: list[str] | None = None
    hierarchy: list[list[_Text]] | None = None


_KEPT = {name: declared for name, declared in OPTIONS.items() if declared.option.in_maps}
_KEYS: dict[str, Any] = {
    name: (Annotated[declared.written, PlainValidator(declared.check_written)], Field(declared.default))
    for name, declared in _KEPT.items()
}
_Options: Any = create_model("OptionKeys", __base__=_Part, **_KEYS)


class _File(_Options):
    kohort: Literal["maps"]
    version: str
    spec_sha256: str | None
    algorithm: str
    models: list[dict[str, Any]]
    roles: dict[str, Role]
    others: Literal["error", "keep", "drop"]
    treatments: dict[str, Treatment]
    joins: dict[str, str] | None = None  # of version 0.1.0, which had one key for all columns
    sensitive: dict[str, _Sensitive]
    columns: dict[str, _Column]


def write_maps(maps: Maps, path: str | Path) -> None:
    """Write a map file straight to `path`, which `atomic.replacing` then moves to its place."""
    request = maps.request
    facts = {
        "kohort": "maps",
        "version": maps.version,
        "spec_sha256": maps.spec_sha256,
        "algorithm": maps.algorithm,
        "models": [{"model": model.name, **model.to_dict()} for model in request.models],
        **request.kept_by_maps,
        "roles": dict(request.roles.of),
        "others": request.roles.others,
        "treatments": dict(request.treatments),
        "joins": dict(request.joins),
        "sensitive": _sensitive(request),
    }
    lines = [f'  "{key}": {_json(value)}' for key, value in facts.items()]
    columns = ",\n".join(_column(name, column) for name, column in maps.columns.items())
    lines.append(f'  "columns": {{\n{columns}\n  }}')
    write_checked(path, "{\n" + ",\n".join(lines) + "\n}\n")


def _sensitive(request: Statement) -> dict[str, Any]:
    parts: dict[str, dict[str, Any]] = {}
    for name, order in request.orders.items():
        parts.setdefault(name, {})["order"] = list(order)
    for name, hierarchy in request.hierarchies.items():
        assert isinstance(hierarchy, Hierarchy)
        parts.setdefault(name, {})["hierarchy"] = [list(path) for path in hierarchy.paths()]
    return parts


def _column(name: str, column: ColumnMap) -> str:
    by_label: dict[_Text, list[_Text]] = {}
    for value, label in column.values.items():
        by_label.setdefault(label, []).append(value)
    entries: list[tuple[_Text, Any]] = [*by_label.items()]
    entries += [(label, IN_INTERVAL) for label in column.intervals]
    entries += [(STAR, OTHERS)] * column.rest_is_star
    lines = ",\n".join(
        f"        {_json({'published': label, 'values': values})}" for label, values in entries
    )
    return f'    {_json(name)}: {{\n      "kind": "{column.kind}",\n      "map": [\n{lines}\n      ]\n    }}'


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_maps(path: str | Path) -> Maps:
    """The maps in a file; an error about a broken file shows none of its values."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"There are no maps {str(path)!r}. 'kohort anonymize --maps' writes them.")
    hint = "Write it again with 'kohort anonymize --maps'."
    file, _ = read_document(path, _File, "a map file of this version of Kohort", hint)
    return _maps(file, path.name)


def _maps(file: _File, name: str) -> Maps:
    roles = Roles(file.roles, file.others)
    if set(roles.having("quasi-identifier")) != set(file.columns):
        raise InputError(f"{name}: 'columns' must be the quasi-identifiers of 'roles'.")
    if file.joins is None and "pseudonym" in file.treatments.values():
        raise InputError(
            f"{name} is of version {file.version}, which made other pseudonyms: the two tables would not fit "
            "together. Make the release and its maps again with this version."
        )
    sensitive = file.sensitive
    return Maps(
        request=Statement.of(
            columns=columns_of(
                roles.of,
                hierarchy={
                    name: Hierarchy.from_paths(part.hierarchy)
                    for name, part in sensitive.items()
                    if part.hierarchy
                },
                order={n: tuple(part.order) for n, part in sensitive.items() if part.order},
                treatment=file.treatments,
                join=file.joins or {},
            ),
            others=file.others,
            promises=[_model(parameters, name) for parameters in file.models],
            **{name: getattr(file, name) for name in _KEPT},
        ),
        columns={n: _column_map(column, n) for n, column in file.columns.items()},
        algorithm=file.algorithm,
        spec_sha256=file.spec_sha256,
        version=file.version,
    )


def _model(parameters: Mapping[str, Any], name: str) -> Model:
    given = dict(parameters)
    try:
        return MODELS[str(given.pop("model", None))](**given)
    except (KeyError, TypeError):
        raise InputError(
            f"{name}: 'models' names a privacy model that this version of Kohort does not have."
        ) from None


def _column_map(column: _Column, name: str) -> ColumnMap:
    values: dict[_Text, _Text] = {}
    for entry in column.map:
        for value in entry.values if isinstance(entry.values, list) else ():
            if value in values:
                raise InputError(f"The map of column {name!r} has a value twice. List each value once.")
            values[value] = entry.published
    return ColumnMap(
        values=values,
        intervals=tuple(e.published for e in column.map if e.values == IN_INTERVAL and e.published),
        rest_is_star=any(entry.values == OTHERS for entry in column.map),
        kind=column.kind,
    )
