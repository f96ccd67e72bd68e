"""A failing case as a test that can be pasted."""

from __future__ import annotations

import hashlib
import re

__all__ = ["as_test", "name_of"]


def name_of(case: str, kind: str) -> str:
    """A file name for a kept case: what it is about, and a few digits of its content."""
    words = "-".join(re.findall(r"[a-z]+", kind.lower())[:6])
    return f"{words}-{hashlib.sha256(case.encode()).hexdigest()[:6]}"


def as_test(case: str, kind: str) -> str:
    """Lines for a shell: they keep the case where `tests/test_fuzz_cases.py` finds it."""
    name = name_of(case, kind)
    return (
        f"cat > tests/fuzz_cases/{name}.json <<'CASE'\n{case}\nCASE\n"
        f".venv/bin/python -m pytest tests/test_fuzz_cases.py -k {name}"
    )
