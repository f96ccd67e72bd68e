"""The baskets of the experiments: click-streams from a folder, and a generated set of the size of BMS-POS."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import kohort as ko
from kohort.io.data_files import read_data
from kohort.statement.items import BasketShape


def click_stream(folder: Path, number: int) -> pa.Table:
    """BMS-WebView-1 or -2."""
    return read_data(folder / f"BMS-WebView-{number}.txt.zst", BasketShape()).table


def point_of_sale() -> pa.Table:
    """Made-up purchases of the size of BMS-POS."""
    return ko.datasets.generate_baskets(515_597, n_items=1_657, mean_size=6.5, seed=0)


def first_records(table: pa.Table, n: int, n_items: int) -> pa.Table:
    """The paper's small sets: the first records, their numbered items modulo the size of the domain."""
    known = sorted({item for basket in table["items"].to_pylist() for item in basket}, key=int)
    number = {item: place % n_items for place, item in enumerate(known)}
    lists = table["items"].slice(0, n).to_pylist()
    return pa.table({"items": [sorted({str(number[item]) for item in basket}) for basket in lists]})
