"""One point of the frontier of risk and loss; the studio asks for one after another."""

from __future__ import annotations

from typing import Any

import kohort as ko
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Source, Workplace

__all__ = ["frontier_point"]

_SECONDS = 30.0  # for each release
_QUERIES = 200


def frontier_point(
    workplace: Workplace, telling: Telling, *, source: Source, spec: dict[str, Any], k: int
) -> dict[str, Any]:
    """Risk and loss of a quick release with this k, or why there is none."""
    found = ko.frontier(
        workplace.table(source),
        spec=spec,
        k=[k],
        algorithm="mondrian",
        queries=_QUERIES,
        time_limit=_SECONDS,
        progress=False,
    )
    [row] = [*found.points, *found.failed]
    kept = ("k", "status", "reason", "loss", "highest_risk", "average_risk", "query_error", "seconds")
    return {name: row.get(name) for name in kept}
