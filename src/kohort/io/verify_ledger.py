"""Check releases against their ledger: what it says of each, and what all of them leave together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kohort.errors import InputError
from kohort.io.ledger_file import ledger_key, read_ledger
from kohort.problem.models import Model
from kohort.verification import Check, Together, verify_together
from kohort.verification.promises import Promise, Stated, stated
from kohort.verification.recorded import GivenRelease, check_recorded, texts_of_values
from kohort.verification.together import promises_of


def verify_with_ledger(
    path: str | Path,
    key: bytes | None,
    earlier: Sequence[GivenRelease],
    current: GivenRelease,
    models: Sequence[Model],
) -> Together:
    """What all releases of a ledger leave, each compared with its files where they are given.

    earlier  the first releases of the ledger, in their order, as many as are at hand
    current  the release that is verified, which must be one of the ledger
    """
    secret = ledger_key(key)
    ledger = read_ledger(path, secret)
    hashes = [entry.facts["sha256"].get("output") for entry in ledger.entries]
    number = _number_of(path, hashes, current)
    if len(earlier) >= number:
        raise InputError(
            f"The release is number {number} of the ledger, and {len(earlier)} earlier ones are given. Give "
            "those before it, in their order."
        )
    for place, release in enumerate(earlier, 1):
        if release.sha256 != hashes[place - 1] and release.sha256 in hashes:
            raise InputError(
                f"The earlier releases are out of order: number {place} of those given is release "
                f"{hashes.index(release.sha256) + 1} of the ledger. Give them from the first on."
            )
    given = dict(enumerate(earlier, 1)) | {number: current}
    checks = [
        check
        for place in range(1, len(ledger.entries) + 1)
        for check in check_recorded(ledger, place, given.get(place), secret)
    ]
    checks.append(_check_promise(number, promises_of(ledger.entries[number - 1]), models))
    found = verify_together(ledger, texts_of_values(ledger, secret))
    return replace(found, checks=(*checks, *found.checks))


def _check_promise(number: int, recorded: Sequence[Promise], asked: Sequence[Stated]) -> Check:
    ledger, spec = (
        sorted(f"{promise.name} {sorted(promise.parameters.items())}" for promise in promises)
        for promises in (recorded, stated(asked))
    )
    same = ledger == spec
    detail = (
        f"The spec promises {'what' if same else 'something else than'} release {number} of the ledger did."
    )
    return Check(f"ledger: release {number} promise", same, detail)


def _number_of(path: str | Path, hashes: Sequence[str | None], current: GivenRelease) -> int:
    """Which release of the ledger this is, by the hash of its file."""
    if current.sha256 is not None and current.sha256 in hashes:
        return hashes.index(current.sha256) + 1
    if current.sha256 is None and hashes:
        return len(hashes)
    raise InputError(
        f"The ledger {str(path)!r} does not name this file among its {len(hashes)} releases. Was it changed, "
        "or is it a release of another ledger?"
    )
