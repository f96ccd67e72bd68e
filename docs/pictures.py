"""Draw the pictures of the documentation: charts of the demo's report, and the report itself in Chromium.

Run it after a change of the report: `python docs/pictures.py`. The charts are the very specs of the report.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import kohort as ko
from kohort.charts import svg_of
from kohort.report import charts
from kohort.report.facts import report_facts
from kohort.report.html import write_report

PICTURES = Path(__file__).parent / "pictures"
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]


def main() -> None:
    """Write every picture; the screenshot only where Chromium is installed."""
    PICTURES.mkdir(exist_ok=True)
    release = ko.anonymize(ko.datasets.load_health(year=1), spec=ko.datasets.example_spec("health"))
    for name, chart in demo_charts(report_facts(release)).items():
        svg = svg_of(chart, alternative=f"A chart of the demo's report: {name}")
        (PICTURES / f"report-{name}.svg").write_text(svg + "\n", encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed: pictures/report.png stays as it was.")
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        write_report(release, page, version="public")
        command = [chromium, *_FLAGS, f"--user-data-dir={folder}/profile", "--window-size=1060,1560"]
        shot = PICTURES / "report.png"
        subprocess.run([*command, f"--screenshot={shot}", page.as_uri()], check=True, capture_output=True)


def demo_charts(facts: dict) -> dict[str, dict]:
    """Some charts of a report, by a name."""
    linkage = facts["risk"]["linkage"]
    attack = [
        {"side": name, "rate": side["hit_rate"], "low": side["interval"][0], "high": side["interval"][1]}
        for name, side in (("original", linkage["before"]), ("release", linkage["after"]))
    ]
    return {
        "columns": charts.steps_chart([(a["name"], a["steps"]) for a in facts["attributes"]]),
        "education": charts.distribution_chart(facts["distributions"]["education"], ordered=True),
        "classes": charts.class_sizes_chart(facts["class_sizes"]),
        "attack": charts.attack_chart(attack, facts["risk"]["threshold"]),
    }


if __name__ == "__main__":
    main()
