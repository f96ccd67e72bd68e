"""Work is shared out among threads, and in one piece where that is sooner done."""

import threading

import numba
import numpy as np
import pytest

from kohort.kernels.threads import LEAST_SHARED, in_threads


def pieces(sizes):
    """The runs that the work is cut into, and the threads that did them."""
    done = in_threads(lambda run: (run, threading.get_ident()), np.array(sizes))
    return [run for run, _ in done], {thread for _, thread in done}


def test_a_little_work_is_done_at_once_where_it_is_asked_for():
    runs, threads = pieces([1] * (LEAST_SHARED - 1))
    assert runs == [slice(0, LEAST_SHARED - 1)]
    assert threads == {threading.get_ident()}


@pytest.mark.skipif(numba.config.NUMBA_NUM_THREADS < 2, reason="one core only")
def test_more_work_is_cut_into_runs_of_about_equal_size():
    runs, threads = pieces([LEAST_SHARED, 1, 1, LEAST_SHARED])
    assert len(runs) >= 2
    assert [group for run in runs for group in range(run.start, run.stop)] == [0, 1, 2, 3]
    assert threading.get_ident() not in threads
