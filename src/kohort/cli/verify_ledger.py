"""The part of kohort verify that looks at all releases of a ledger together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.cli.bundles import ReleaseReading
    from kohort.cli.verified_tables import Tables
    from kohort.cli.verify import Evidence
    from kohort.io.spec import Spec
    from kohort.io.tables import TableFile
    from kohort.pipeline import Request
    from kohort.verification import Together


def verify_together(
    evidence: Evidence, ledger: Path, tables: Tables, asked: Spec, request: Request, reading: ReleaseReading
) -> Together:
    """What all releases of the ledger leave to somebody who has them."""
    from kohort.cli.sources import secret_key
    from kohort.cli.verified_tables import read_tables
    from kohort.data.dataset import Dataset
    from kohort.io.order_file import read_order
    from kohort.io.verify_ledger import verify_with_ledger
    from kohort.verification.recorded import GivenRelease

    def given(release: TableFile, original: TableFile | None, order: Path | None) -> GivenRelease:
        return GivenRelease(
            Dataset(release.table),
            release.sha256,
            None if original is None else Dataset(original.table),
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
