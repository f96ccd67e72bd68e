"""How long a ledger of a million people takes to open and check, and how large it is.

python -m experiments.again.million
"""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from kohort.data.ledger import Ledger, LedgerEntry
from kohort.io.ledger_file import read_ledger, write_ledger
from kohort.verification import verify_together

PEOPLE = 1_000_000
KEY = b"the key of the experiments"


def main() -> None:
    ledger = Ledger("person", tuple(entry(number) for number in (1, 2, 3)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ledger"
        write_ledger(ledger, path, KEY)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        start, clock = cpu(), time.perf_counter()
        read = read_ledger(path, KEY)
        print(f"opened: {cpu() - start:.2f} CPU s, {time.perf_counter() - clock:.2f} s")
        start = cpu()
        print(verify_together(read).holds, f"checked together: {cpu() - start:.2f} CPU s")


def entry(number: int) -> LedgerEntry:
    """A release of all people in classes of ten; in the first one all are new."""
    everybody = np.arange(PEOPLE, dtype=np.int32)
    rng = np.random.default_rng(number)
    facts = {
        "number": number,
        "again": "history-keeping",
        "models": [{"model": "k-anonymity", "k": 10}],
        "sensitive": ["illness"],
        "sha256": {},
    }
    n_classes = PEOPLE // 10
    return LedgerEntry(
        facts,
        rng.integers(0, 256, (PEOPLE if number == 1 else 0, 16), dtype=np.uint8),
        rng.integers(0, 256, (20 if number == 1 else 0, 16), dtype=np.uint8),
        everybody,
        everybody,
        everybody // 10,
        (everybody % 20)[:, None],
        {name: [f"[{i % 90}, {i % 90 + 10})" for i in range(n_classes)] for name in ("age", "postcode")},
    )


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
