"""People and sensitive values under the steward's key: the ledger compares them, and holds none of them."""

from __future__ import annotations

import hmac
from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.column import Column, whole_number
from kohort.data.dataset import Dataset
from kohort.data.ledger import HASH_BYTES
from kohort.data.value_codes import long_decimals
from kohort.errors import InputError

__all__ = ["hashed_people", "hashed_values", "positions"]


def hashed_people(dataset: Dataset, name: str, key: bytes) -> np.ndarray:
    """HMAC-SHA-256 of each record's person, 128 bits; the same person has the same hash in every table.

    Whole numbers are written alike: 1 and 1.0 are one person. Two people of one table must not become one.
    """
    texts = _texts(dataset.arrow(name))
    people = {text: whole_number(text) for text in texts}
    if len(set(people.values())) < len(people):
        raise InputError(
            f"Column {name!r} says who somebody is, and writes some whole numbers in two ways, as 1 and 1.0. "
            "A ledger takes them for one person. Write them in one way."
        )
    return _hashed(map(people.__getitem__, texts), key, f"people of {name}")


def hashed_values(column: Column, key: bytes) -> np.ndarray:
    """HMAC-SHA-256 of each value of a sensitive column, by its code; a missing value has one of its own."""
    spelled = whole_number if column.kind in ("integer", "float") else str
    texts = ("missing" if text is None else f"value {spelled(text)}" for text in column.texts)
    return _hashed(texts, key, f"values of {column.name}")


def positions(hashes: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The place of each hash among others, -1 where it is not one of them."""
    found = pc.index_in(_binary(hashes), value_set=_binary(among))
    return pc.fill_null(found, -1).to_numpy(zero_copy_only=False).astype(np.int64)


def _texts(values: pa.ChunkedArray) -> list[str]:
    """The person of each record as text; whole numbers are written alike whatever their type."""
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_floating(values.type) and pc.all(pc.equal(pc.floor(values), values)).as_py():
        values = values.cast(pa.int64())
    return long_decimals(values).cast(pa.string()).to_pylist()


def _hashed(texts: Iterable[str], key: bytes, purpose: str) -> np.ndarray:
    own = hmac.digest(key, f"kohort ledger {purpose}".encode(), "sha256")
    parts = [hmac.digest(own, text.encode(), "sha256")[:HASH_BYTES] for text in texts]
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(-1, HASH_BYTES)


def _binary(hashes: np.ndarray) -> pa.Array:
    buffer = pa.py_buffer(np.ascontiguousarray(hashes).tobytes())
    return pa.Array.from_buffers(pa.binary(HASH_BYTES), len(hashes), [None, buffer])
