"""Share independent groups out among threads; kernels release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")

LEAST_SHARED = 512
"""Less work than this, in the units of `sizes`, is done sooner than threads are started."""


def thread_count() -> int:
    """How many threads share work out: NUMBA_NUM_THREADS, or one per core."""
    import numba

    return int(vars(numba.config)["NUMBA_NUM_THREADS"])


def in_threads(work: Callable[[slice], Result], sizes: np.ndarray) -> list[Result]:
    """Do `work` on runs of groups of about equal total size, one run per thread; results in order.

    As many threads as numba uses. What a group gives must not depend on others.
    """
    threads = min(thread_count(), len(sizes))
    total = np.cumsum(sizes)
    if threads <= 1 or total[-1] < LEAST_SHARED:
        return [work(slice(0, len(sizes)))]
    cuts = np.searchsorted(total, total[-1] * np.arange(1, threads) / threads) + 1
    bounds = [0, *np.minimum(cuts, len(sizes)), len(sizes)]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, [slice(a, b) for a, b in pairwise(bounds) if a < b]))
