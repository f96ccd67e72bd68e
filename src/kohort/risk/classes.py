"""Prosecutor, journalist and marketer risk from the sizes of classes (El Emam, 2013)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.pipeline.size_counts import SizeCounts

__all__ = ["record_risks", "unique_share"]


def record_risks(risk: np.ndarray, records: np.ndarray, threshold: float) -> dict[str, Any]:
    """Maximum, average and share over a threshold of a risk that every record of a class has.

    risk, records  per class: the probability that one of its records is found, and how many they are
    """
    n = int(records.sum())
    if not n:
        return {"maximum": 0.0, "average": 0.0, "over_threshold": 0.0}
    over = risk > threshold * (1 + 1e-12)  # 1/10 is not over 0.1, whatever the last bit says
    return {
        "maximum": float(risk.max()),
        "average": float((risk * records).sum() / n),
        "over_threshold": float(records[over].sum() / n),
    }


def unique_share(people: SizeCounts) -> float:
    """The share of people who are alone in a class of theirs; `people` are counted by its size."""
    n = int(people.times.sum())
    return float(people.times[people.size == 1].sum() / n) if n else 0.0
