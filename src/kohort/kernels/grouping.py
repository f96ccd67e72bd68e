"""The least and the greatest value of each group of records."""

from __future__ import annotations

import numpy as np

from kohort.kernels.compiled import kernel


@kernel
def ranges_by_group(values, group_of_record, n_groups):
    """Least and greatest value of each group; a record in group -1 is in none. O(n)."""
    lo = np.full(n_groups, 2**31 - 1, np.int32)
    hi = np.full(n_groups, -1, np.int32)
    for record in range(len(values)):
        group = group_of_record[record]
        if group >= 0:
            value = values[record]
            if value < lo[group]:
                lo[group] = value
            if value > hi[group]:
                hi[group] = value
    return lo, hi
