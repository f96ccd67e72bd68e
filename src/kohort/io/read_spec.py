"""Read a release spec from a YAML file or a mapping, and the files that a statement names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.errors import InputError
from kohort.io.hierarchies import read_source
from kohort.io.tables import read_table
from kohort.io.yaml_text import load_yaml
from kohort.problem.promises import Population
from kohort.statement import Statement
from kohort.statement.from_yaml import from_yaml


@dataclass(frozen=True)
class SpecFile:
    """What a spec asks for, the text that it was read from, and the SHA-256 of the file."""

    statement: Statement
    text: str
    sha256: str


def read_spec(path: str | Path, **changes: Any) -> Statement:
    """The statement in a YAML file; `changes` replace what it says."""
    return read_spec_file(path, **changes).statement


def read_spec_file(path: str | Path, **changes: Any) -> SpecFile:
    """The statement in a YAML file with its text and its hash, all three of the same bytes."""
    path = Path(path)
    text, sha256 = read_spec_text(path)
    content, lines = load_yaml(text, name=path.name)
    return SpecFile(from_yaml(content, name=path.name, lines=lines, **changes), text, sha256)


def read_spec_text(path: Path) -> tuple[str, str]:
    """The text of a spec, and the SHA-256 of its bytes."""
    try:
        content = path.read_bytes()
        return content.decode("utf-8-sig"), hashlib.sha256(content).hexdigest()
    except FileNotFoundError:
        raise InputError(f"There is no spec {str(path)!r}. 'kohort init DATA' writes one.") from None
    except UnicodeDecodeError:
        raise InputError(f"The spec {str(path)!r} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"The spec {str(path)!r} cannot be read: {error.strerror}.") from None


def parse_spec(content: Mapping[str, Any], **changes: Any) -> Statement:
    """The statement in a mapping with the keys of the YAML file; `changes` replace what it says."""
    return from_yaml(content, **changes)


def files_of(asked: Statement, *, beside: str | Path = ".") -> list[Path]:
    """The files that a statement names: hierarchies and populations."""
    named = [column.hierarchy for column in asked.columns.values()]
    trees = [Path(beside) / source.path for source in named if isinstance(source, FileSource)]
    return trees + population_files(asked.models, beside=beside)


def with_files(asked: Statement, *, beside: str | Path = ".", **outside: Any) -> Statement:
    """The statement with its files read, relative to the folder `beside`: it means the same ever after.

    outside  what no spec holds: the key of pseudonyms, the ledger, the engine
    """
    columns = {
        name: replace(column, hierarchy=read_hierarchy(name, column.hierarchy, beside=beside))
        if isinstance(column.hierarchy, FileSource)
        else column
        for name, column in asked.columns.items()
    }
    about_items = asked.promises[len(asked.models) :]
    models = read_populations(asked.models, beside=beside)
    return replace(asked, columns=columns, promises=(*models, *about_items), **outside)


def read_hierarchy(column: str, source: FileSource, *, beside: str | Path) -> Any:
    """The hierarchy in a file, or how to build it."""
    file = read_source(source, beside=beside)
    file.findings.raise_if_broken(column)
    assert file.source is not None
    return file.source


# Read the files of populations that privacy models name.


def read_populations(models: Sequence[Any], *, beside: str | Path = ".") -> tuple[Any, ...]:
    """The models, with the population that they name read from its file, relative to the folder `beside`."""
    read: dict[str, Population] = {}
    found = []
    for model in models:
        name = getattr(model, "population", None)
        if isinstance(name, str):
            if name not in read:
                read[name] = Population(read_table(Path(beside) / name).dataset, name)
            model = replace(model, population=read[name])
        found.append(model)
    return tuple(found)


def population_files(models: Sequence[Any], *, beside: str | Path = ".") -> list[Path]:
    """The files that the models name."""
    named = [getattr(model, "population", None) for model in models]
    return [Path(beside) / name for name in named if isinstance(name, str)]
