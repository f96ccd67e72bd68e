"""A run: its limits hold for its parts, and work in other threads ends with it."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from kohort.algorithms import Run


def _work(run):
    begun = time.monotonic()
    while not run.out_of_time and time.monotonic() - begun < 30:
        time.sleep(0.005)
    return time.monotonic() - begun


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_other_threads_end_when_their_block_is_interrupted(failure):
    doing = []
    with pytest.raises(failure), ThreadPoolExecutor(1) as pool, Run().until_failure() as beside:
        doing.append(pool.submit(_work, beside.at_most(20).in_silence()))
        raise failure
    assert doing[0].result() < 5


def test_only_the_block_that_failed_is_out_of_time():
    run = Run(time_limit=60)
    with pytest.raises(ValueError), run.until_failure() as beside:
        raise ValueError
    assert beside.out_of_time
    assert not run.out_of_time


def test_a_part_has_no_more_time_than_the_whole():
    run = Run(time_limit=1)
    assert run.at_most(60).seconds_left <= 1
    assert run.share_of_time(0.5).seconds_left <= 0.5
    with run.until_failure() as beside:
        assert beside.seconds_left <= 1


def test_the_share_that_is_gone_is_that_of_the_nearest_limit():
    assert Run().gone == 0
    run = Run(time_limit=0.02)
    time.sleep(0.03)
    assert run.gone == run.in_silence().gone == 1
    assert run.at_most(100).gone < 0.5
