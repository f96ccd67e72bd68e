"""A small table to compare releases of."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "sex": {"role": "quasi-identifier"},
        "ill": {"role": "sensitive"},
    },
    "privacy": {"k": 3},
}
DIVERSE = SPEC | {"privacy": {"k": 3, "diversity": {"attribute": "ill", "l": 2, "kind": "distinct"}}}


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "sex": rng.choice(["f", "m"], n),
            "ill": rng.choice(["flu", "cold", "gout"], n),
        }
    )
