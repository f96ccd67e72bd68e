"""How kernels are compiled: under unique symbols, and lean ones without counted references."""

import importlib
import multiprocessing
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.bytecode import FunctionIdentity
from numba.core.errors import NumbaError

import kohort
import kohort.kernels
from kohort.kernels import entry
from kohort.kernels.compiled import Kernel, kernel, lean
from kohort.kernels.entry import symbols_are_unique

FROM_CLOSURES = {
    "argsort",
    "sort",
    "searchsorted",
    "unique",
    "median",
    "partition",
    "argpartition",
    "digitize",
}


def all_kernels():
    for module in pkgutil.walk_packages(kohort.__path__, "kohort."):
        if module.name.startswith(("kohort.kernels", "kohort.algorithms")):
            for found in vars(importlib.import_module(module.name)).values():
                if isinstance(found, Kernel):
                    yield found


def is_lean(found):
    return found.options.get("_nrt") is False


def test_lean_kernels_call_lean_kernels_alone():
    kernels = {found.py_func.__qualname__: found.py_func for found in all_kernels() if is_lean(found)}
    assert len(kernels) > 50
    for name, function in kernels.items():
        called = (function.__globals__.get(other) for other in function.__code__.co_names)
        counting = [c.__name__ for c in called if isinstance(c, Kernel) and not is_lean(c)]
        assert not counting, f"{name} calls {counting}"


def test_a_lean_kernel_cannot_create_an_array():
    @njit
    def counted(n):
        return np.empty(n).sum()

    def creates(n):
        return counted(n)

    with pytest.raises(NumbaError):
        lean(creates)(3)


def test_a_lean_kernel_sees_arrays_and_views_of_them():
    def total(numbers):
        s = 0
        for number in numbers[1:3]:
            s += number
        return s

    assert lean(total)(np.arange(5)) == 3


def test_every_kernel_has_our_cache_and_none_of_numbas():
    kinds = {type(found.entry._cache).__name__ for found in all_kernels()}
    assert kinds == {"KernelCache"}


def test_no_kernel_uses_what_numba_builds_from_closures_that_capture_values():
    for found in all_kernels():
        assert not FROM_CLOSURES & set(found.py_func.__code__.co_names), found.py_func.__qualname__


def drawn_id(_=None):
    return FunctionIdentity.from_function(drawn_id).unique_id


@pytest.mark.processes
def test_ids_of_compilations_differ_between_processes_and_within_one():
    command = [sys.executable, "-c", "from kohort.kernels.entry import *\n"]
    command[-1] += "from numba.core.bytecode import FunctionIdentity as F\n"
    command[-1] += "print(*(F.from_function(entry_of).unique_id for _ in range(5)))"
    drawn = [drawn_id() for _ in range(5)]
    for _ in range(2):
        drawn += map(int, subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    assert len(set(drawn)) == 15


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
def test_forked_processes_draw_ids_of_their_own():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        drawn = pool.map(drawn_id, range(8), chunksize=1)
    assert len({*drawn, drawn_id()}) == 9


def test_an_id_is_part_of_the_compiled_symbol():
    def answer():
        return 42

    seen = kernel(answer)
    assert seen() == 42
    (result,) = seen.entry.overloads.values()
    assert result.fndesc.uid >= 1 << 64
    assert f"v{result.fndesc.uid}" in result.fndesc.mangled_name


def test_kernels_are_not_cached_where_numba_numbers_them_itself(monkeypatch):
    assert symbols_are_unique()
    monkeypatch.setattr(FunctionIdentity, "_unique_ids", iter(range(10**6, 10**6 + 10)))
    assert not symbols_are_unique()
    monkeypatch.setattr(entry, "_CACHED", symbols_are_unique())
    assert type(kernel(drawn_id).entry._cache).__name__ == "NullCache"
