"""Classes by their spec names, loaded when they are asked for: a command uses one family of many."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Generic, TypeVar

Registered = TypeVar("Registered", covariant=True)
Other = TypeVar("Other")


class Registry(Mapping[str, Registered], Generic[Registered]):
    """A mapping of names to classes, of which it knows only where they are: `family.module:Class`.

    Names and their number are known at once; to ask for a class, or for all of them, loads its module.
    """

    def __init__(self, package: str, places: Mapping[str, str]) -> None:
        self._package, self._places = package, dict(places)

    def __getitem__(self, name: str) -> Registered:
        module, _, found = self._places[name].partition(":")
        return getattr(import_module(f"{self._package}.{module}"), found)

    def __or__(self, other: Registry[Other]) -> Registry[Registered | Other]:
        return Registry(self._package, self._places | other._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
