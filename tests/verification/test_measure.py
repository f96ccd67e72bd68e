"""Costs measured again from a shuffled release are those that were measured when it was made."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.job.verify import verify_release
from kohort.tables.memory import MemoryTable


@pytest.mark.parametrize("suppression", [0.0, 0.2])
def test_an_order_file_leads_to_the_same_costs(suppression):
    rng = np.random.default_rng(0)
    table = pa.table(
        {"age": rng.integers(0, 30, 60), "town": rng.choice(list("abcd"), 60), "w": rng.uniform(1, 9, 60)}
    )
    release = ko.anonymize(
        table,
        quasi_identifiers={"age": ko.intervals(5, 10), "town": None},
        weight="w",
        k=3,
        algorithm="full-domain",
        suppression=suppression,
        shuffle=True,
    )
    found = verify_release(
        MemoryTable(release.table), release.request, original=MemoryTable(table), order=release.original_rows
    )
    assert found.loss == pytest.approx(release.loss)
    assert found.unweighted_loss == pytest.approx(release.unweighted_loss)
