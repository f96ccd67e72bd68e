"""Identifiers that are to stay: replaced by keyed pseudonyms, or masked."""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError

__all__ = ["MASK", "masked", "pseudonyms"]

MASK = "*****"  # of one length, so that it does not tell the length of what it hides
_MIN_KEY = 16


def pseudonyms(column: Column, key: bytes | None) -> pa.DictionaryArray:
    """HMAC-SHA-256 of each value under the key, 128 bits in hexadecimal; a missing value stays missing.

    The same value under the same key gives the same pseudonym, in any table, so that tables can be
    joined by those who publish them; without the key nobody can tell the value by trying.
    """
    if not isinstance(key, bytes) or len(key) < _MIN_KEY:
        raise InputError(
            f"Pseudonyms for {column.name!r} need a secret key of at least {_MIN_KEY} bytes: give a key file "
            "(--key-file, or key= in Python) or set the environment variable KOHORT_KEY."
        )
    texts = [None if text is None else _pseudonym(text, key) for text in column.texts]
    order = np.argsort(np.array([text or "" for text in texts]))  # the order of the originals is no hint
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return _dictionary(rank[column.codes], [texts[i] for i in order])


def masked(n_records: int) -> pa.DictionaryArray:
    """The same mask for everybody."""
    return _dictionary(np.zeros(n_records, dtype=np.int32), [MASK])


def _pseudonym(text: str, key: bytes) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()[:32]


def _dictionary(codes: np.ndarray, texts: list[str | None]) -> pa.DictionaryArray:
    missing = np.array([text is None for text in texts], dtype=bool)[codes]
    filled = pa.array([text or "" for text in texts], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), filled)
