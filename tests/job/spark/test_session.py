"""The Java that Spark needs: found, or refused with what to do. No Spark is started here."""

from __future__ import annotations

import os
import stat

import pytest

from kohort.errors import InputError
from kohort.tables import spark_session as session


def _java(folder, version):
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2024' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder


@pytest.mark.parametrize("version", ["17.0.2", "21", "25.0.1"])
def test_a_java_that_is_new_enough(tmp_path, monkeypatch, version):
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path, version)))
    session.refuse_wrong_java()


@pytest.mark.parametrize("version", ["1.8.0_292", "11.0.2"])
def test_an_old_java_is_refused(tmp_path, monkeypatch, version):
    monkeypatch.setenv("JAVA_HOME", str(_java(tmp_path, version)))
    with pytest.raises(InputError, match="needs Java 17"):
        session.refuse_wrong_java()


def test_no_java_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "")  # as if it were not set; restored afterwards
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(session, "_USUAL", (tmp_path / "jvm",))
    with pytest.raises(InputError, match="none was found"):
        session.refuse_wrong_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "gone"))
    with pytest.raises(InputError, match="none that runs"):
        session.refuse_wrong_java()


def test_a_java_in_a_usual_place_is_found(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "")  # as if it were not set; restored afterwards
    monkeypatch.setenv("PATH", str(tmp_path))
    home = _java(tmp_path / "jvm" / "java-17", "17.0.1")
    monkeypatch.setattr(session, "_USUAL", (tmp_path / "jvm",))
    session.refuse_wrong_java()
    assert os.environ["JAVA_HOME"] == str(home)
