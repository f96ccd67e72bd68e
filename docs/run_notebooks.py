"""Run the notebooks of the documentation, each in an empty folder, and keep what their cells give."""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "executed", "main", "printed"]

NOTEBOOKS = sorted((Path(__file__).parent / "notebooks").glob("*.ipynb"))
_SECONDS = 600  # for one cell, on a machine that has to compile first


def main() -> None:
    """Run every notebook and write it back."""
    for path in NOTEBOOKS:
        nbformat.write(executed(path), path)


def executed(path: Path) -> Any:
    """The notebook with what its cells give now; an error in a cell is raised."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        settings = {"PYTHONWARNINGS": "error::FutureWarning", "NO_COLOR": "1", "JUPYTER_PLATFORM_DIRS": "1"}
        place = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout=_SECONDS, kernel_name="python3", resources=place, coalesce_streams=True
        )
        client.execute(env=os.environ | settings)
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        if cell["cell_type"] == "code":
            cell["outputs"] = [output for output in cell["outputs"] if _says_something(output)]
    return notebook


def _says_something(output: Any) -> bool:
    """Whether an output is more than what is left of a progress bar."""
    return bool("".join(output["text"] if "text" in output else output["data"].get("text/plain", "")).strip())


def printed(notebook: Any) -> str:
    """What the cells print, without figures: these may differ from machine to machine."""
    outputs = [output for cell in notebook["cells"] for output in cell.get("outputs", [])]
    texts = ["".join(output["text"]) for output in outputs if output["output_type"] == "stream"]
    return " ".join(re.findall(r"[A-Za-z_]+", " ".join(texts)))


if __name__ == "__main__":
    main()
