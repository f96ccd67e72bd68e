"""Classes that are counted by sorting are those that counting record by record finds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.counting import count_codes, count_pairs, stretches_of
from kohort.verification import classes as classes_module
from kohort.verification.classes import ClassKeys

tables = st.integers(1, 60).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n), min_size=2, max_size=4)
)


@given(tables, st.sampled_from([1, 7, 1000]))
def test_classes_and_cells_are_counted(columns, at_once):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(classes_module, "_AT_ONCE", at_once)
        coded = [code_column(f"c{i}", pa.array(values)) for i, values in enumerate(columns)]
        keys, values = ClassKeys(coded[:-1]), coded[-1]
        found = keys.cells(values)
    looks = list(zip(*(column.codes.tolist() for column in coded)))
    classes = sorted({look[:-1] for look in looks})
    assert list(zip(*(codes.tolist() for codes in keys.codes(found.keys)))) == classes
    assert found.sizes.tolist() == [Counter(look[:-1] for look in looks)[c] for c in classes]
    cells = {
        (*classes[number], value): count
        for number, value, count in zip(found.number.tolist(), found.value.tolist(), found.count.tolist())
    }
    assert cells == Counter(looks)
    alone = keys.cells()
    assert (alone.keys == found.keys).all() and (alone.sizes == found.sizes).all()


def test_too_many_columns_do_not_fit():
    column = code_column("x", pa.array(range(1000)))
    assert ClassKeys([column] * 6).fit(4)
    assert not ClassKeys([column] * 6).fit(5)
    assert not ClassKeys([column] * 100).fit(1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=40))
def test_pairs_are_counted_alike_in_one_go_and_in_stretches(records):
    from kohort.data import counting

    left, right, chosen = (np.array([r[i] for r in records], dtype=np.int64) for i in range(3))
    expected = Counter((a, b) for a, b, c in records if c)
    for dense in (0, 1 << 22):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(counting, "_DENSE", dense)
            patch.setattr(counting.stretches_of, "__defaults__", (7,))
            pairs = count_pairs(left, right, 4, 6, chosen.astype(bool))
        assert Counter({(a, b): n for a, b, n in zip(*(part.tolist() for part in pairs))}) == expected
    assert count_codes(left, 4).tolist() == [list(left).count(code) for code in range(4)]
    assert list(stretches_of(5, 2)) == [slice(0, 2), slice(2, 4), slice(4, 5)]
