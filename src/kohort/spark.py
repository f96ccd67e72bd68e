"""Tables that are on many machines: `anonymize` with what only Spark asks for. Needs kohort[spark], Java."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kohort import api
from kohort.release.release import Release
from kohort.tables.source import RECORDS_PER_REGION, SparkData

__all__ = ["anonymize"]


def anonymize(
    data: Any,
    *,
    order_by: Sequence[str] = (),
    records_per_region: int = RECORDS_PER_REGION,
    **options: Any,
) -> Release:
    """Publish a table on a cluster without giving anybody away; nothing is collected but counts.

    Parameters
    ----------
    data
        A dataframe of Spark's, or a path that Spark reads.
    order_by
        Of a dataframe: the columns to sort it by first. Its records have no order of their own, so they are
        sorted by these and then by all other columns; then the release does not depend on partitions.
    records_per_region
        How many records a worker solves at a time. The classes of mondrian do not depend on it.
    options
        Those of `kohort.anonymize`: quasi_identifiers, sensitive, privacy, k, and so on. Executors get the
        key of pseudonyms, too.

    Returns a release whose `table` is a dataframe of Spark's, and whose `write` writes it to a path.
    `kohort.anonymize` does the same for a dataframe of Spark's, or with `engine="spark"` for a path.
    """
    return api.anonymize(SparkData(data, order_by, records_per_region), engine="spark", **options)
