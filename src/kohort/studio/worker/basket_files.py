"""Questions about files of nothing but baskets: what is in them, and the items that a hierarchy is over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from kohort.data.baskets import Baskets
from kohort.errors import UnsupportedError
from kohort.io.data_files import recognized_baskets, separator_for
from kohort.io.formats import format_of
from kohort.io.source_file import Files
from kohort.profiling.profile import profile_baskets
from kohort.statement.items import BASKETS, BasketShape
from kohort.studio.worker.cells import first_rows, shortened
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Source, Workplace, shape_of

_MOST_COMMON = 20


def recognized(source: Source) -> Source:
    """The source with the shape of its baskets, where it holds one per line or is said to; else as it is."""
    path, said = Path(source["path"]), source.get("baskets")
    Files.at(path)  # refused where it cannot be read
    if said is None and (source.get("header") is not None or format_of(path).name != "csv"):
        return source
    try:
        found = recognized_baskets(path)
    except UnsupportedError:  # by its name it is no table, but it may hold baskets
        found = None
    if found is None:
        return source
    return {**source, "header": None, "baskets": {"separator": found.separator}}


def open_baskets(workplace: Workplace, telling: Telling, source: Source) -> dict[str, Any]:
    """The profile of a file of baskets, its first ones and its most common items."""
    file = workplace.file(source)
    telling.tell({"what": "counting", "share": 0.5, "seconds": 0.0})
    baskets = workplace.baskets(source, BASKETS)
    shape = shape_of(source)
    assert shape is not None
    return {
        "records": len(baskets),
        "format": file.format,
        "notes": list(file.notes),
        "columns": [],
        "attributes": {},
        "rows": first_rows(file.table),
        "shape": source["baskets"],
        "baskets": {
            **profile_baskets(baskets).to_dict(),
            "separator": _separator(shape, Path(source["path"])),
            "common": most_common(baskets),
        },
    }


def _separator(shape: BasketShape, path: Path) -> str | None:
    """What separates the items of a line; None where an item has a row of its own."""
    return None if shape.id is not None else separator_for(shape, path)


def most_common(baskets: Baskets, count: int = _MOST_COMMON) -> list[dict[str, Any]]:
    """The items that most baskets have, and how many have each."""
    counts = baskets.items.counts
    order = np.argsort(-counts, kind="stable")[:count]
    texts = baskets.items.texts
    return [{"item": shortened(str(texts[code])), "baskets": int(counts[code])} for code in order]


def items_of(workplace: Workplace, source: Source, column: str, items: dict[str, Any]) -> Baskets:
    """The baskets of a column without their sensitive items: what a hierarchy of items is over.

    items  `separator`, where the cells are texts, and the sensitive items, `without` which they are taken
    """
    baskets = workplace.baskets(source, column, items.get("separator"))
    return baskets.parted(items["without"])[0] if items.get("without") else baskets
