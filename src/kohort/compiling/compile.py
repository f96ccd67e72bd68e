"""Fill the cache of compiled kernels, an algorithm at a time and on all cores."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from numba.core import config

from kohort.compiling.calls import KernelCall, calls_of
from kohort.kernels.compile_time import compiling

Report = Callable[[str, float], None]

_PACKAGE = Path(__file__).parents[1]
WHAT = "compiling the inner loops of {} for this processor, the first time only"


def is_compiled(algorithm: str) -> bool:
    """Whether all kernels of an algorithm were compiled by this version on this machine."""
    return _stamp(algorithm).exists()


def compile_algorithms(algorithms: Sequence[str], report: Report, cores: int | None = None) -> int:
    """Compile what these algorithms lack, and return how many kernels that were.

    Where the cache cannot be written or a process fails, kernels are compiled when they are called, as in
    any program that does not call this.

    report  called with what is being done and the share that is done
    cores   processes that compile side by side; None: one per core
    """
    missing = [name for name in algorithms if not is_compiled(name)]
    if not missing or not _can_write() or config.DISABLE_JIT:  # type: ignore[attr-defined]
        return 0
    calls = [call for call in calls_of(missing) if not call.is_compiled]
    largest_first = sorted(calls, key=lambda call: -call.size)
    cores = min(cores or os.cpu_count() or 1, len(calls))
    if calls:
        _compile(largest_first, cores, report, WHAT.format(", ".join(missing)))
    left = {call for call in calls if not call.is_compiled}
    for name in missing:
        if not left & set(calls_of([name])):
            _stamp(name).touch(mode=0o600)
    return len(calls) - len(left)


def _compile(calls: list[KernelCall], cores: int, report: Report, what: str) -> None:
    """Compile kernels in several processes, in this order."""
    report(what, 0.0)
    sizes = {call: call.size for call in calls}
    total, done = sum(sizes.values()), 0
    deaf: dict[str, Any] = {
        "initializer": signal.signal,
        "initargs": (signal.SIGINT, signal.SIG_IGN),
    }  # to Ctrl-C
    pool = ProcessPoolExecutor(cores, mp_context=get_context("spawn"), **deaf)
    with compiling(), pool:
        try:
            waiting = {pool.submit(call.compile): call for call in calls}
            for future in as_completed(waiting):
                future.exception()
                done += sizes[waiting[future]]
                report(what, done / total)
        except BaseException:  # Ctrl-C: what is being compiled would take seconds to its end
            for process in list(pool._processes.values()):
                process.terminate()
            raise


def _stamp(algorithm: str) -> Path:
    """The file that says that an algorithm is compiled whole."""
    from numba.core.registry import cpu_target

    from kohort.kernels.kernel_cache import cache_folder

    processor = repr(cpu_target.target_context.codegen().magic_tuple())
    name = hashlib.blake2b((_sources() + processor).encode(), digest_size=16).hexdigest()
    return cache_folder() / "whole" / f"{algorithm}-{name}"


@cache
def _sources() -> str:
    """A digest of all source files of this package, and of what compiles them."""
    import llvmlite
    import numba

    digest = hashlib.blake2b(f"{sys.version} {numba.__version__} {llvmlite.__version__}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _can_write() -> bool:
    """Whether compiled code can be kept: the folder of stamps is there, and takes a file."""
    folder = _stamp("").parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
