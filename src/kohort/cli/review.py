"""What `kohort verify --review` adds: the findings of a review on a date, and how they are shown."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.errors import InputError

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.data.dataset import Dataset
    from kohort.pipeline import Request
    from kohort.verification import Verdict


def review_facts(
    published: Dataset,
    request: Request,
    verdict: Verdict,
    *,
    on: str | None,
    population: Path | None,
    original: Dataset | None,
) -> dict[str, Any]:
    """The date of a review (by default today), its findings, and whether the release still stands."""
    from kohort.data.dataset import Dataset
    from kohort.io.tables import read_table
    from kohort.risk.review import review_release

    day = _date_of(on)
    people = None if population is None else Dataset(read_table(population).table)
    found = review_release(published, request, verdict, on=day, population=people, original=original)
    return {
        "on": day.isoformat(),
        "stands": all(finding.holds is not False for finding in found),
        "findings": [finding.to_dict() for finding in found],
    }


def _date_of(text: str | None) -> date:
    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--on must be a date such as 2027-06-30. Got {text!r}.") from None


def show_review(output: Output, review: dict[str, Any]) -> None:
    """Print the findings, one in a line."""

    stands = "still stands" if review["stands"] else "does not stand as it is"
    output.say(f"Review on {review['on']}: the release {stands}.")
    marks = {True: "holds", False: "FAILS", None: "noted"}
    for finding in review["findings"]:
        output.say(f"- {marks[finding['holds']]}: {finding['detail']}")
