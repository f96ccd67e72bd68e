"""Cases that `python -m fuzz` once found wrong, as small as they could be made: none may come back."""

import ast
import re
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))  # fuzz/ is beside tests/

from fuzz.attempt import attempt
from fuzz.case import Case
from fuzz.judge import complaints
from fuzz.judge_refusals import DOCUMENTED

SOURCE = Path(__file__).parent.parent / "src"
KEPT = sorted((Path(__file__).parent / "fuzz_cases").glob("*.json"))


@pytest.mark.parametrize("path", KEPT, ids=[path.stem for path in KEPT])
def test_nothing_is_wrong_with_it_any_more(path):
    case = Case.from_json(path.read_text(encoding="utf-8"))
    assert complaints(case, attempt(case)) == []


@pytest.fixture(scope="module")
def texts():
    """Every text in the source, with a number in place of what is filled in."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    plain = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return plain + [
        "".join(part.value if isinstance(part, ast.Constant) else "7" for part in node.values)
        for node in filled
    ]


@pytest.mark.parametrize("text", [text for _, text in DOCUMENTED])
def test_a_refusal_that_the_judge_accepts_is_one_that_kohort_gives(texts, text):
    assert any(re.search(text, said) for said in texts)
