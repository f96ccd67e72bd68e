"""`python -m benchmarks.kernel_calls`: run small jobs of every kind and write down the kernels they call.

To be run whenever kernels or their callers change; a test says so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import kohort as ko
from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS
from kohort.compiling.calls import CALLS, KernelCall
from kohort.datasets import generate_hospital
from kohort.errors import KohortError
from kohort.kernels.compiled import Kernel

_TREES = {"sex": None, "age": ko.intervals(5, 10, 20), "postcode": ko.mask()}
_FREE = {"sex": None, "age": None, "insurance": None}
_NUMBERS = {"age": None, "length_of_stay": None}
_SCHEMES = ("bhs", "ghs", "ops", "sps", "gsps", "gops")
_COSTS = ("discernibility", "hierarchical-discernibility", "entropy", "tree", "suppressions")


def jobs_of(algorithm: str) -> Iterator[dict[str, Any]]:
    """Arguments of `anonymize` that together make an algorithm call all its kernels; some are refused."""
    base = {"sensitive": ["diagnosis"], "others": "drop", "k": 3, "algorithm": algorithm, "time_limit": 1.5}
    if algorithm in ITEMS_ALGORITHMS:
        alone = {"items": "procedures", "others": "drop", "algorithm": algorithm, "time_limit": 1.5}
        yield from ({**alone, "privacy": [ko.KmAnonymity(3, m)]} for m in (2, 1, 3))
        yield {**alone, "privacy": [ko.KAnonymity(3), ko.KmAnonymity(3, 2)], "quasi_identifiers": _TREES}
        yield {**alone, "privacy": [ko.KmAnonymity(3, 2)], "items": ko.Items("procedures", suppress=True)}
        diverse = ko.ItemConfidence(limit=0.9, m=2, attribute="diagnosis")
        yield {**alone, "privacy": [ko.KmAnonymity(3, 2), diverse], "sensitive": ["diagnosis"]}
        return
    trees = {**base, "quasi_identifiers": _TREES}
    models = [
        ko.LDiversity("diagnosis", 2, kind="distinct"),
        ko.LDiversity("diagnosis", 2, kind="frequency"),
        ko.LDiversity("diagnosis", 1.5, kind="entropy"),
        ko.TCloseness("diagnosis", 0.6),
    ]
    if ALGORITHMS[algorithm].own_time_limit is not None:  # without a limit, exact searches would not end here
        yield {**trees, "time_limit": None}
    yield trees
    yield {**trees, "suppression": 0.2}
    yield {**trees, "labels": "tight"}
    yield {**base, "quasi_identifiers": _FREE}
    yield {**trees, "person": "patient_id"}
    yield {**trees, "person": ko.Person(weight="length_of_stay")}
    yield from ({**trees, "privacy": [model], "suppression": share} for model in models for share in (0, 0.2))
    yield from ({**trees, "cost": cost} for cost in _COSTS)
    yield from ({**trees, "scheme": scheme} for scheme in _SCHEMES)
    yield {**trees, "k": 2}
    yield {**base, "quasi_identifiers": _NUMBERS, "cost": "squares"}
    yield {**base, "quasi_identifiers": {"age": None}, "cost": "squares"}
    if algorithm == "mdav":
        yield {**trees, "algorithm": ko.Mdav(gamma=0.5)}


@contextmanager
def recorded_calls() -> Iterator[dict[KernelCall, None]]:
    """Collect the calls of kernels from Python inside the block."""
    from numba import typeof

    calls: dict[KernelCall, None] = {}

    def run(kernel: Kernel, *args: Any) -> Any:
        types = json.dumps([encoded(typeof(arg)) for arg in args])
        calls[KernelCall(kernel.py_func.__module__, kernel.py_func.__name__, types)] = None
        return kernel.entry(*args)

    with patch.object(Kernel, "__call__", run):
        yield calls


def encoded(kind: Any) -> Any:
    """A type of numba as JSON, which `kohort.compiling.calls` reads.

    >>> from numba import types
    >>> encoded(types.Array(types.int32, 2, "C"))
    ['array', 'int32', 2, 'C', True, True]
    >>> encoded(types.UniTuple(types.float64, 2))
    ['tuple', ['float64', 'float64']]
    """
    from numba import types
    from numba.np.numpy_support import as_dtype

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


def _calls_of(algorithm: str, table: Any) -> dict[KernelCall, None]:
    with recorded_calls() as calls:
        for number, job in enumerate(jobs_of(algorithm)):
            try:
                release = ko.anonymize(table, **job)
            except KohortError:
                continue
            if not number:
                with TemporaryDirectory() as folder:
                    release.report(f"{folder}/report.html")
    return calls


def main() -> None:
    table = generate_hospital(300)
    names = [name for name in (*ALGORITHMS, *ITEMS_ALGORITHMS) if name != "auto"]
    tiny = {"k-anon": table.slice(0, 24)}  # it looks at every set of so many records
    of_algorithm = {name: _calls_of(name, tiny.get(name, table)) for name in names}
    names.append("auto")
    of_algorithm["auto"] = of_algorithm["improve"] | of_algorithm["mondrian"]
    calls = sorted({call for found in of_algorithm.values() for call in found}, key=_key)
    users = [[name for name in names if call in of_algorithm[name]] for call in calls]
    lines = [json.dumps([c.module, c.name, json.loads(c.types), used]) for c, used in zip(calls, users)]
    CALLS.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")  # a line per call: easy to merge


def _key(call: KernelCall) -> tuple[str, str, str]:
    return call.module, call.name, call.types


if __name__ == "__main__":
    main()
