"""The order of items by co-occurrence, against a count by plain loops."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from kohort.data.baskets import by_cooccurrence, code_baskets
from kohort.errors import InputError


def by_definition(baskets, fanout):
    support = {}
    for item in (item for basket in baskets for item in basket):
        support[item] = support.get(item, 0) + 1
    ranked = sorted(sorted(support), key=lambda item: -support[item])
    order = []
    for start in range(0, len(ranked), fanout**2):
        left = ranked[start : start + fanout**2]
        while left:
            node = [left.pop(0)]
            while left and len(node) < fanout:
                shares = [
                    sum(item in basket and other in basket for basket in baskets for other in node)
                    / support[item]
                    for item in left
                ]
                node.append(left.pop(int(np.argmax(shares))))
            order += node
    return tuple(order)


@given(
    st.lists(st.sets(st.sampled_from("abcdefghijklmn")).map(sorted), min_size=1, max_size=12).filter(any),
    st.integers(2, 3),
)
def test_the_order_is_that_of_plain_loops(baskets, fanout):
    coded = code_baskets("items", pa.array(baskets, pa.list_(pa.string())))
    assert by_cooccurrence(coded, fanout) == by_definition(baskets, fanout)


def test_the_certificate_names_the_order():
    baskets = pa.table({"items": [["a", "c"], ["a", "c"], ["b", "d"], ["b", "d"], ["a", "b"]]})
    release = ko.anonymize(
        baskets,
        items={"items": ko.order("cooccurrence", fanout=2)},
        privacy=[ko.KmAnonymity(2, 2)],
    )
    assert release.facts()["items"]["hierarchy"] == {"order": "cooccurrence", "fanout": 2}
    assert set(release.items.problem.hierarchy.published) >= {"a … c", "b … d"}


def test_a_column_without_baskets_is_refused():
    with pytest.raises(InputError, match="cooccurrence is for items"):
        ko.anonymize(
            pa.table({"x": ["a", "b"]}),
            quasi_identifiers={"x": ko.order("cooccurrence")},
            privacy=[ko.KAnonymity(2)],
        )
