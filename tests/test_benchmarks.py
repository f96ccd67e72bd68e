"""Benchmarks are found by name, their lines can be compared, and what got worse is noticed."""

import json

import pytest
from benchmarks.cases import CASES, NEED_DATA, QUICK
from benchmarks.compare import lines_of, ratios, worse
from benchmarks.measuring import Size

pytestmark = pytest.mark.benchmarks


def test_selections_name_cases():
    assert set(QUICK) <= set(CASES)
    assert set(CASES) >= NEED_DATA


def test_a_case_gives_lines_with_what_was_asked_and_measured():
    [line] = CASES["coding"](Size(quick=True, rows=1000))
    assert line["asked"] == {"rows": 1000, "columns": 10}
    assert line["cpu"] >= 0 and line["peak_mb"] > 0
    assert json.loads(json.dumps(line)) == line


def written(path, *lines):
    path.write_text("".join(json.dumps({"case": "c", "asked": {"k": k}} | more) + "\n" for k, more in lines))
    return lines_of(path)


def test_lines_are_matched_by_what_was_asked_and_the_least_of_several_runs_counts(tmp_path):
    runs = [(5, {"cpu": 3.0, "loss": 0.2}), (5, {"cpu": 2.0, "loss": 0.2}), (10, {"cpu": 1.0, "loss": 0.3})]
    found = written(tmp_path / "a.jsonl", *runs)
    assert found == {"c k=5": {"cpu": 2.0, "loss": 0.2}, "c k=10": {"cpu": 1.0, "loss": 0.3}}


@pytest.mark.parametrize(
    ("after", "complaint"),
    [
        ([(5, {"cpu": 1.04, "peak_mb": 100, "loss": 0.2})], None),
        ([(5, {"cpu": 1.2, "peak_mb": 100, "loss": 0.2})], "cpu: 1.200"),
        ([(5, {"cpu": 1.0, "peak_mb": 120, "loss": 0.2})], "peak_mb: 1.200"),
        ([(5, {"cpu": 1.0, "peak_mb": 100, "loss": 0.21})], "loss of c k=5: 0.2 -> 0.21"),
        ([(6, {"cpu": 1.0, "peak_mb": 100, "loss": 0.2})], "missing after: c k=5"),
    ],
)
def test_what_got_worse_is_said(tmp_path, capsys, after, complaint):
    before = written(tmp_path / "a.jsonl", (5, {"cpu": 1.0, "peak_mb": 100, "loss": 0.2}))
    found = worse(before, written(tmp_path / "b.jsonl", *after), 1.05)
    assert len(found) == (complaint is not None)
    assert not found or found[0].startswith(complaint)


def test_a_measure_that_a_line_lacks_has_no_ratio():
    assert ratios({"cpu": 2.0}, {"cpu": 3.0, "loss": 0.1}) == {"cpu": 1.5, "peak_mb": None, "loss": None}
