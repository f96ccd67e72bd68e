"""kohort models: every model, readable at 80 columns, and as JSON."""

import json
import re
from pathlib import Path

from cli.running import run
from kohort.cli.catalogue import ADULT_LOSS
from kohort.problem.promises import ITEM_MODELS, MODELS

DOCS = Path(__file__).parents[2] / "docs"


def test_the_list_fits_80_columns_and_says_what_each_stops(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = run("models")
    assert found.exit == 0
    assert max(map(len, found.out.splitlines())) <= 80
    assert "…" not in found.out
    words = " ".join(" ".join(line.strip("│ ").split("│")[-1] for line in found.out.splitlines()).split())
    for name, model in {**MODELS, **ITEM_MODELS}.items():
        assert name in found.out
        for text in (model.stops, model.leaves, model.typical):
            assert text in words


def test_json_says_which_algorithms_keep_each():
    rows = {row["name"]: row for row in json.loads(run("models", "--json").out)}
    assert set(rows) == set(MODELS) | set(ITEM_MODELS)
    assert {"full-domain", "incognito"} <= set(rows["k-map"]["algorithms"])
    assert "mondrian" not in rows["k-map"]["algorithms"]
    assert rows["differential-privacy"]["algorithms"] == ["auto"]
    assert "mondrian" in rows["beta-likeness"]["algorithms"]
    assert rows["l-diversity"]["united"]
    assert not rows["km-anonymity"]["united"]


def test_the_sentences_are_those_of_the_documentation():
    page = (DOCS / "which-promise.md").read_text(encoding="utf-8")
    for name, model in {**MODELS, **ITEM_MODELS}.items():
        assert f"| [{name}](models.md#{name}) | {model.stops} | {model.leaves} |" in page


def test_the_costs_on_adult_are_those_of_the_documentation():
    page = (DOCS / "which-promise.md").read_text(encoding="utf-8")
    costs = page.split("## What they cost")[1]
    shown = dict(re.findall(r"^\| \[([a-z-]+)\]\([^)]*\) \| (.*) \|$", costs, re.MULTILINE))
    assert set(shown) == set(MODELS) == set(ADULT_LOSS)
    for name, found in ADULT_LOSS.items():
        for loss in found.values():
            assert f"{loss:.3f}" in shown[name]
