"""Make a release and write its files, by the same calls that a Python script would make."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import kohort as ko
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.workplace import Source, Workplace


def make(
    workplace: Workplace, telling: Telling, *, source: Source, spec: str, events: Source | None = None
) -> dict[str, Any]:
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
        progress=telling,
        stop=telling.stop,
    )
    workplace.keep(release)
    facts = release.facts()
    figures = release.summary().to_dict()
    return {
        "facts": facts,
        "summary": figures,
        "stopped": facts["cut_by_time"] and telling.stop(),
        "wall_seconds": time.monotonic() - start,
    }


def write(
    workplace: Workplace,
    telling: Telling,
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
    telling.tell({"what": "writing the files", "share": 0.0, "seconds": 0.0})
    facts = made.write(
        into / release,
        events=None if events is None else into / events,
        certificate=into / "certificate.json",
        sign=sign,
        order_file=into / "order.json",
    )
    known = {"sha256": facts["sha256"], "judged": workplace.judged(telling)}
    making = {**made.origin.making, "release": release, "spec": spec, "command": command}
    made.report(into / "report.html", making=making, **known)
    made.report(into / "report-public.html", version="public", making=making, **known)
    return {"facts": facts, "files": sorted(path.name for path in into.iterdir())}
