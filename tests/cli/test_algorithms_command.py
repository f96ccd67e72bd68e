"""kohort algorithms: every algorithm, readable at 80 columns, and as JSON."""

import json

import pytest

from cli.running import run
from kohort.algorithms import EVERY_ALGORITHM


def test_the_list_fits_80_columns_and_cuts_nothing(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    found = run("algorithms")
    assert found.exit == 0
    assert max(map(len, found.out.splitlines())) <= 80
    assert "…" not in found.out
    words = " ".join(line.strip("│ ").split("│")[-1] for line in found.out.splitlines())
    for name, algorithm in EVERY_ALGORITHM.items():
        assert name in found.out
        assert algorithm.summary in " ".join(words.split())


@pytest.mark.parametrize("name", EVERY_ALGORITHM)
def test_json_names_the_type_and_the_default_of_every_parameter(name):
    rows = {row["name"]: row for row in json.loads(run("algorithms", "--json").out)}
    for parameter, facts in rows[name]["parameters"].items():
        assert set(facts) == {"type", "default"}, parameter
        assert "<" not in facts["type"]
