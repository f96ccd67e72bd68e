import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.counting import distinct_rows


@given(
    st.integers(0, 3).flatmap(
        lambda width: st.lists(st.tuples(*[st.integers(0, 3)] * width), max_size=40).map(
            lambda rows: np.array(rows, dtype=np.int64).reshape(len(rows), width)
        )
    ),
    st.sampled_from([1, 2**19, 2**45]),  # small keys; keys with no room for places; keys of a column alone
)
def test_distinct_rows_are_counted_in_their_order(codes, factor):
    codes *= factor
    records = [tuple(row) for row in codes.tolist()]
    rows, counts, row_of_record = distinct_rows(codes)
    expected = sorted(set(records))
    assert [tuple(row) for row in rows.tolist()] == expected
    assert counts.tolist() == [records.count(row) for row in expected]
    assert row_of_record.tolist() == [expected.index(row) for row in records]
