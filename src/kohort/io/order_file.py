"""Order files: which original record each published record is. Private to those who made the release."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.io.json_text import load_json
from kohort.version import __version__

_OWNER_ONLY = 0o600


def write_order(rows: np.ndarray, path: str | Path) -> None:
    """Write the numbers of the originals, from 1 on, straight to `path`, which only its owner may read."""
    path = Path(path)
    path.touch(mode=_OWNER_ONLY)
    path.chmod(_OWNER_ONLY)
    facts = {"kohort": "order", "version": __version__, "original_records": (rows + 1).tolist()}
    write_checked(path, json.dumps(facts) + "\n")


def read_order(path: str | Path) -> np.ndarray:
    """The number of the original of each published record, counted from 0."""
    path = Path(path)
    try:
        facts = load_json(path)
        if facts["kohort"] != "order" or not all(type(row) is int for row in facts["original_records"]):
            raise ValueError
        return np.array(facts["original_records"], dtype=np.int64) - 1
    except OSError as error:
        raise InputError(f"The order file {str(path)!r} cannot be read: {error.strerror}.") from None
    except (InputError, ValueError, TypeError, KeyError, OverflowError):
        raise InputError(
            f"{str(path)!r} is not an order file. 'kohort anonymize --order-file' writes one."
        ) from None
