"""Identifiers that are kept in a replaced form: keyed pseudonyms, or a mask."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.treatments.treatment import Part, Scope, Secret, Treatment

if TYPE_CHECKING:
    from kohort.statement import Statement

MASK = "*****"  # of one length, so that it does not reveal the length of what it hides
_MIN_KEY = 16


@dataclass(frozen=True)
class Pseudonym(Treatment):
    """Keyed pseudonyms of the values.

    join   columns with the same have the same pseudonyms; None: those of the column's own name
    fresh  whether they link the records of this release and nothing else, and so need no key of the user's
    """

    name: ClassVar[str] = "pseudonym"
    scope: ClassVar[Scope] = "record"
    join: str | None = None
    fresh: bool = False

    @classmethod
    def asked(cls, request: Statement, column: str) -> Treatment:
        return cls(request.joins.get(column), column == request.fresh_key)

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        return pseudonyms(
            part.table.column(column), secret.fresh if self.fresh else secret.key, join=self.join
        )


class Mask(Treatment):
    """The same for every record."""

    name: ClassVar[str] = "mask"
    scope: ClassVar[Scope] = "record"
    reads: ClassVar[bool] = False

    def publish(self, column: str, part: Part, secret: Secret) -> pa.Array:
        return _dictionary(np.zeros(part.table.n_records, dtype=np.int32), [MASK])


def pseudonyms(column: Column, key: bytes | None, *, join: str | None = None) -> pa.DictionaryArray:
    """Keyed pseudonyms of the values, 128 bits in hexadecimal; a missing value stays missing.

    Values are pseudonymized by HMAC-SHA-256 under a key of their own for each `join`, which is the name of
    the column unless another is given. So the same value has the same pseudonym wherever key and `join` are
    the same, in any table, and other pseudonyms elsewhere: nobody sees that the value of one column occurs in
    another. Without the key nobody can find a value by trying.
    """
    if not isinstance(key, bytes) or len(key) < _MIN_KEY:
        raise InputError(
            f"Pseudonyms for {column.name!r} need a secret key of at least {_MIN_KEY} bytes: give a key file "
            "(--key-file, or key= in Python) or set the environment variable KOHORT_KEY."
        )
    own = _digest(f"kohort pseudonyms of {column.name if join is None else join}", key)
    texts = [None if text is None else _digest(text, own).hex()[:32] for text in column.texts]
    order = np.argsort(np.array([text or "" for text in texts]))  # the order of the originals is no hint
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return _dictionary(rank[column.codes], [texts[i] for i in order])


def _digest(text: str, key: bytes) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _dictionary(codes: np.ndarray, texts: list[str | None]) -> pa.DictionaryArray:
    missing = np.array([text is None for text in texts], dtype=bool)[codes]
    filled = pa.array([text or "" for text in texts], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=missing), filled)
