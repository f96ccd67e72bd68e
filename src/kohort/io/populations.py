"""Read the files of populations that privacy models name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kohort.io.tables import read_table
from kohort.problem.promises import Population


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
