"""Evidence for a lower bound that anybody can check: prices of records and closed records."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["DualProof", "ModelProof"]


@dataclass(frozen=True, eq=False)
class DualProof:
    """Prices of distinct rows that no group of k or more records can pay.

    A group is published as a closed record Q or as something that costs more. If the k highest prices of the
    records under Q add up to at most k times what a record pays for Q, and that holds for every Q, the sum of
    all prices is a lower bound on the cost of any release.

    prices  per distinct row of the problem
    nodes   closed records by attributes: a node of each attribute's hierarchy
    start   per closed record and one more: the distinct rows under it are rows[start[i]:start[i + 1]]
    level   per closed record a guess at its k-th highest price: a good one makes checking fast
    """

    prices: np.ndarray
    nodes: np.ndarray
    start: np.ndarray
    rows: np.ndarray
    level: np.ndarray


@dataclass(frozen=True, eq=False)
class ModelProof(DualProof):
    """Prices that no group can pay which satisfies k-anonymity and a further privacy model of the problem.

    The records of a row whose sensitive values are alike to the model are a unit, and have one price.

    prices          per unit
    level           per closed record a guess at the lowest price in the dearest valid group under it
    unit_of_record  per record of the problem; units are numbered in the order of their rows
    charge          for t-closeness, closed records by sensitive values: numbers that prove what is claimed
    """

    unit_of_record: np.ndarray
    charge: np.ndarray | None = None
