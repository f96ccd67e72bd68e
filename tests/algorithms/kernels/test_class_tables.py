import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kohort.algorithms.kernels.class_tables import number_classes, roll_up, sum_by_class


@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=40),
    st.lists(st.integers(0, 3), min_size=15, max_size=15),
    st.sampled_from([(), (0,), (1, 2), (0, 1, 2)]),
    st.sampled_from([4, 2**15, 2**40]),  # a slot for each combination; hashed; more than can be numbered
    st.sampled_from("CF"),
    st.data(),
)
def test_rows_are_numbered_by_what_they_are_mapped_to(values, mapped, columns, radix, order, data):
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=80))
    start = np.array([0, 5, 10])
    table = np.array(values, dtype=np.int32, order=order)
    chosen, mapping = np.array(columns, dtype=np.int64), (start, np.array(mapped), np.array([radix] * 3))
    class_of, first = number_classes(table, np.array(rows), chosen, *mapping)
    known = {}
    looks = [tuple(mapped[start[c] + values[row][c]] for c in columns) for row in rows]
    assert class_of.tolist() == [known.setdefault(look, len(known)) for look in looks]
    assert first.tolist() == [looks.index(look) for look in known]

    counts = np.arange(len(rows), dtype=np.int64)
    sums = [sum(i for i, other in enumerate(looks) if other == look) for look in known]
    assert sum_by_class(class_of, counts, len(first)).tolist() == sums
    rolled_up = roll_up(table, np.array(rows), counts, chosen, *mapping)
    assert rolled_up[0].tolist() == [rows[looks.index(look)] for look in known]
    assert rolled_up[1].tolist() == sums
