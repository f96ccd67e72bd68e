"""kohort verify --review: the release again, at a later date."""

import json

import pyarrow.csv
import pytest
import yaml

from cli.running import run
from risk.test_review import SPEC, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    pyarrow.csv.write_csv(people(), folder / "people.csv")
    (folder / "spec.yaml").write_text(yaml.safe_dump(SPEC))
    found = run(
        "anonymize", folder / "people.csv", "--spec", folder / "spec.yaml", "--out", folder / "release.csv"
    )
    assert found.exit == 0
    return folder


def review(folder, *more):
    release, spec = folder / "release.csv", folder / "spec.yaml"
    return run("verify", release, "--spec", spec, "--review", "--json", *more)


def test_before_its_date_it_stands(folder):
    found = review(folder, "--on", "2027-01-01", "--population", folder / "people.csv")
    facts = json.loads(found.out)
    assert found.exit == 0 and facts["review"]["stands"] and facts["review"]["on"] == "2027-01-01"


def test_after_its_date_it_does_not(folder):
    found = review(folder, "--on", "2028-01-01")
    facts = json.loads(found.out)
    assert found.exit == 1 and facts["holds"] and not facts["review"]["stands"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--on", "tomorrow"], "must be a date"),
        (["--population", "missing.csv"], "missing.csv"),
    ],
)
def test_bad_input(folder, words, message):
    found = review(folder, *words)
    assert found.exit == 2 and message in found.err


def test_options_that_make_no_sense_alone(folder):
    found = run("verify", folder / "release.csv", "--spec", folder / "spec.yaml", "--on", "2027-01-01")
    assert found.exit == 2 and "--review" in found.err
