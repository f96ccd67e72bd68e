"""Golden releases: what the product made once, it makes again, byte by byte.

After a change that is meant to change releases, run `KOHORT_GOLDENS=write pytest tests/goldens` and read the
difference.
"""

import os
from pathlib import Path

import pytest

from goldens.cases import CASES
from goldens.running import outcome

KEPT = Path(__file__).parent / "kept"
WRITING = os.environ.get("KOHORT_GOLDENS") == "write"


@pytest.mark.parametrize("name", CASES)
def test_a_release_is_what_it_was(name, tmp_path):
    made = outcome(CASES[name], tmp_path)
    kept = KEPT / f"{name}.txt"
    if WRITING:
        kept.write_text(made, encoding="utf-8")
    assert made == kept.read_text(encoding="utf-8")


def test_every_kept_file_belongs_to_a_case():
    assert {path.stem for path in KEPT.glob("*.txt")} == set(CASES)
