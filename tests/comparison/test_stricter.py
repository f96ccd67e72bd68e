"""A release for a stricter promise stands in for a dearer one: costs never fall as promises get stricter."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kohort.comparison.grid import COLUMNS, with_stricter


def row(k, l, value, *, status="done", t=None):  # noqa: E741
    figures = {"value": value, "loss": value, "bound": 0.1, "gap": None if value is None else value / 0.1 - 1}
    key = {"algorithm": "improve", "cost": "loss", "k": k, "l": l, "t": t, "status": status}
    return dict.fromkeys(COLUMNS) | key | figures


def test_a_cheaper_release_of_a_stricter_promise_is_shown():
    loose, strict = with_stricter([row(2, None, 0.4), row(3, None, 0.3)])
    assert (loose["k"], loose["value"], loose["gap"]) == (2, 0.3, 0.3 / 0.1 - 1)
    assert loose["reason"] == "The release for k = 3 loses less, and keeps this promise, too."
    assert strict == row(3, None, 0.3)


@given(
    st.lists(st.tuples(*[st.integers(2, 4)] * 2, st.sampled_from([0.2, 0.4]), st.floats(0.1, 1)), max_size=9)
)
def test_costs_never_fall_as_promises_become_stricter(cells):
    rows = with_stricter([row(k, l, value, t=t) for k, l, t, value in cells])  # noqa: E741
    for one in rows:
        for other in rows:
            if one["k"] <= other["k"] and one["l"] <= other["l"] and one["t"] >= other["t"]:
                assert one["value"] <= other["value"]
    assert with_stricter(rows) == rows


def test_rows_that_cannot_be_compared_stay_as_they_are():
    rows = [row(2, None, 0.4), row(3, 2, 0.3), row(4, None, None, status="infeasible")]
    assert with_stricter(rows) == rows
