"""Every exception that Kohort raises on purpose.

    KohortError
    ├── InputError(ValueError)            the data, the spec or an option is wrong
    ├── UnsupportedError                  asked of an algorithm or format that cannot do it
    ├── InfeasibleError                   no release can keep the promise; says what could
    ├── MissingPackageError(ImportError)  an optional package is not installed
    └── InternalError                     our bug: a release failed its own verification

A message says what, where and what to do. It never shows a cell of a quasi-identifier or a
sensitive column: it may name columns, counts and the labels of a hierarchy.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

__all__ = [
    "InfeasibleError",
    "InputError",
    "InternalError",
    "KohortError",
    "MissingPackageError",
    "UnsupportedError",
    "counted",
    "did_you_mean",
    "in_bytes",
    "percent",
]


class KohortError(Exception):
    """Anything that Kohort refuses or fails to do."""


class InputError(KohortError, ValueError):
    """The data, the spec or an option is wrong."""


class UnsupportedError(KohortError):
    """The chosen algorithm, cost or format cannot do what was asked."""


class InfeasibleError(KohortError):
    """No release of this table can keep the promise that was asked for."""


class MissingPackageError(KohortError, ImportError):
    """An optional package is needed; the message says how to install it."""


class InternalError(KohortError):
    """A bug of Kohort's: please report it. Nothing was written."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and its noun, in the singular or the plural.

    >>> counted(1, "record"), counted(2000, "class", "classes")
    ('1 record', '2,000 classes')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that ends an error message: the nearest known word, or all of them.

    >>> did_you_mean("mondrain", ["mondrian", "forest"])
    "Did you mean 'mondrian'?"
    """
    known = sorted(known)
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    if close:
        return f"Did you mean {close[0]!r}?"
    return f"Known: {', '.join(known)}."


def percent(share: float) -> str:
    """A share as a percentage, in text.

    >>> percent(0.1), percent(0.000348)
    ('10 %', '0.0348 %')
    """
    return f"{100 * share:.3g} %"


def in_bytes(size: int) -> str:
    """A number of bytes in text.

    >>> in_bytes(2_400_000_000), in_bytes(12_000_000)
    ('2.4 GB', '12 MB')
    """
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
