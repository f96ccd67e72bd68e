"""Artefacts: one class and one line make a new kind, in Python and on the command line."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import pyarrow as pa
import pytest

import kohort as ko
from kohort.cli.options import Writing
from kohort.release import artefacts
from kohort.release.artefacts import ARTEFACTS, Artefact, Said


@dataclass(frozen=True)
class Motto(Artefact):
    """A line of text beside a release."""

    name = "motto"
    help = "Also write a motto."
    private = True
    words: Annotated[str, Said("motto_words", "The words.", beside="needs --motto.")] = "safe"

    def write(self, release, draft_of, known):
        draft_of[self.path].write_text(f"{self.words}: {known['sha256']['output'][:6]}")


def made():
    return ko.anonymize(pa.table({"age": [1, 1, 2, 2]}), quasi_identifiers=["age"], k=2)


def test_a_new_kind_is_a_class_and_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(artefacts, "ARTEFACTS", (*ARTEFACTS, Motto))
    facts = made().write(tmp_path / "out.csv", motto=tmp_path / "motto.txt", motto_words="open")
    assert (tmp_path / "motto.txt").read_text() == f"open: {facts['sha256']['output'][:6]}"
    assert (tmp_path / "motto.txt").stat().st_mode & 0o077 == 0
    assert {"motto", "motto_words"} <= set(Writing.taken())
    with pytest.raises(ko.InputError, match="--motto-words needs --motto"):
        made().write(tmp_path / "other.csv", motto_words="open")
    assert not (tmp_path / "other.csv").exists()


def test_a_keyword_that_is_none_is_refused_with_a_hint(tmp_path):
    with pytest.raises(TypeError, match="Did you mean 'certificate'"):
        made().write(tmp_path / "out.csv", certifcate=tmp_path / "c.json")


@pytest.mark.parametrize("words", [["--help"], ["anonymize", "--help"]])
def test_help_loads_no_step_of_the_job(words):
    code = (
        "import sys; from kohort.cli.app import app\n"
        f"try: app({words!r})\nexcept SystemExit: pass\n"
        "heavy = ('kohort.job', 'kohort.io', 'kohort.algorithms', 'numpy', 'pyarrow')\n"
        "sys.stderr.write(' '.join(name for name in sys.modules if name.startswith(heavy)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
