"""Made-up purchases: baskets of items of any number, as skewed as those of a shop."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kohort.errors import InputError


def generate_baskets(
    n: int = 10_000, *, n_items: int = 1_657, mean_size: float = 6.5, seed: int = 0
) -> pa.Table:
    """`n` baskets in a column `items`; the same seed gives the same baskets. O(items drawn * log).

    Sizes are geometric with the given mean, before items that were drawn twice count once. The popularity of
    items falls with rank to the power of 0.9, in a random order of their numbers. With n = 515,597 and the
    other parameters as they are, the set has the size of BMS-POS, on which papers measure; it is not BMS-POS.

    >>> generate_baskets(3, n_items=5, mean_size=2, seed=1)["items"].to_pylist()
    [['1', '4'], ['1', '2', '3'], ['0']]
    """
    if n < 1 or n_items < 1 or mean_size < 1:
        raise InputError("The number of baskets, of items and the mean size must be at least 1.")
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(1 / mean_size, n)
    popularity = np.arange(1, n_items + 1) ** -0.9
    places = np.searchsorted(np.cumsum(popularity / popularity.sum()), rng.random(int(sizes.sum())))
    drawn = rng.permutation(n_items)[np.minimum(places, n_items - 1)]
    keys = np.sort(np.repeat(np.arange(n), sizes) * n_items + drawn)
    keys = keys[np.append(True, np.diff(keys) > 0)]
    offsets = np.searchsorted(keys, np.arange(n + 1) * n_items).astype(np.int32)
    names = pa.array([str(item) for item in range(n_items)])
    items = pa.DictionaryArray.from_arrays(pa.array((keys % n_items).astype(np.int32)), names)
    return pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets), items.cast(pa.string()))})
