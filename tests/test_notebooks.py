"""The notebooks of the documentation run, and say what they said when they were committed."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")

pytestmark = pytest.mark.site

DOCS = Path(__file__).parents[1] / "docs"


def _load() -> ModuleType:
    found = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["run_notebooks"] = module
    found.loader.exec_module(module)
    return module


run_notebooks = _load()


@pytest.mark.filterwarnings("default")  # of the packages that run notebooks
@pytest.mark.parametrize("path", run_notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_it_shows(path):
    committed = nbformat.read(path, as_version=4)
    now = run_notebooks.executed(path)
    assert run_notebooks.printed(now) == run_notebooks.printed(committed), "Run docs/run_notebooks.py."
    for cell, before in zip(now["cells"], committed["cells"]):
        assert len(cell.get("outputs", [])) == len(before.get("outputs", [])), "Run docs/run_notebooks.py."


def test_there_are_three_notebooks():
    assert [path.stem for path in run_notebooks.NOTEBOOKS] == ["choosing-k", "hospital", "learning"]
