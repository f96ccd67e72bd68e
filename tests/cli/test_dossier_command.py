"""kohort dossier: the document, the form and the log; all of them or none."""

import json

import pyarrow.csv
import pytest
import yaml

from cli.running import run
from report.test_dossier import SPEC, people


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dossier")
    pyarrow.csv.write_csv(people(), folder / "people.csv")
    (folder / "spec.yaml").write_text(yaml.safe_dump(SPEC))
    return folder


def dossier(folder, *more):
    return run("dossier", folder / "people.csv", "--spec", folder / "spec.yaml", "--targets", 30, *more)


def test_the_form_is_written_filled_in_and_read_back(folder, tmp_path):
    form = tmp_path / "form.csv"
    found = dossier(folder, "--out", tmp_path / "d.html", "--intruder-form", form)
    assert found.exit == 0 and "Automatic attempts: 30 people looked for" in " ".join(found.out.split())
    lines = form.read_text().splitlines()
    lines[1] = "1,AB,2027-01-01,2,registers,17,50,note 1,wrong"
    form.write_text("\n".join(lines) + "\n")
    found = dossier(folder, "--out", tmp_path / "e.html", "--intruder-results", form, "--json")
    assert json.loads(found.out)["human"]["sentence"] == (
        "Human attempts: 1 person looked for by 1 intruder in 2 hours, 1 suspected, 0 confirmed."
    )
    assert "1 suspected, 0 confirmed" in (tmp_path / "e.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--out", "d.docx"], "must end in .html or .pdf"),
        (["--out", "d.html", "--intruder-form", "f.txt"], ".csv or .html"),
        (["--out", "d.html", "--intruder-log", "l.csv"], "--intruder-log is no more: leave it out"),
        (["--out", "d.html", "--intruder-results", "none.csv"], "cannot be read"),
        (["--out", "d.html", "--version", "secret"], "internal or public"),
    ],
)
def test_bad_input(folder, tmp_path, monkeypatch, words, message):
    monkeypatch.chdir(tmp_path)
    found = dossier(folder, *words)
    assert found.exit == 2 and message in " ".join(found.err.split())
    assert not list(tmp_path.iterdir())


def test_beside_a_release(folder, tmp_path):
    release, written = tmp_path / "r.csv", tmp_path / "d.html"
    found = run("anonymize", folder / "people.csv", "--spec", folder / "spec.yaml", "--out", release,
                "--dossier", written, "--dossier-version", "public", "--quiet")  # fmt: skip
    assert found.exit == 0 and "public version" in written.read_text()
