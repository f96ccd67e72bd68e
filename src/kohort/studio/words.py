"""The texts of the studio, all in one place: `words.yaml` beside this file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml

__all__ = ["STEPS", "words"]

STEPS = ("data", "people", "roles", "hierarchies", "promise", "run", "judge", "publish")


@cache
def words() -> dict[str, Any]:
    """All texts, by page and name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"), Loader=loader)
