"""Which kernels each algorithm calls, and with which types: recorded in calls.json, read from there."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numba import from_dtype, types

from kohort.kernels.compiled import Kernel

CALLS = Path(__file__).with_name("calls.json")


@dataclass(frozen=True)
class KernelCall:
    """A kernel by its module and name, and the types that Python calls it with, as JSON."""

    module: str
    name: str
    types: str

    @property
    def kernel(self) -> Kernel:
        return getattr(import_module(self.module), self.name)

    @property
    def is_compiled(self) -> bool:
        """Whether its machine code is in the cache."""
        entry = self.kernel.entry
        return entry._cache.has(self.signature, entry.targetctx.codegen())

    def compile(self) -> None:
        """Compile the kernel for these types, into the cache."""
        self.kernel.entry.compile(self.signature)

    @property
    def signature(self) -> tuple[Any, ...]:
        return tuple(map(decoded, json.loads(self.types)))

    @property
    def size(self) -> int:
        """How much there is to compile: bytes of Python's code in the kernel and in all that it calls."""
        found: dict[str, int] = {}
        waiting = [self.kernel]
        while waiting:
            function = waiting.pop().py_func
            code = function.__code__
            name = f"{function.__module__}.{function.__qualname__}"
            if name not in found:
                found[name] = len(code.co_code)
                called = (function.__globals__.get(other) for other in code.co_names)
                waiting += [other for other in called if isinstance(other, Kernel)]
        return sum(found.values())


@cache
def _recorded() -> dict[str, tuple[KernelCall, ...]]:
    found: dict[str, tuple[KernelCall, ...]] = {}
    for module, name, taken, algorithms in json.loads(CALLS.read_text(encoding="utf-8")):
        for algorithm in algorithms:
            found[algorithm] = (*found.get(algorithm, ()), KernelCall(module, name, json.dumps(taken)))
    return found


def recorded_algorithms() -> tuple[str, ...]:
    """The names of all algorithms that have kernels."""
    return tuple(_recorded())


def calls_of(algorithms: Iterable[str]) -> tuple[KernelCall, ...]:
    """The calls of these algorithms, each once."""
    known = _recorded()
    return tuple(dict.fromkeys(call for name in algorithms for call in known.get(name, ())))


def decoded(written: Any) -> Any:
    """The type of numba that is written as JSON.

    >>> decoded(["array", "int32", 2, "C", True, True]) == types.Array(types.int32, 2, "C")
    True
    """
    if isinstance(written, str):
        return types.boolean if written == "bool" else getattr(types, written)
    kind, *rest = written
    if kind == "array":
        dtype, n_dimensions, layout, mutable, aligned = rest
        return types.Array(decoded(dtype), n_dimensions, layout, readonly=not mutable, aligned=aligned)
    if kind == "named":
        module, name, parts = rest
        made = getattr(import_module(module), name)
        return types.BaseTuple.from_types([decoded(part) for part in parts], made)
    if kind == "tuple":
        return types.BaseTuple.from_types([decoded(part) for part in rest[0]])
    return from_dtype(np.dtype([tuple(field) for field in rest[0]]))
