"""The labels of large tables are held in few bytes, and are those of small ones."""

from __future__ import annotations

import numpy as np
import pytest

from kohort.pipeline import publish
from kohort.pipeline.publish import labelled
from kohort.recoding.recoding import PublishedColumn


@pytest.mark.parametrize("null_is_star", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_labels_in_few_bytes_are_the_same(monkeypatch, null_is_star, share):
    rng = np.random.default_rng(0)
    for labels in (["b", "a", None, "[1, 2]"], ["*", "x"], [None], ["only"], [str(i) for i in range(300)]):
        published = PublishedColumn(labels, rng.integers(0, len(labels), 50), np.ones(len(labels)))
        withheld = rng.random(50) < share
        plain = labelled(published, withheld, null_is_star)
        monkeypatch.setattr(publish, "_MANY", 0)
        small = labelled(published, withheld, null_is_star)
        monkeypatch.undo()
        assert small.to_pylist() == plain.to_pylist()
        assert set(small.dictionary.to_pylist()) == {
            label for label in plain.to_pylist() if label is not None
        }
        assert small.indices.type.bit_width == 8
