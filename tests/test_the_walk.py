"""A plain run takes the walk that the docs describe, hop by hop, and visits few files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kohort as ko
from kohort.io.tables import write_table

DOCS = Path(__file__).parent.parent / "docs"
MOST_FILES, MOST_MODULES = 125, 210
SPEC = """
attributes:
  sex: {role: quasi-identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  postcode: {role: quasi-identifier, hierarchy: {mask: right}}
  diagnosis: {role: sensitive}
privacy: {k: 5}
"""
FOLLOWED = """
import json, os, sys, threading
import kohort

ROOT = os.path.dirname(kohort.__file__) + os.sep
first = {}

def imports(frame):
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(ROOT):
            return True
        frame = frame.f_back
    return False

def follow(frame, event, _):
    code = frame.f_code
    if event == "call" and code.co_filename.startswith(ROOT):
        hop = code.co_filename[len(ROOT):].replace(os.sep, "/"), code.co_name
        if hop not in first and not imports(frame):
            first[hop] = len(first)

threading.setprofile(follow)
sys.setprofile(follow)
from kohort.cli.app import main
try:
    main()
finally:
    sys.setprofile(None)
    modules = [name for name in sys.modules if name.split(".")[0] == "kohort"]
    with open("followed.json", "w") as out:
        json.dump({"calls": list(first), "modules": modules}, out)
"""


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """The functions that a plain run calls, each where it is called first, and the modules that it loads."""
    folder = tmp_path_factory.mktemp("walk")
    table = ko.datasets.generate_hospital(500, seed=1).select(["sex", "age", "postcode", "diagnosis"])
    write_table(table, folder / "people.csv")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    words = ["people.csv", "--spec", "spec.yaml", "--out", "release.csv", "--algorithm", "mondrian"]
    done = subprocess.run(
        [sys.executable, "-c", FOLLOWED, "anonymize", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "release.csv").exists()
    return json.loads((folder / "followed.json").read_text(encoding="utf-8"))


def test_a_run_takes_the_hops_of_the_walk_in_their_order(followed):
    page = (DOCS / "how-it-works.md").read_text(encoding="utf-8")
    walk = page.split("## A walk through")[1].split("\n## ")[0]
    hops = re.findall(r"^\| \d+ \| `(\S+)` \| `(\w+)` \|", walk, flags=re.MULTILINE)
    calls = [tuple(call) for call in followed["calls"]]
    assert [hop for hop in hops if hop not in calls] == []
    assert sorted(hops, key=calls.index) == hops


def test_a_run_visits_few_files(followed):
    """Whoever follows a plain run from file to file, without the algorithm's own, reads about a hundred."""
    assert len({file for file, _ in followed["calls"]}) <= MOST_FILES
    assert len(followed["modules"]) <= MOST_MODULES
