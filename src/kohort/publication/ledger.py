"""A release and the ledger: opened before the work, written together with the files of the release."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from kohort.data.ledger import Ledger
from kohort.errors import InputError
from kohort.files.lock import only_one
from kohort.io.ledger_file import open_ledger, read_ledger, write_ledger
from kohort.pipeline import VerifiedRelease


def ledger_for(path: str | Path | None, key: bytes | None, person: str | None) -> Ledger | None:
    """The ledger that a release is to be a part of: read, or new where there is no such file; None: none."""
    return None if path is None else open_ledger(path, key, person)


def next_in(ledger: Path | None) -> AbstractContextManager[None]:
    """Hold the ledger while a release is written, so that no other run adds one after it was compared.

    A run that finds it held is refused at once: when the other one has ended, its release would not fit.
    """
    if ledger is None:
        return nullcontext()
    return only_one(
        ledger,
        f"Another run is writing to the ledger {str(ledger)!r}, so what was checked here no longer fits. "
        "Make the release again when it has ended.",
    )


def write_entry(release: VerifiedRelease, path: Path, draft: Path, hashes: Mapping[str, str | None]) -> None:
    """Write the ledger with this release as its last entry; refused if it has another one by now."""
    tied, key = release.tied, release.request.key
    if tied is None:
        raise InputError("The release was made without a ledger: name the ledger when it is made.")
    if not tied.found.holds:
        raise InputError("The release was made for comparison only: it gives people away.")
    now = read_ledger(path, key).seal if path.exists() else b""
    if now != tied.ledger.seal:
        raise InputError(
            f"The ledger {str(path)!r} has another release by now, so what was checked no longer fits. Make "
            "the release again."
        )
    certified = {
        "loss": release.loss.get("loss"),
        "candidates": tied.found.candidates,
        "people": tied.people,
        "suppressed": release.verdict.withheld,
    }
    write_ledger(tied.with_files(dict(hashes), certified), draft, key)
