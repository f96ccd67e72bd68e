"""Which records are published, and in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np

from kohort.data.column import Column
from kohort.pipeline.request import Request

__all__ = ["final_order"]


def final_order(
    request: Request, columns: Sequence[Column], everything: np.ndarray, *, kept: np.ndarray | None
) -> np.ndarray | None:
    """The records to publish; None: all, as they came. `columns` are those that others may know."""
    if not request.shuffle:
        return kept
    rows = everything if kept is None else kept
    return np.random.default_rng(_secret_seed(request, columns)).permutation(rows)


def _secret_seed(request: Request, columns: Sequence[Column]) -> list[int]:
    """The seed together with a digest of the original values.

    The seed is in the certificate; with it alone anybody could undo the shuffle.
    """
    digest = hashlib.sha256()
    for column in columns:
        digest.update(column.codes.tobytes())
        digest.update("\n".join(text or "" for text in column.texts).encode())
    return [request.seed, *np.frombuffer(digest.digest(), dtype=np.uint32).tolist()]
