"""kohort studio on the command line: what it refuses before it starts anything."""

import subprocess
import sys

import pytest

pytest.importorskip("uvicorn", reason="the studio's packages are not installed")

from cli.running import run
from kohort.studio.server import _hosts
from kohort.studio.serving import Serving


@pytest.fixture
def password(tmp_path):
    path = tmp_path / "password"
    path.write_text("correct horse battery\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--host", "0.0.0.0"], "--password-file"),
        (["--spec", "spec.yaml"], "name the file"),
        (["missing.csv"], "There is no file"),
        (["--demo", __file__], "leave out the file"),
        (["--upload-limit", "0"], "at least 1 MB"),
        (["--tls-certificate", __file__], "go together"),
        (["--password-file", __file__], "are for --host"),
        (["--host", "127.0.0.1", "--name", "desk.example"], "--password-file"),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, said):
    done = run("studio", *arguments)
    assert done.exit == 2 and said in done.err


def test_a_short_password_is_refused(tmp_path):
    path = tmp_path / "password"
    path.write_text("secret")
    done = run("studio", "--host", "0.0.0.0", "--password-file", path)
    assert done.exit == 2 and "12 characters" in done.err and "secret" not in done.err


def test_without_tls_somebody_must_say_yes(password, monkeypatch):
    started = []
    monkeypatch.setattr("kohort.studio.server.serve", lambda *_: started.append(True))
    monkeypatch.setattr("typer.confirm", _no)
    done = run("studio", "--host", "0.0.0.0", "--password-file", password)
    assert done.exit != 0 and "everybody on the network" in done.err and started == []


def _no(question, *, abort, err):
    import typer

    assert abort
    raise typer.Abort


def test_missing_packages_are_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "kohort.studio.server")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    done = run("studio")
    assert done.exit == 2 and "The studio needs: pip install" in done.err and "studio" in done.err


def test_help_loads_nothing_of_the_studio():
    command = [sys.executable, "-X", "importtime", "-m", "kohort", "studio", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "kohort.cli.commands" in loaded
    heavy = {
        "kohort.cli.studio",
        "kohort.studio",
        "starlette",
        "uvicorn",
        "sse_starlette",
        "python_multipart",
        "jinja2",
        "asyncio",
    }
    assert not loaded & heavy


def test_a_studio_for_others_knows_its_names():
    assert _hosts(Serving(), 80) == {"127.0.0.1:80", "localhost:80"}
    assert _hosts(Serving(host="10.0.0.7", names=("desk.example",)), 80) == {"10.0.0.7:80", "desk.example:80"}
    assert "[fe80::1]:80" in _hosts(Serving(host="fe80::1"), 80)
