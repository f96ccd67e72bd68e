"""One point of the frontier of risk and loss; the studio asks for one after another."""

from __future__ import annotations

from typing import Any

import kohort as ko
from kohort.errors import InfeasibleError, KohortError, UnsupportedError
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Source, Workplace

_SECONDS = 30.0  # for each release
_QUERIES = 200


def frontier_point(
    workplace: Workplace,
    telling: Telling,
    *,
    source: Source,
    spec: dict[str, Any],
    k: int,
    events: Source | None = None,
) -> dict[str, Any]:
    """Risk and loss of a quick release with this k, or why there is none."""
    if events is not None:
        return _point_of_two_tables(workplace, source, events, spec, k)
    found = ko.frontier(
        workplace.table(source),
        spec=spec,
        k=[k],
        algorithm="mondrian" if source.get("baskets") is None else "apriori-items",
        queries=_QUERIES,
        time_limit=_SECONDS,
        progress=False,
    )
    [row] = [*found.points, *found.failed]
    kept = ("k", "status", "reason", "loss", "highest_risk", "average_risk", "query_error", "seconds")
    return {name: row.get(name) for name in kept}


def _point_of_two_tables(
    workplace: Workplace, people: Source, events: Source, spec: dict[str, Any], k: int
) -> dict[str, Any]:
    """A point for people and events, which `ko.frontier` does not take: made and judged by the same calls."""
    quick = {
        **spec,
        "privacy": {**spec.get("privacy", {}), "k": k},
        "algorithm": "mondrian",
        "time_limit": _SECONDS,
    }
    try:
        release = ko.anonymize(workplace.table(people), events=workplace.table(events), spec=quick)
    except KohortError as error:
        status = {UnsupportedError: "refused", InfeasibleError: "infeasible"}.get(type(error), "failed")
        return {"k": k, "status": status, "reason": str(error)}
    risk = release.risk()
    of_classes = risk["prosecutor"] or risk["linkage"]
    return {
        "k": k,
        "status": "done",
        "reason": None,
        "loss": release.loss["loss"],
        "highest_risk": of_classes["after"]["maximum"],
        "average_risk": of_classes["after"]["average"],
        "seconds": sum(release.seconds.values()),
    }
