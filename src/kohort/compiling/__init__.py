"""Compile the kernels of algorithms before they are needed, on all cores."""

from kohort.compiling.compile import compile_algorithms, is_compiled

__all__ = ["compile_algorithms", "is_compiled"]
