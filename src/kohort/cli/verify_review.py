"""The part of kohort verify that reviews a release at a later date."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.cli.console import Output
    from kohort.cli.verified_tables import Tables
    from kohort.cli.verify import Evidence
    from kohort.io.spec import Spec
    from kohort.verification import Check, Verification

__all__ = ["review", "show_review"]


def review(
    tables: Tables, asked: Spec | None, evidence: Evidence, found: Verification
) -> tuple[date, list[Check]]:
    """The date of the review, and what it finds."""
    from kohort.data.dataset import Dataset
    from kohort.io.tables import read_table
    from kohort.risk.review import review_release

    assert asked is not None and evidence.spec is not None
    on, people = _date_of(evidence.on), evidence.population
    findings = review_release(
        Dataset(tables.release.table),
        asked.request(beside=evidence.spec.parent),
        found.verdict,
        on=on,
        population=None if people is None else Dataset(read_table(people).table),
        original=tables.datasets["original"],
    )
    return on, findings


def _date_of(text: str | None) -> date:
    from kohort.errors import InputError

    try:
        return date.today() if text is None else date.fromisoformat(text)
    except ValueError:
        raise InputError(f"--on must be a date such as 2027-06-30. Got {text!r}.") from None


def show_review(output: Output, facts: dict[str, Any]) -> None:
    from rich.text import Text

    review = facts["review"]
    stands = "still stands" if review["stands"] else "does not stand as it is"
    output.show(Text(f"Review on {review['on']}: the release {stands}."))
    marks = {True: "holds", False: "FAILS", None: "noted"}
    for finding in review["findings"]:
        output.show(Text(f"- {marks[finding['holds']]}: {finding['detail']}"))
