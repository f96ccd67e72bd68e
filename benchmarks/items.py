"""Baskets of items: k^m-anonymity of generated baskets."""

from __future__ import annotations

from collections.abc import Iterator

import kohort as ko
from benchmarks.measuring import Row, Size, measured, row

__all__ = ["items"]

BASKETS = 515_597  # as many as BMS-POS has


def items(size: Size) -> Iterator[Row]:
    """apriori-items with k = 5, m = 3 and fan-out 5, items in the order of their number and frequency."""
    baskets = ko.datasets.generate_baskets(20_000 if size.quick else BASKETS)
    for order in ("natural", "frequency"):

        def release(order: str = order) -> ko.Release:
            hierarchy = ko.order(order, fanout=5)
            return ko.anonymize(baskets, items={"items": hierarchy}, privacy=[ko.KmAnonymity(5, 3)])

        made, cpu = measured(release, 3 if size.quick else 1)
        seconds = {phase: round(value, 3) for phase, value in made.seconds.items()}
        asked = {"order": order, "baskets": len(baskets)}
        yield row(asked, cpu=round(cpu, 3), seconds=seconds, loss=made.loss["ncp"])
