"""The baskets of the experiments: click-streams from a folder, and a generated set of the size of BMS-POS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from kohort.io.baskets import BasketShape, read_data


def click_stream(folder: Path, number: int) -> pa.Table:
    """BMS-WebView-1 or -2."""
    return read_data(folder / f"BMS-WebView-{number}.txt.zst", BasketShape()).table


def point_of_sale(n: int = 515_597, n_items: int = 1_657, mean: float = 6.5, seed: int = 0) -> pa.Table:
    """Made-up purchases: sizes with a long tail up to 164, items by Zipf's law in a random order of ids."""
    rng = np.random.default_rng(seed)
    sizes = np.clip(np.round(rng.lognormal(np.log(mean) - 0.4, 0.9, n)), 1, 164).astype(np.int64)
    popularity = 1 / np.arange(1, n_items + 1) ** 0.9
    ids = rng.permutation(n_items)
    drawn = ids[rng.choice(n_items, size=int(sizes.sum()), p=popularity / popularity.sum())]
    keys = np.unique(np.repeat(np.arange(n), sizes) * n_items + drawn)
    offsets = np.searchsorted(keys, np.arange(n + 1) * n_items).astype(np.int32)
    names = pa.array([str(item) for item in range(n_items)])
    items = pa.DictionaryArray.from_arrays(pa.array((keys % n_items).astype(np.int32)), names).cast(
        pa.string()
    )
    return pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets), items)})


def first_records(table: pa.Table, n: int, n_items: int) -> pa.Table:
    """The paper's small sets: the first records, their numbered items modulo the size of the domain."""
    known = sorted({item for basket in table["items"].to_pylist() for item in basket}, key=int)
    number = {item: place % n_items for place, item in enumerate(known)}
    lists = table["items"].slice(0, n).to_pylist()
    return pa.table({"items": [sorted({str(number[item]) for item in basket}) for basket in lists]})
