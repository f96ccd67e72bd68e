"""Cases that `python -m fuzz` once found wrong, as small as they could be made: none may come back."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))  # fuzz/ is beside tests/

from fuzz.attempt import attempt
from fuzz.case import Case
from fuzz.judge import complaints

KEPT = sorted((Path(__file__).parent / "fuzz_cases").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_nothing_is_wrong_with_it_any_more(path):
    case = Case.from_json(path.read_text(encoding="utf-8"))
    assert complaints(case, attempt(case)) == []
