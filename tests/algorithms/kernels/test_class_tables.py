import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kohort.algorithms.kernels.class_tables import number_classes, sum_by_class


@given(
    st.integers(1, 40).flatmap(
        lambda n: st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=n, max_size=n)
    ),
    st.lists(st.integers(0, 3), min_size=15, max_size=15),
    st.sampled_from([(), (0,), (1, 2), (0, 1, 2)]),
    st.sampled_from([4, 2**40]),  # few combinations; more than can be numbered
    st.data(),
)
def test_rows_are_numbered_by_what_they_are_mapped_to(values, mapped, columns, radix, data):
    rows = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1))
    start = np.array([0, 5, 10])
    class_of, first = number_classes(
        np.array(values, dtype=np.int32),
        np.array(rows),
        np.array(columns, dtype=np.int64),
        start,
        np.array(mapped),
        np.array([radix] * 3),
    )
    known = {}
    looks = [tuple(mapped[start[c] + values[row][c]] for c in columns) for row in rows]
    assert class_of.tolist() == [known.setdefault(look, len(known)) for look in looks]
    assert first.tolist() == [looks.index(look) for look in known]
    counts = np.arange(len(rows), dtype=np.int64)
    assert sum_by_class(class_of, counts, len(first)).tolist() == [
        sum(i for i, c in enumerate(class_of) if c == number) for number in range(len(first))
    ]
