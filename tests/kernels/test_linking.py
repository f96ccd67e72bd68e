"""A kernel is compiled together with all that it calls, and loaded again without the rest of numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

from kohort.kernels.compiled import kernel, lean
from kohort.kernels.kernel_cache import LEAST_NUMBER, _is_ours, _stands_alone

pytestmark = pytest.mark.processes

JOB = """
from kohort.kernels.sorting import distinct_values
import numpy as np, sys
loaded = [name in sys.modules for name in ("numba.np.arraymath", "scipy.linalg")]
print(distinct_values(np.array([3, 1, 3])), *loaded)
"""


@kernel
def below(n):
    return np.arange(n)


@kernel
def half(n):
    return n // 2


@kernel
def quarter(n):
    return half(half(n))


@kernel
def third(n):
    return n // 3


@kernel
def total_below(n):
    found = below(n)
    s = 0
    for value in found:
        s += value
    return s


@kernel
def steps_to_one(n):
    if n == 1:
        return 0
    return 1 + steps_to_one(n // 2)


@lean
def last(values):
    return values[-1]


@kernel
def doubled_last(values):
    return 2 * last(values)


@kernel
def divided(a, b):
    return a // b


@kernel
def divided_twice(a, b):
    return divided(divided(a, b), b)


def library_of(compiled):
    (result,) = compiled.entry.overloads.values()
    return result.library


def test_a_part_is_linked_into_the_entry_and_has_no_machine_code_of_its_own():
    quarter.entry._cache.disable()  # code from the cache does not tell what is inside
    assert quarter(20) == 5
    assert not half.entry.overloads  # Python did not call it
    names = [function.name for function in library_of(quarter).get_defined_functions()]
    assert any("quarter" in name for name in names)


def test_a_kernel_is_an_entry_and_a_part_at_once():
    assert total_below(4) == 6
    assert below(3).tolist() == [0, 1, 2]
    assert total_below(4) == 6


def test_kernels_may_call_themselves_and_lean_ones():
    assert steps_to_one(9) == 3
    assert doubled_last(np.array([1, 4])) == 8


def test_errors_of_parts_reach_python():
    with pytest.raises(ZeroDivisionError):
        divided_twice(1, 0)
    assert divided_twice(9, 3) == 1


def test_code_with_numbas_own_numbers_is_not_kept():
    third.entry._cache.disable()
    assert third(9) == 3
    ours = library_of(third)
    assert list(ours.get_defined_functions()) and _is_ours(ours)

    class Foreign:
        def get_defined_functions(self):
            yield from ours.get_defined_functions()
            yield type("Function", (), {"name": "_ZN5numba2np8arrayobj4implB3v17B38c8tJTC"})

    assert not _is_ours(Foreign())
    assert LEAST_NUMBER > 10**18


def test_compiled_code_is_loaded_without_all_of_numba(tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", JOB]
    runs = [
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True) for _ in "ab"
    ]
    assert runs[0].stdout.strip().startswith("[1 3]")
    assert runs[1].stdout.strip() == "[1 3] False False"


def test_code_that_starts_threads_is_loaded_with_all_of_numba():
    class Result:
        reload_init = [print]
        library = library_of(total_below) if total_below(2) is not None else None

    assert not _stands_alone(Result)
