"""Draw a share of the records at random: the others are not published."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from kohort.data.dataset import Dataset
from kohort.errors import InputError, UnsupportedError
from kohort.pipeline.perturb import generator_of
from kohort.pipeline.request import Request
from kohort.tables.memory import MemoryTable


def sample_size(share: float, n_records: int) -> int:
    """How many of the records are drawn: the share, rounded down."""
    return int(Fraction(str(share)) * n_records)


def sample_of(dataset: Dataset, request: Request) -> Dataset:
    """The records that are drawn, in their order; all of them where the share is 1.

    They come from the key and the seed or, without a key, from the operating system, as noise does.
    """
    if request.sample == 1:
        return dataset
    if request.roles.only("person") or request.roles.only("household") or request.events is not None:
        raise UnsupportedError("Records are drawn one by one, and people have several. Leave out 'sample'.")
    size = sample_size(request.sample, dataset.n_records)
    if not size:
        raise InputError(
            f"A sample of {request.sample:g} of {dataset.n_records} records is empty. Draw a larger share."
        )
    rng = generator_of(request.key, request.seed, "sample")
    rows = np.sort(rng.choice(dataset.n_records, size, replace=False))
    return MemoryTable(dataset.frame[rows.tolist()].to_native())


def sample_note(request: Request, n_records: int) -> list[str]:
    """A sentence on what was drawn."""
    if request.sample == 1:
        return []
    return [
        f"{n_records:,} records, {request.sample:g} of all, were drawn at random; the others are not "
        "published. Every promise and figure is about those that were drawn."
    ]
