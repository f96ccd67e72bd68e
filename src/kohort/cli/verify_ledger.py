"""kohort verify --ledger: a release checked together with all others of its ledger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kohort.cli.verify import Evidence, Tables
    from kohort.io.spec import Spec
    from kohort.io.tables import TableFile
    from kohort.verification import Together
    from kohort.verification.recorded import GivenRelease

__all__ = ["found_together"]


def found_together(
    evidence: Evidence, tables: Tables, asked: Spec, read: Callable[[Path, Evidence], Tables]
) -> Together:
    """What all releases of the ledger leave to somebody who has them.

    read  reads a release and what goes with it, as the spec says that they are written
    """
    from kohort.cli.secret import secret_key
    from kohort.io.verify_ledger import verify_with_ledger

    assert evidence.ledger is not None and evidence.spec is not None
    earlier = []
    for files in evidence.earlier or ():
        release, original, order = _named(files)
        found = read(release, replace(evidence, original=original, events=None))
        earlier.append(_given(found.release, found.original, order))
    current = _given(tables.release, tables.original, evidence.order_file)
    models = asked.request(beside=evidence.spec.parent).table_models
    return verify_with_ledger(evidence.ledger, secret_key(evidence.key_file), earlier, current, models)


def _given(release: TableFile, original: TableFile | None, order: Path | None) -> GivenRelease:
    from kohort.data.dataset import Dataset
    from kohort.io.order_file import read_order
    from kohort.verification.recorded import GivenRelease

    return GivenRelease(
        Dataset(release.table),
        release.sha256,
        None if original is None else Dataset(original.table),
        None if order is None else read_order(order),
    )


def _named(files: str) -> tuple[Path, Path | None, Path | None]:
    """The files of an earlier release: the release, its original, its order file."""
    from kohort.errors import InputError

    names = [name.strip() for name in files.split(",")]
    if not 1 <= len(names) <= 3 or not all(names):
        raise InputError(
            "--earlier names a release, and where they are at hand its original and its order file, "
            f"separated by commas. Got {len(names)} names."
        )
    release, original, order = (*map(Path, names), None, None)[:3]
    assert release is not None
    return release, original, order
