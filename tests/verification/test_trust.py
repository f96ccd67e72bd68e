"""docs/trust.md lists every injected fault, by kind and with the right number: this file counts them.

`python tests/verification/test_trust.py`, with tests and src in PYTHONPATH, writes the list again.
"""

from __future__ import annotations

import re
from pathlib import Path

from cli.test_forged_certificates import KINDS
from job.spark.test_faults import WORKER_FAULTS
from publication.test_written_is_verified import FAULTS as WRITTEN
from verification.test_injected_faults import FAULTS, LEDGER_FAULTS, OTHER_PROBLEMS
from verification.test_own_definitions import FAULTS as RULES
from verification.test_own_reading import WRONG_COSTS, WRONG_LABELS

PAGE = Path(__file__).parents[2] / "docs" / "trust.md"
HEADING = "## Faults that are injected\n"
COUNTED = {
    "rules of promises": [re.sub(r"[{}']", "", fault.name) for fault in RULES],
    "costs": [f"{name}, {wrong.__name__}" for name, wrong in WRONG_COSTS],
    "labels and hierarchies": [
        f"{wrong.__name__.replace('_', ' ')} ({of})" for of, _, _, wrong in WRONG_LABELS
    ],
    **{kind: [] for kind in ("treatment", "identifiers", "records", "order", "sample", "bound")},
    "ledgers and counterfeits": list(LEDGER_FAULTS),
    "what is written": list(WRITTEN),
    "workers of a cluster": list(WORKER_FAULTS),
}
for fault in FAULTS:
    COUNTED[fault.kind].append(fault.name)
COUNTED["bound"] += OTHER_PROBLEMS
NAMES = [name for names in COUNTED.values() for name in names]


def section() -> str:
    """The part of the page on faults, as the tables of the tests have it."""
    rows = [f"| {kind} | {len(names)} | {'; '.join(names)} |" for kind, names in COUNTED.items()]
    lines = [
        HEADING,
        f"{len(NAMES)} faults, each put into the running product where a bug would be. Without it a",
        "release is made and holds; with it nothing is released, `verify` finds it, or figures are right.",
        "",
        "| where | faults | what is wrong |",
        "| --- | --- | --- |",
        *rows,
        "",
        "Files are altered in every format. Every leaf of certificates is forged, too, of these releases:",
        f"{', '.join(KINDS)}.",
        "",
    ]
    return "\n".join(lines)


def test_every_fault_is_listed():
    assert len(set(NAMES)) == len(NAMES) >= 60
    assert PAGE.read_text(encoding="utf-8").split(HEADING)[1] == section().split(HEADING)[1]


if __name__ == "__main__":
    before = PAGE.read_text(encoding="utf-8").split(HEADING)[0]
    PAGE.write_text(before + section(), encoding="utf-8")
