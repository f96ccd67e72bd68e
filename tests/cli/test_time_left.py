"""The estimate of a progress bar: nothing before it means something, never above the time limit."""

import pytest

from kohort.cli.console import TimeLeft


def estimates(reports, **options):
    """What is estimated after each report, given as pairs of seconds and share."""
    times = iter([seconds for seconds, _ in reports])
    left = TimeLeft(clock=lambda: next(times), **options)
    return [left.after(share) for _, share in reports]


def steadily(until, pace, start=0.0):
    return [(start + seconds, seconds * pace) for seconds in range(until + 1)]


def test_a_steady_step_is_estimated_once_a_tenth_and_three_seconds_have_passed():
    found = estimates(steadily(10, 0.05))
    assert found[:3] == [None] * 3
    assert found[3:] == pytest.approx([20 - seconds for seconds in range(3, 11)])


def test_nothing_is_said_of_a_step_that_has_hardly_begun():
    assert estimates([(0, 0.0), (60, 0.002), (120, 0.004)]) == [None] * 3  # would be hours


def test_nothing_is_said_while_the_pace_changes():
    assert estimates([(0, 0.0), (5, 0.4), (10, 0.5), (20, 0.52)])[-2:] == [None, None]


def test_compiling_before_the_first_report_does_not_count():
    assert estimates([(100 + seconds, share) for seconds, share in steadily(10, 0.05)])[-1] == pytest.approx(
        10
    )


def test_a_new_step_begins_where_the_share_falls_back():
    found = estimates([*steadily(10, 0.1), *steadily(10, 0.05, start=11)])
    assert found[11:14] == [None] * 3
    assert found[-1] == pytest.approx(10)


def test_the_estimate_never_exceeds_the_time_limit():
    assert estimates(steadily(20, 0.01), time_limit=6)[-1] == 6
