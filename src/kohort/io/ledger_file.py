"""Ledger files: a zip of Arrow tables, chained and sealed by the steward's key. Private to the steward.

`head.json` names the column of persons, the number of releases and a link for each of them. The link of a
release is HMAC-SHA-256, under a key derived from the steward's, of the link before it and of everything that
the file holds about the release. So nobody without the key can change, drop or reorder a release unseen. What
the chain cannot show is a whole older copy of the file: keep one ledger, and back it up with the releases.

Check releases against their ledger: what it says of each, and what all of them leave together.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kohort.data.ledger import HASH_BYTES, Ledger, LedgerEntry
from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.files.drafts import remove_abandoned
from kohort.problem.promises import Model
from kohort.verification import Check, Together, verify_together
from kohort.verification.promises import Promise, Stated, stated
from kohort.verification.releases import GivenRelease, check_recorded, promises_of, texts_of_values
from kohort.version import __version__

FORMAT = 2
_WITHOUT_COUNTERFEITS = 1  # which earlier versions of Kohort read, too
MIN_KEY = 16
_PARTS = ("facts.json", "people.arrow", "values.arrow", "records.arrow", "classes.arrow")
_NO_LINK = bytes(32)
_THEN = (1980, 1, 1, 0, 0, 0)  # the same bytes whenever it is written


def ledger_key(key: bytes | None) -> bytes:
    """The user's secret, refused unless it can protect people from being found by trying."""
    if not isinstance(key, bytes) or len(key) < MIN_KEY:
        raise InputError(
            f"A ledger needs a secret key of at least {MIN_KEY} bytes, the same for all releases: give a key "
            "file (--key-file, or key= in Python) or set the environment variable KOHORT_KEY."
        )
    return key


def open_ledger(path: str | Path, key: bytes | None, person: str | None) -> Ledger:
    """The ledger of a file, or a new one where there is no such file yet."""
    if person is None:
        raise InputError(
            "A ledger ties releases of the same people together: give the column that says who somebody is "
            "the role person."
        )
    secret, path = ledger_key(key), Path(path)
    remove_abandoned(path.parent)
    if not path.exists():
        return Ledger(person)
    found = read_ledger(path, secret)
    if found.person != person:
        raise InputError(
            f"The ledger {str(path)!r} knows people by the column {found.person!r}, and here {person!r} has "
            "the role person. Use the same column, or another ledger."
        )
    return found


def write_ledger(ledger: Ledger, path: str | Path, key: bytes | None) -> None:
    """Write a ledger straight to `path`, which should be a draft that only its owner may read."""
    secret = _derived(ledger_key(key), "chain")
    link, links = _NO_LINK, []
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        for number, entry in enumerate(ledger.entries, 1):
            parts = _parts_of(entry)
            link = _link(secret, link, number, parts)
            links.append(link.hex())
            for name, part in parts.items():
                file.writestr(zipfile.ZipInfo(f"{number}/{name}", _THEN), part)
        # earlier versions would take a counterfeit for somebody's record, so they must not read it
        counterfeits = any(entry.counterfeits for entry in ledger.entries)
        head = {
            "kohort": "ledger",
            "format": FORMAT if counterfeits else _WITHOUT_COUNTERFEITS,
            "version": __version__,
            "person": ledger.person,
            "releases": len(links),
            "links": links,
            "key": _derived(ledger_key(key), "check").hex(),
        }
        head["seal"] = _seal(secret, head)
        file.writestr(zipfile.ZipInfo("head.json", _THEN), json.dumps(head, indent=1))
    write_checked(path, content.getvalue())


def read_ledger(path: str | Path, key: bytes | None) -> Ledger:
    """The ledger of a file; InputError unless the key fits and every release is as it was written."""
    path, given = Path(path), ledger_key(key)
    remove_abandoned(path.parent)  # a run that was killed while it wrote the ledger is completed first
    try:
        with zipfile.ZipFile(path) as file:
            head = _checked_head(path, file, given)
            entries = _checked_entries(path, file, head, _derived(given, "chain"))
    except OSError as error:
        raise InputError(f"The ledger {str(path)!r} cannot be read: {error.strerror}.") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError):
        raise InputError(
            f"{str(path)!r} is not a ledger, or it was damaged. Take the copy that was saved with the last "
            "release."
        ) from None
    return Ledger(head["person"], tuple(entries), bytes.fromhex(head["seal"]))


def _checked_head(path: Path, file: zipfile.ZipFile, key: bytes) -> dict[str, Any]:
    try:
        head = json.loads(file.read("head.json"))
        if head["kohort"] != "ledger":
            raise ValueError
        known = head["format"] in (_WITHOUT_COUNTERFEITS, FORMAT)
    except (KeyError, ValueError, TypeError):
        raise InputError(f"{str(path)!r} is not a ledger. 'kohort anonymize --ledger' writes one.") from None
    if not known:
        raise InputError(
            f"The ledger {str(path)!r} has the format {head['format']}, and this version of Kohort reads "
            f"{FORMAT}. Use a newer version."
        )
    if not hmac.compare_digest(str(head.get("key")), _derived(key, "check").hex()):
        raise InputError(
            f"The ledger {str(path)!r} was made with another key. Give the key of the earlier releases."
        )
    if not hmac.compare_digest(str(head.get("seal")), _seal(_derived(key, "chain"), head)):
        raise _edited(path, "its head does not fit its seal")
    return head


def _checked_entries(
    path: Path, file: zipfile.ZipFile, head: Mapping[str, Any], secret: bytes
) -> list[LedgerEntry]:
    """The releases in their order; each one must fit the link that the head has for it."""
    link, entries = _NO_LINK, []
    for number, expected in enumerate(head["links"], 1):
        try:
            parts = {name: file.read(f"{number}/{name}") for name in _PARTS}
        except KeyError:
            raise _edited(path, f"release {number} of {head['releases']} is missing") from None
        link = _link(secret, link, number, parts)
        if link.hex() != expected:
            raise _edited(path, _what_is_wrong(number, parts))
        entries.append(_entry(parts))
    return entries


def _what_is_wrong(number: int, parts: Mapping[str, bytes]) -> str:
    try:
        found = json.loads(parts["facts.json"])["number"]
    except (ValueError, KeyError, TypeError):
        found = number
    if found != number:
        return f"release {found} stands where release {number} belongs: they are out of order"
    return f"what it says of release {number} does not fit the chain"


def _edited(path: Path, what: str) -> InputError:
    return InputError(
        f"The ledger {str(path)!r} was changed since it was written: {what}. Nothing can be promised by it; "
        "take the copy that was saved with the last release."
    )


def _derived(key: bytes, purpose: str) -> bytes:
    return hmac.digest(key, f"kohort ledger {purpose}".encode(), "sha256")


def _link(secret: bytes, before: bytes, number: int, parts: Mapping[str, bytes]) -> bytes:
    hashes = [f"{name} {hashlib.sha256(parts[name]).hexdigest()}" for name in _PARTS]
    text = "\n".join([before.hex(), str(number), *hashes])
    return hmac.digest(secret, text.encode(), "sha256")


def _seal(secret: bytes, head: Mapping[str, Any]) -> str:
    sealed = {name: value for name, value in head.items() if name != "seal"}
    return hmac.digest(secret, json.dumps(sealed, sort_keys=True).encode(), "sha256").hex()


def _parts_of(entry: LedgerEntry) -> dict[str, bytes]:
    columns = {"person": entry.person, "place": entry.place, "class": entry.class_of}
    columns |= {f"value {number}": column for number, column in enumerate(entry.value.T)}
    records = pa.table({name: pa.array(column, pa.int32()) for name, column in columns.items()})
    labels = pa.table({name: pa.array(labels, pa.string()) for name, labels in entry.labels.items()})
    return {
        "facts.json": json.dumps(entry.facts, ensure_ascii=False, sort_keys=True).encode(),
        "people.arrow": _written(_hashes(entry.people)),
        "values.arrow": _written(_hashes(entry.values)),
        "records.arrow": _written(records),
        "classes.arrow": _written(labels),
    }


def _hashes(hashes: np.ndarray) -> pa.Table:
    kind, content = pa.binary(HASH_BYTES), pa.py_buffer(np.ascontiguousarray(hashes).tobytes())
    return pa.table({"hash": pa.Array.from_buffers(kind, len(hashes), [None, content])})


def _written(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def _entry(parts: Mapping[str, bytes]) -> LedgerEntry:
    tables = {name: pa.ipc.open_file(pa.py_buffer(parts[name])).read_all() for name in _PARTS[1:]}
    records = tables["records.arrow"]
    values = [records[name].to_numpy() for name in records.column_names[3:]]
    classes = tables["classes.arrow"]
    return LedgerEntry(
        facts=json.loads(parts["facts.json"]),
        people=_unhashed(tables["people.arrow"]),
        values=_unhashed(tables["values.arrow"]),
        person=records["person"].to_numpy(),
        place=records["place"].to_numpy(),
        class_of=records["class"].to_numpy(),
        value=np.column_stack(values) if values else np.empty((len(records), 0), dtype=np.int32),
        labels={name: classes[name].to_pylist() for name in classes.column_names},
    )


def _unhashed(table: pa.Table) -> np.ndarray:
    return np.frombuffer(b"".join(table["hash"].to_pylist()), dtype=np.uint8).reshape(-1, HASH_BYTES)


def verify_with_ledger(
    path: str | Path,
    key: bytes | None,
    earlier: Sequence[GivenRelease],
    current: GivenRelease,
    models: Sequence[Model],
) -> Together:
    """What all releases of a ledger leave, each compared with its files where they are given."""
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
    what = "what" if ledger == spec else "something else than"
    detail = f"The spec promises {what} release {number} of the ledger did."
    return Check(f"ledger: release {number} promise", ledger == spec, detail)


def _number_of(path: str | Path, hashes: Sequence[str | None], current: GivenRelease) -> int:
    if current.sha256 is None and hashes:
        return len(hashes)
    if current.sha256 is None or current.sha256 not in hashes:
        raise InputError(
            f"The ledger {str(path)!r} does not name this file among its {len(hashes)} releases. Was it "
            "changed, or is it a release of another ledger?"
        )
    return hashes.index(current.sha256) + 1
