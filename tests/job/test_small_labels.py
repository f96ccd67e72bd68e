"""Labels are held in few bytes, and only those of published records are listed."""

from __future__ import annotations

import numpy as np
import pytest

from kohort.job.publish import labelled
from kohort.recoding.recoding import PublishedColumn


@pytest.mark.parametrize("null_is_star", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_labels_in_few_bytes_are_the_same(null_is_star, share):
    rng = np.random.default_rng(0)
    for labels in (["b", "a", None, "[1, 2]"], ["*", "x"], [None], ["only"], [str(i) for i in range(300)]):
        published = PublishedColumn(labels, rng.integers(0, len(labels), 50), np.ones(len(labels)))
        withheld = rng.random(50) < share
        null = "*" if null_is_star else None
        own = [null if labels[code] is None else labels[code] for code in published.of_record]
        plain = ["*" if hidden else label for hidden, label in zip(withheld, own)]
        small = labelled(published, withheld, null_is_star)
        assert small.to_pylist() == plain
        assert small.dictionary.to_pylist() == sorted({label for label in plain if label is not None})
        assert small.indices.type.bit_width == 8
