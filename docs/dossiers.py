"""Write the dossiers that the documentation shows, Adult and RAND, and a picture of one.

Run it after a change of the dossier: `python docs/dossiers.py`, and look at them.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

import kohort as ko
from kohort.charts import svg_of
from kohort.report import charts
from kohort.report.dossier.write import dossier_facts

DOSSIERS = Path(__file__).parent / "dossiers"
PICTURE = Path(__file__).parent / "pictures" / "dossier.png"
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]
_APPROVAL: dict[str, Any] = {
    "recipients": [
        {
            "name": "a university",
            "purpose": "teaching and research",
            "knows": ["age", "sex"],
            "controls": ["a data use agreement", "a room without network"],
            "review": "2027-12-31",
        },
        {"name": "everybody", "review": "2027-12-31"},
    ],
    "context": {"purpose": "To show what a dossier looks like.", "responsible": "The authors of Kohort."},
}
_MORE = {
    "adult": {"title": "Adult", "utility": {"models": ["salary-class ~ age + sex + hours-per-week"]}},
    "health": {"utility": {"models": ["medical_spending ~ age + sex"]}},
}


def main() -> None:
    """Write both dossiers; the picture only where Chromium is installed."""
    DOSSIERS.mkdir(exist_ok=True)
    for name, more in _MORE.items():
        example_release(name, more).dossier(DOSSIERS / f"{name}.html", version="public")
    draw_heat_map()


def example_release(name: str, more: dict[str, Any]) -> ko.Release:
    """A release of a built-in table with a limit on the risk and all that a dossier may say."""
    table = {"adult": ko.datasets.load_adult, "health": ko.datasets.load_health}[name]()
    path = Path(ko.datasets.example_spec(name))
    spec = yaml.safe_load(path.read_text(encoding="utf-8"))
    promises = {key: value for key, value in spec["privacy"].items() if key != "k"}
    changes = {"algorithm": "mondrian", "privacy": {"risk": {"limit": 0.09}, **promises}}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(path.parent / "hierarchies", Path(folder) / "hierarchies")
        file = Path(folder) / "spec.yaml"
        file.write_text(yaml.safe_dump({**spec, **changes, **_APPROVAL, **more}), encoding="utf-8")
        return ko.anonymize(table, spec=file)


def draw_heat_map() -> None:
    """The heat map of Adult, original and release, as a picture."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed: pictures/dossier.png stays as it was.")
    found = dossier_facts(example_release("adult", _MORE["adult"]), targets=20)["knowledge"]
    parts = []
    for side, words in (("before", "original"), ("after", "release")):
        cells = [
            {"column": name, "size": size, "chance": chance}
            for name, row in zip(found["columns"], found[side]["average_by_column"])
            for size, chance in enumerate(row, 1)
        ]
        parts.append(f"<div><h3>{words}</h3>{svg_of(charts.heat_chart(cells, found['columns']))}</div>")
    style = "body{display:flex;gap:20px;font:14px Arial;color:#222;background:#fff}h3{margin:4px 0 4px 12px}"
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "heat.html"
        page.write_text(f"<style>{style}</style><body>{''.join(parts)}</body>", encoding="utf-8")
        command = [chromium, *_FLAGS, f"--user-data-dir={folder}/profile", "--window-size=830,350"]
        subprocess.run([*command, f"--screenshot={PICTURE}", page.as_uri()], check=True, capture_output=True)


if __name__ == "__main__":
    main()
