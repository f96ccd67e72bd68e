"""Where tables are held and problems are solved."""

from __future__ import annotations

from kohort.engines.engine import Engine, Place
from kohort.engines.local import LocalEngine, MemoryEngine, StreamingEngine
from kohort.engines.spark.engine import SparkEngine
from kohort.errors import InputError, did_you_mean

__all__ = ["ENGINES", "Engine", "Place", "engine_named"]

ENGINES: dict[str, type[Engine]] = {
    engine.name: engine for engine in (LocalEngine, MemoryEngine, StreamingEngine, SparkEngine)
}


def engine_named(name: str) -> Engine:
    """The engine with this name."""
    if name not in ENGINES:
        raise InputError(f"There is no engine {name!r} in this version. {did_you_mean(name, ENGINES)}")
    return ENGINES[name]()
