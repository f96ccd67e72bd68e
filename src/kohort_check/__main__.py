"""`kohort-check PROOF ORIGINAL RELEASE`: both tables as CSV files, in the order in which they are."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from kohort_check.file import ProofFile
from kohort_check.groups import Refused
from kohort_check.release import cells_of, check_release


def main(arguments: list[str] | None = None) -> int:
    """Checks a proof and prints what it proves; 0 if it does, else 1."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if len(arguments) != 3:
        print("Usage: kohort-check PROOF ORIGINAL.csv RELEASE.csv", file=sys.stderr)  # noqa: T201
        return 2
    try:
        print(check(*map(Path, arguments)))  # noqa: T201
    except (Refused, OSError, UnicodeDecodeError, csv.Error) as error:
        print(f"Not proven: {error}.", file=sys.stderr)  # noqa: T201
        return 1
    return 0


def check(proof: Path, original: Path, release: Path) -> str:
    """What a proof proves, in sentences; Refused if it proves nothing."""
    found, table = ProofFile.read(proof), _read(original)
    claim = found.claim
    cells = cells_of(claim.columns, table)
    cost = check_release(claim, found.promises, cells, found.published, table, _read(release))
    kept = None if found.priced is None else found.promises[found.priced]
    label = np.zeros(len(cells), np.int64) if kept is None else kept.labels(table[kept.column])
    bound = claim.bound(cells, label, found.prices)
    above = f", at most {float(cost / bound - 1):.2%} above the least possible" if bound else ""
    promises = "".join(f"; {p.kind} {p.number} of {p.column}" for p in found.promises)
    return (
        f"{len(found.published):,} of {len(cells):,} records, k = {claim.k}{promises}. Every class keeps "
        f"that, every label covers its value.\nThe {claim.cost} is {float(cost):.9g}; no release has less "
        f"than {float(bound):.9g}: it is proven{above}."
    )


def _read(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        raise Refused(f"{path.name} is no CSV table with a name for every column")
    return {name: [row[number] for row in rows[1:]] for number, name in enumerate(rows[0])}


if __name__ == "__main__":
    sys.exit(main())
