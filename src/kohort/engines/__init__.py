"""Where a problem is solved."""

from __future__ import annotations

from kohort.engines.engine import Engine
from kohort.engines.local import LocalEngine
from kohort.errors import InputError, did_you_mean

__all__ = ["ENGINES", "Engine", "engine_named"]

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (LocalEngine,)}


def engine_named(name: str) -> Engine:
    """The engine with this name."""
    if name not in ENGINES:
        raise InputError(f"There is no engine {name!r} in this version. {did_you_mean(name, ENGINES)}")
    return ENGINES[name]()
