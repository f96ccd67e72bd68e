import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.data.hierarchies.categories import Mask, mask
from kohort.errors import InputError


def column(values):
    return code_column("x", pa.array(values))


def paths(builder, values):
    return {path[0]: path[1:] for path in builder.build(column(values)).paths()}


def test_mask_from_either_side():
    assert paths(mask(), ["4350", "4351"])["4350"] == ("435*", "43**", "4***", "*")
    assert paths(mask("left"), ["4350", "4351"])["4350"] == ("*350", "**50", "***0", "*")
    assert paths(mask(char="x"), ["435", "0a1"])["435"] == ("43x", "4xx", "*")


def test_whole_numbers_are_filled_with_zeros():
    found = paths(mask(), [950, 4350, 5])
    assert found["950"] == ("095*", "09**", "0***", "*")
    assert found["5"] == ("000*", "00**", "0***", "*")
    assert paths(mask("left"), [950, 4350])["950"] == ("*950", "**50", "***0", "*")


def test_codes_of_different_lengths_are_aligned_where_they_are_kept():
    h = mask().build(column(["A01", "A01.1", "A01.2", "B2", "A"]))
    found = {path[0]: path[1:] for path in h.paths()}
    assert found["A01.1"] == ("A01.*", "A01**", "A0***", "A****", "*")
    assert found["A01"] == ("A01**", "A0***", "A****", "*")
    assert found["A"] == ("A****", "*")
    assert h.leaves == ("A", "A01", "A01.1", "A01.2", "B2")
    assert paths(mask("left"), ["7.A01", "A01"])["A01"] == ("**A01", "***01", "****1", "*")


def test_single_characters_and_the_empty_text():
    assert mask().build(column(["a", "b"])).label == ("*", "a", "b")
    assert paths(mask(), ["", "ab"])[""] == ("*",)


def test_values_that_look_masked_already():
    h = mask().build(column(["4350", "43**", "*"]))
    assert set(h.leaves) == {"4350", "43**", "*"}
    assert len(set(h.published)) == len(h.published) - 1  # the root and the value * are both *


@given(
    st.sets(st.text("ab*1", min_size=1, max_size=5), min_size=1, max_size=20),
    st.sampled_from(["right", "left"]),
)
def test_any_texts_make_a_tree(values, side):
    h = Mask(side).build(column(sorted(values)))
    assert set(h.leaves) == values


def test_wrong_parameters():
    with pytest.raises(InputError, match=r"'side' of a mask must be right or left. Got 'up'"):
        mask("up")
    for char in ("", "ab", " ", 3):
        with pytest.raises(InputError, match="'char' of a mask must be one visible character"):
            mask(char=char)


def test_specs_come_back():
    for builder in (mask(), mask("left"), mask(char="#")):
        assert from_spec(builder.to_spec()) == builder


def test_a_mask_is_not_called_like_a_value_that_came_masked():
    found = paths(mask(), ["1*", "12", "13", "2*"])
    assert found["12"] == found["13"] == found["1*"] == ("1* (*)", "*")
    labels = mask().build(column(["1*", "12", "13", "2*"])).label
    assert len(set(labels)) == len(labels)
