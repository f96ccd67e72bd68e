"""The package as others get it: built, installed into an environment of its own, and run there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from kohort import extras

ROOT = Path(__file__).parents[1]

pytestmark = [
    pytest.mark.packaging,
    pytest.mark.skipif(os.name == "nt", reason="the environment is made of symbolic links"),
]


# -- built and installed ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder with the sdist, and the wheel that is built from that sdist alone; nothing is downloaded."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built):
    [path] = built.glob("kohort-*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel and the packages that it requires, without any extra."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index"]
    done = subprocess.run([*pip, "--quiet", str(wheel)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    [packages] = folder.glob("lib/python*/site-packages")
    [kohort] = distributions(name="kohort", path=[str(packages)])
    for name in required_names(kohort):
        for part in top_level_parts(name):
            (packages / part.name).symlink_to(part)
    return folder


def required_names(package: Distribution, *, found: set[str] | None = None) -> set[str]:
    """The packages that one requires without extras, and those that these require."""
    found = set() if found is None else found
    for line in package.requires or []:
        needed = Requirement(line)
        if needed.name in found or not (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            continue
        found.add(needed.name)
        required_names(distribution(needed.name), found=found)
    return found


def top_level_parts(name: str) -> list[Path]:
    """The files and folders of a package right in the folder of packages."""
    package = distribution(name)
    names = {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}
    return [Path(str(package.locate_file(part))) for part in sorted(names)]


def run(installed: Path, *command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment in a folder, without the paths of this test."""
    settings = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    program, *arguments = map(str, command)
    line = [str(installed / "bin" / program), *arguments]
    return subprocess.run(line, cwd=folder, env=settings, capture_output=True, text=True)


def test_the_wheel_has_everything_that_is_used_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    sources = {path.relative_to(ROOT / "src").as_posix() for path in (ROOT / "src").rglob("*.*")}
    wanted = {name for name in sources if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == wanted
    assert any(name.endswith("py.typed") for name in names)
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_has_what_building_and_testing_need(built):
    [path] = built.glob("kohort-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    for needed in ("pyproject.toml", "README.md", "Makefile", "mkdocs.yml", "tests/conftest.py"):
        assert needed in names
    assert not any("__pycache__" in name or name.startswith((".venv", "site/", "demo/")) for name in names)


def test_the_demo_runs_where_only_the_wheel_is_installed(installed, tmp_path):
    done = run(installed, "kohort", "demo", "--out", "demo", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["records"] == 20190 and facts["people"] == 5912 and facts["smallest_class_people"] >= 10
    assert "<svg" in (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")


def test_what_runs_there_is_the_installed_package(installed, tmp_path):
    asked = "import kohort, sys; print(kohort.__file__, 'pandas' in sys.modules)"
    done = run(installed, "python", "-c", asked, folder=tmp_path)
    assert done.stdout.startswith(str(installed)) and done.stdout.endswith("False\n")
    assert run(installed, "python", "-c", "import pandas", folder=tmp_path).returncode != 0


def test_excel_files_and_exact_algorithms_need_no_extra_and_others_name_theirs(installed, tmp_path):
    program = """
import sys
import kohort as ko, polars as pl
pl.DataFrame({"a": ["x", "x", "y", "y", "z"], "b": [*"uvuvv"]}).write_excel("people.xlsx")
asked = {"quasi_identifiers": {"a": ko.flat(), "b": ko.flat()}, "privacy": [ko.KAnonymity(2)]}
for name in ("optimal", "two-anonymity"):
    print(ko.anonymize("people.xlsx", **asked, algorithm=name).verdict.holds)
print("highspy" in sys.modules, "rustworkx" in sys.modules)
import kohort.sklearn
"""
    done = run(installed, "python", "-c", program, folder=tmp_path)
    assert done.stdout.split() == ["True"] * 4, done.stderr
    assert "kohort.sklearn needs: pip install 'kohort[sklearn]'" in done.stderr


# -- how to install an extra -----------------------------------------------------------------------


class _Installed:
    """A distribution as pip notes it."""

    def __init__(self, noted: dict[str, object] | None) -> None:
        self.noted = noted

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self.noted is None else json.dumps(self.noted)


@pytest.mark.parametrize(
    ("noted", "command"),
    [
        (None, "pip install 'kohort[stats]'"),
        ({"url": "file:///x/kohort.whl", "archive_info": {}}, "pip install 'kohort[stats]'"),
        ({"url": "file:///x/clone", "dir_info": {}}, "pip install '.[stats]' in the folder of your clone"),
        (
            {"url": "file:///x/clone", "dir_info": {"editable": True}},
            "pip install -e '.[stats]' in the folder of your clone",
        ),
    ],
    ids=["index", "wheel", "clone", "editable"],
)
def test_an_extra_is_installed_from_where_kohort_came(monkeypatch, noted, command):
    monkeypatch.setattr(extras, "distribution", lambda name: _Installed(noted))
    assert extras.install_command("stats") == command


def test_without_an_installation_the_sources_are_named(monkeypatch):
    def absent(name: str) -> None:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(extras, "distribution", absent)
    assert extras.install_command("pdf") == "pip install '.[pdf]' in the folder of your clone"


def test_every_extra_that_is_named_exists(wheel):
    """Those that errors name, and those that were there once."""
    with zipfile.ZipFile(wheel) as archive:
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        offered = set(re.findall(r"^Provides-Extra: (.+)$", archive.read(metadata).decode(), re.MULTILINE))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    named = set(re.findall(r"(?:missing_package\(\"[^\"]+\", |install_command\()['\"](\w+)", sources))
    assert named == {"pdf", "sign", "sklearn", "spark", "stats", "studio"}
    assert named | {"docx", "exact"} <= offered


def test_the_pages_of_the_studio_are_in_the_wheel(wheel):
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    studio = ROOT / "src" / "kohort" / "studio"
    pages = [path for path in studio.rglob("*") if path.suffix in (".html", ".css", ".js", ".svg", ".yaml")]
    assert len(pages) > 20
    assert {path.relative_to(ROOT / "src").as_posix() for path in pages} <= packed
