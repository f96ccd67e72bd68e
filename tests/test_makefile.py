"""What the targets of `make` install, and that all that names a version or an extra agrees."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

needs_make = pytest.mark.skipif(
    shutil.which("make") is None or os.name == "nt", reason="make is not installed, or links need rights"
)


@pytest.fixture
def no_uv(tmp_path):
    """A folder of programs without uv, as the only place where make looks for programs."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("make", "sh"):
        (programs / name).symlink_to(shutil.which(name))
    return programs


def steps(target: str, programs: Path, environment: Path) -> str:
    """What make would do for a target, with an environment of its own."""
    command = ["make", "--dry-run", "--directory", ROOT, target, f"VENV={environment}"]
    settings = {key: value for key, value in os.environ.items() if not key.startswith("MAKE")}
    return subprocess.check_output(command, env={**settings, "PATH": str(programs)}, text=True)


def installed_by(target: str, programs: Path, environment: Path) -> list[str]:
    """What a target installs: the core as `.`, and extras as `.[name]`."""
    named = re.findall(r"install .*-e '?(\.[^\s']*)", steps(target, programs, environment))
    return list(dict.fromkeys(named))  # make calls itself, and nothing is installed in a dry run


@needs_make
@pytest.mark.parametrize(
    ("target", "installed"),
    [
        ("demo", ["."]),
        ("compile", ["."]),
        ("studio", [".[studio]"]),
        ("site", [".[docs]"]),
        ("dist", [".[dist]"]),
        ("test", [".[test]"]),
        ("spark", [".[test]", ".[spark]"]),
        ("test-all", [".[dev]"]),
        ("check", [".[dev]"]),
        ("install", [".[dev]"]),
    ],
)
def test_a_target_installs_what_it_needs_and_nothing_else(no_uv, tmp_path, target, installed):
    assert installed_by(target, no_uv, tmp_path / "new") == installed


@needs_make
def test_what_is_installed_is_not_installed_again(no_uv, tmp_path):
    (tmp_path / ".installed-core").touch()
    assert installed_by("demo", no_uv, tmp_path) == []
    assert installed_by("test", no_uv, tmp_path) == [".[test]"]


@needs_make
def test_uv_is_used_where_it_is_on_the_machine(no_uv, tmp_path):
    assert "pip install" in steps("demo", no_uv, tmp_path / "new")
    assert "uv " not in steps("demo", no_uv, tmp_path / "new")
    uv = no_uv / "uv"
    uv.write_text("#!/bin/sh\n")
    uv.chmod(0o755)
    done = steps("demo", no_uv, tmp_path / "new")
    assert "uv venv" in done and "uv pip install" in done and "-m pip" not in done


def test_every_extra_that_make_or_the_image_installs_exists():
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    extras = project.split("[project.optional-dependencies]\n")[1].split("\n[")[0]
    offered = set(re.findall(r"^(\w+) = \[", extras, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    image = (ROOT / "Containerfile").read_text(encoding="utf-8")
    named = set(re.findall(r":= \$\(VENV\)/\.installed-(\w+)", makefile)) - {"core"}
    named |= set(re.findall(r"'\.\[(\w+)\]'", makefile + image))
    assert {"dev", "dist", "docs", "spark", "studio", "test"} <= named <= offered
    for group in re.findall(r"kohort\[([\w,]+)\]", extras):
        assert set(group.split(",")) <= offered


def test_versions_agree():
    version = re.compile(r"^version(?:: | = \")([\d.]+)", re.MULTILINE)
    [built] = version.findall((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [cited] = version.findall((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest, *_ = re.findall(r"^## (\d[\d.]*)$", changelog, re.MULTILINE)
    assert built == cited == newest
