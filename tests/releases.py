"""Small random releases with everything that a release may have: trees, numbers, missing values, drops."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

import kohort as ko
from random_tables import HIERARCHIES, VALUES


def random_release(seed, *, n=24, k=3, labels="hierarchy", suppressed="star", nulls=True, shuffle=False):
    """A tree, numbers, a column without a tree, and a sensitive one; some records may be withheld."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(20, 60, n).tolist()
    towns = rng.choice(["Ayr", "Ely", "Wick"], n).tolist()
    if nulls:
        ages[0] = towns[1] = None
    table = pa.table(
        {
            "letter": rng.choice(list(VALUES), n).tolist(),
            "age": pa.array(ages),
            "town": towns,
            "illness": rng.choice(["flu", "cold", "cough"], n).tolist(),
        }
    )
    return ko.anonymize(
        table,
        quasi_identifiers={"letter": HIERARCHIES[seed % 3], "age": None, "town": None},
        sensitive=["illness"],
        privacy=[ko.KAnonymity(k)],
        algorithm="forest",
        suppression=0.2,
        suppressed=suppressed,
        labels=labels,
        shuffle=shuffle,
    )
