"""Kernels without counted references: whatever they call must be compiled so, too."""

import importlib
import pkgutil

import numpy as np
import pytest
from numba import njit
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

import kohort.kernels
from kohort.kernels.lean import lean


def is_lean(kernel):
    return kernel.targetoptions.get("_nrt") is False


def lean_kernels():
    for module in pkgutil.iter_modules(kohort.kernels.__path__):
        for kernel in vars(importlib.import_module(f"kohort.kernels.{module.name}")).values():
            if isinstance(kernel, Dispatcher) and is_lean(kernel):
                yield kernel


def test_lean_kernels_call_lean_kernels_alone():
    kernels = {kernel.py_func.__qualname__: kernel for kernel in lean_kernels()}
    assert len(kernels) > 50
    for name, kernel in kernels.items():
        called = (kernel.py_func.__globals__.get(other) for other in kernel.py_func.__code__.co_names)
        counting = [c.__name__ for c in called if isinstance(c, Dispatcher) and not is_lean(c)]
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
