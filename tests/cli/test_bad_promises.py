"""Promises and treatments that mean nothing: a clear error, exit 2, and nothing is written."""

from __future__ import annotations

import pytest
import yaml

from cli.running import run

PEOPLE = "age,wage,illness\n" + "".join(
    f"{20 + i % 30},{100 + i},{'flu' if i % 3 else 'cold'}\n" for i in range(60)
)
ATTRIBUTES = {
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 30]}},
    "wage": {"role": "insensitive"},
    "illness": {"role": "sensitive"},
}


def attempt(tmp_path, privacy, *, name=None, **changes):
    """Run anonymize with a changed attribute; the files that are there afterwards."""
    attributes = {column: dict(part) for column, part in ATTRIBUTES.items()}
    if name is not None:
        attributes[name] |= changes
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump({"attributes": attributes, "privacy": privacy}))
    before = set(tmp_path.iterdir())
    found = run(
        *("anonymize", str(tmp_path / "people.csv"), "--spec", str(tmp_path / "spec.yaml")),
        *("--out", str(tmp_path / "release.csv"), "--certificate", str(tmp_path / "certificate.json")),
    )
    return found, set(tmp_path.iterdir()) - before


@pytest.mark.parametrize(
    "privacy, says",
    [
        ({"k_map": {"population": "others.csv", "k": 2}}, "not in the population"),
        ({"k_map": {"population": "nowhere.csv", "k": 2}}, "nowhere.csv"),
        ({"k_map": {"population": "", "k": 2}}, "must name a file"),
        ({"presence": {"population": "others.csv", "at_least": 0.9, "at_most": 0.1}}, "must not be above"),
        ({"differential": {"epsilon": 0, "delta": 0.001}}, "'epsilon' parameter"),
        ({"differential": {"epsilon": 1, "delta": 0}}, "'delta' parameter"),
        ({"disclosure": {"attribute": "illness", "delta": -1}}, "'delta' parameter"),
        ({"likeness": {"attribute": "illness", "beta": 0}}, "'beta' parameter"),
        ({"known": 2}, "add the number of records"),
        ({"k": 2, "known": 0}, "'known' parameter"),
        ({"uniqueness": {"share": 0.1, "sampling_fraction": 0}}, "'sampling_fraction' parameter"),
    ],
)
def test_promises_that_mean_nothing(tmp_path, privacy, says):
    (tmp_path / "others.csv").write_text("age\n21\n22\n")
    found, written = attempt(tmp_path, privacy)
    assert (found.exit, written) == (2, set())
    assert says in found.err
    assert "Traceback" not in found.err


@pytest.mark.parametrize(
    "name, changes, says",
    [
        ("wage", {"treatment": {"noise": -0.1}}, "'size' parameter of Noise"),
        ("illness", {"treatment": {"pram": {"flu": {"flu": 0.5}}}}, "adds up to 0.5"),
        ("illness", {"treatment": {"noise": 0.1}}, "is for numbers"),
        ("wage", {"treatment": "noise"}, "noise"),
        ("age", {"publish": "mean"}, "is for numbers without a hierarchy"),
        ("illness", {"role": "quasi-identifier", "publish": "mean"}, "is for numbers without a hierarchy"),
        ("illness", {"publish": "mean"}, "not a quasi-identifier"),
    ],
)
def test_columns_that_cannot_be_treated_so(tmp_path, name, changes, says):
    found, written = attempt(tmp_path, {"k": 2}, name=name, **changes)
    assert (found.exit, written) == (2, set())
    assert says in found.err
    assert "Traceback" not in found.err


def test_no_cell_is_shown(tmp_path):
    (tmp_path / "others.csv").write_text("age\n21\n22\n")
    found, _ = attempt(tmp_path, {"k_map": {"population": "others.csv", "k": 2}})
    assert not any(f" {age} " in found.err for age in range(20, 50))
