"""What kohort verify compares: tables, the releases of a ledger, and the findings of a review."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.errors import InputError

if TYPE_CHECKING:
    from kohort.cli.bundles import ReleaseReading
    from kohort.cli.console import Output
    from kohort.cli.verify import Evidence
    from kohort.io.databases import DatabaseTable
    from kohort.statement import Statement
    from kohort.tables.source import Source
    from kohort.tables.table import Table
    from kohort.verification import Together, Verdict


@dataclass(frozen=True)
class Tables:
    """The tables that are compared, as they were read; None where one was not given."""

    release: Source
    original: Source | None
    events: Source | None
    original_events: Source | None

    @property
    def datasets(self) -> dict[str, Any]:
        """The tables that go with the release, as keywords of `verify_release` and `verify_certified`."""
        return {
            name: None if (file := getattr(self, name)) is None else file.dataset
            for name in ("original", "events", "original_events")
        }

    @property
    def sha256_of_original(self) -> str | None:
        """One SHA-256 for the original, also where it is two files; None where it is not at hand."""
        from kohort.job.public import sha256_of_files

        if self.original is None or (self.events is not None and self.original_events is None):
            return None
        second = self.original_events
        return sha256_of_files(self.original.sha256, None if second is None else second.sha256)


def read_tables(
    release: Path | DatabaseTable,
    original: Path | DatabaseTable | None,
    events: Path | None,
    original_events: Path | None,
    asked: Statement | None,
    reading: ReleaseReading,
) -> Tables:
    """The release and its original, read as the spec says that they are written."""
    from kohort.io.data_files import read_data, read_release

    shape = None if asked is None else asked.shape
    formulas = "keep" if asked is None else asked.formulas

    def published(path: Path | DatabaseTable | None) -> Source | None:
        return None if path is None else read_release(path, shape, formulas=formulas, **reading.options())

    def before(path: Path | DatabaseTable | None) -> Source | None:
        return None if path is None else read_data(path, shape, **reading.options_of_original())

    source = published(release)
    assert source is not None
    return Tables(source, before(original), published(events), before(original_events))


def verify_together(
    evidence: Evidence,
    ledger: Path,
    tables: Tables,
    asked: Statement,
    request: Statement,
    reading: ReleaseReading,
) -> Together:
    """What all releases of the ledger leave to somebody who has them."""
    from kohort.cli.sources import secret_key
    from kohort.io.ledger_file import verify_with_ledger
    from kohort.io.private_files import read_order
    from kohort.verification.releases import GivenRelease

    def given(release: Source, original: Source | None, order: Path | None) -> GivenRelease:
        return GivenRelease(
            release.dataset,
            release.sha256,
            None if original is None else original.dataset,
            None if order is None else read_order(order),
        )

    earlier = []
    for files in evidence.earlier or ():
        release, original, order = _named(files)
        read = read_tables(release, original, None, None, asked, reading)
        earlier.append(given(read.release, read.original, order))
    current = given(tables.release, tables.original, evidence.order_file)
    key = secret_key(evidence.key_file)
    return verify_with_ledger(ledger, key, earlier, current, request.table_models)


def _named(files: str) -> tuple[Path, Path | None, Path | None]:
    """The files of an earlier release: the release, its original, its order file."""
    from kohort.errors import InputError

    names = [name.strip() for name in files.split(",")]
    if not 1 <= len(names) <= 3 or not all(names):
        raise InputError(
            "--earlier names a release, and where they are at hand its original and its order file, "
            f"separated by commas. Got {len(names)} names."
        )
    paths = [Path(name) for name in names]
    return paths[0], *(paths[place] if len(paths) > place else None for place in (1, 2))  # type: ignore[return-value]


def review_facts(
    published: Table,
    request: Statement,
    verdict: Verdict,
    *,
    on: str | None,
    population: Path | None,
    original: Table | None,
) -> dict[str, Any]:
    """The date of a review (by default today), its findings, and whether the release still stands."""
    from kohort.io.tables import read_table
    from kohort.risk.review import review_release

    day = _date_of(on)
    people = None if population is None else read_table(population).dataset
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
