"""Types of numba as JSON and back."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numba import from_dtype, types
from numba.np.numpy_support import as_dtype


def encoded(kind: Any) -> Any:
    """A type as JSON.

    >>> encoded(types.Array(types.int32, 2, "C"))
    ['array', 'int32', 2, 'C', True, True]
    >>> encoded(types.UniTuple(types.float64, 2))
    ['tuple', ['float64', 'float64']]
    """
    whole: Any = kind
    if isinstance(kind, (types.Number, types.Boolean, types.NoneType)):
        return "none" if isinstance(kind, types.NoneType) else str(kind)
    if isinstance(kind, types.Array):
        return ["array", encoded(kind.dtype), kind.ndim, kind.layout, kind.mutable, kind.aligned]
    if isinstance(kind, types.BaseNamedTuple):
        made = whole.instance_class
        return ["named", made.__module__, made.__qualname__, [encoded(part) for part in whole]]
    if isinstance(kind, types.BaseTuple):
        return ["tuple", [encoded(part) for part in whole]]
    if isinstance(kind, types.Record):
        fields = as_dtype(kind).descr
        return ["record", [list(field) for field in fields]]
    raise TypeError(f"no JSON for {kind}")


def decoded(written: Any) -> Any:
    """The type that was encoded.

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
