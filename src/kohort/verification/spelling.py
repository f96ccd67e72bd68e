"""Values of a sensitive column that a reader takes for one, and a promise of diversity for several."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from kohort.errors import counted
from kohort.verification.caution import Caution

__all__ = ["cautions_of_spelling"]


def cautions_of_spelling(name: str, texts: Sequence[str | None], counts: np.ndarray) -> list[Caution]:
    """The caution about a column with a promise, if some of its values differ in spelling alone.

    texts   the values; None for a missing one
    counts  how many published records have each

    >>> [caution] = cautions_of_spelling("illness", ("flu", "Flu", "gout"), np.array([3, 1, 2]))
    >>> caution.records
    4
    """
    spelled = defaultdict(list)
    for code in np.flatnonzero(counts).tolist():
        spelled[_plain(texts[code])].append(code)
    alike = [code for codes in spelled.values() if len(codes) > 1 for code in codes]
    if not alike:
        return []
    records = int(counts[alike].sum())
    what = (
        f"{counted(len(alike), 'value')} of {name!r}, in {counted(records, 'record')}, differ from another "
        "one only in capitals, in spaces around them or in how their letters are encoded, or are empty where "
        "others are missing; its promise takes them for different values."
    )
    advice = "Write equal values alike, and missing ones in one way; then make the release again."
    return [Caution("spelled-alike", what, advice, column=name, records=records)]


def _plain(text: str | None) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", text or "").strip().casefold())
