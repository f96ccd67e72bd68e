"""Pages that are made while the site is built: the notebooks, and the Python reference from docstrings."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS.parent / "src"))
sys.path.insert(0, str(DOCS))

import api_reference  # noqa: E402


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are no files."""
    files.append(File.generated(config, "api.md", content=api_reference.page()))
    for path in sorted((DOCS / "notebooks").glob("*.ipynb")):
        uri = path.relative_to(DOCS).with_suffix(".md").as_posix()
        files.append(File.generated(config, uri, content=notebook_page(path)))
    return files


def notebook_page(path: Path) -> str:
    """A notebook as a Markdown page: its cells and what they gave, with a link to the notebook itself."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    title, *parts = [part for cell in cells for part in _cell(cell)]
    heading, _, opening = title.partition("\n")
    note = f'[Download the notebook]({path.name}){{ download="{path.name}" }}'
    return "\n\n".join([heading, opening.strip(), note, *parts]) + "\n"


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: dict[str, Any]) -> str:
    """What a cell gave, in the richest form that a page can show."""
    if output["output_type"] == "stream":
        return f"``` {{.text .said}}\n{''.join(output['text']).rstrip()}\n```"
    data = output["data"]
    if "image/svg+xml" in data:
        picture = base64.b64encode("".join(data["image/svg+xml"]).encode()).decode()
        return f'<div class="output"><img alt="chart" src="data:image/svg+xml;base64,{picture}"></div>'
    if "text/html" in data:
        lines = [line for line in "".join(data["text/html"]).splitlines() if line.strip()]
        return "\n".join(['<div class="output">', *lines, "</div>"])
    return f"```text\n{''.join(data['text/plain'])}\n```"
