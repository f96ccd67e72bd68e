"""Make a release and write its files, by the same calls that a Python script would make; and quick ones."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import kohort as ko
from kohort.errors import InfeasibleError, KohortError, UnsupportedError
from kohort.studio.worker.workplace import Source, Workplace


def make(workplace: Workplace, *, source: Source, spec: str, events: Source | None = None) -> dict[str, Any]:
    """Make the release of a table, or of people and events, by the spec in a file.

    The answer has its facts, and whether it was stopped by hand.
    """
    workplace.keep(None)
    start = time.monotonic()
    key = os.environ.get("KOHORT_KEY")
    release = ko.anonymize(
        source["path"],
        events=None if events is None else events["path"],
        spec=spec,
        header=source.get("header"),
        key=None if key is None else key.encode(),
        progress=workplace.tell,
        stop=workplace.tell.stop,
    )
    workplace.keep(release)
    facts = release.facts()
    return {
        "facts": facts,
        "summary": release.summary().to_dict(),
        "stopped": facts["cut_by_time"] and workplace.tell.stop(),
        "wall_seconds": time.monotonic() - start,
    }


def write(
    workplace: Workplace,
    *,
    folder: str,
    release: str,
    events: str | None,
    sign: str | None,
    spec: str,
    command: str,
) -> dict[str, Any]:
    """Write every file of the release into a folder that is new, so that none is there if one fails."""
    made, into = workplace.release, Path(folder)
    workplace.tell.at_once("writing the files")
    facts = made.write(
        into / release,
        events=None if events is None else into / events,
        certificate=into / "certificate.json",
        sign=sign,
        order_file=into / "order.json",
    )
    known = {"sha256": facts["sha256"], "judged": workplace.judged()}
    making = {**made.origin.making, "release": release, "spec": spec, "command": command}
    made.report(into / "report.html", making=making, **known)
    made.report(into / "report-public.html", version="public", making=making, **known)
    return {"facts": facts, "files": sorted(path.name for path in into.iterdir())}


_SECONDS = 30.0  # for each release
_QUERIES = 200


def frontier_point(
    workplace: Workplace, *, source: Source, spec: dict[str, Any], k: int, events: Source | None = None
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
