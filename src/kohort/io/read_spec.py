"""Read a release spec from a YAML file, and the files that a statement names."""

from __future__ import annotations

import hashlib
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


def files_of(asked: Statement, *, beside: str | Path = ".") -> list[Path]:
    """The files that a statement names: hierarchies and the populations of privacy models."""
    hierarchies = [column.hierarchy for column in asked.columns.values()]
    trees = [source.path for source in hierarchies if isinstance(source, FileSource)]
    populations = [getattr(model, "population", None) for model in asked.models]
    return [Path(beside) / name for name in (*trees, *populations) if isinstance(name, str)]


def with_files(asked: Statement, *, beside: str | Path = ".", **outside: Any) -> Statement:
    """The statement with its files read, relative to the folder `beside`: it means the same ever after.

    outside  what no spec holds: the key of pseudonyms, the ledger, the engine
    """
    columns = dict(asked.columns)
    for name, column in columns.items():
        if isinstance(column.hierarchy, FileSource):
            file = read_source(column.hierarchy, beside=beside)
            file.findings.raise_if_broken(name)
            assert file.source is not None
            columns[name] = replace(column, hierarchy=file.source)
    read: dict[str, Population] = {}
    promises: list[Any] = list(asked.promises)
    for place, model in enumerate(promises[: len(asked.models)]):
        if isinstance(path := getattr(model, "population", None), str):
            read[path] = read.get(path) or Population(read_table(Path(beside) / path).dataset, path)
            promises[place] = replace(model, population=read[path])
    return replace(asked, columns=columns, promises=tuple(promises), **outside)
