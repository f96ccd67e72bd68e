"""Commands load no package that they do not need."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.processes

CODE = """
import sys
sys.argv = ["kohort", "profile", {path!r}, "--quiet"]
from kohort.cli.app import main
try:
    main()
finally:
    print(*[name for name in ("pandas", "numba", "scipy", "sklearn", "altair") if name in sys.modules])
"""


def test_a_command_without_kernels_loads_neither_pandas_nor_numba(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age,town\n" + "".join(f"{20 + i},t{i % 3}\n" for i in range(40)))
    command = [sys.executable, "-c", CODE.format(path=str(path))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_other_packages_still_find_pandas():
    code = "from kohort.cli.quick_start import leave_pandas_out as leave\nleave()\n"
    code += "import pyarrow as pa, sys\npa.scalar(1)\nprint('pandas' in sys.modules)\n"
    code += "import pandas\nprint(pandas.DataFrame({'a': [1]}).shape)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[1] == "(1, 1)"


PLAIN = """
import sys
sys.argv = ["kohort", "anonymize", "people.csv", "--spec", "spec.yaml", "--out", "release.csv", "--quiet"]
from kohort.cli.app import main
try:
    main()
finally:
    print(*[name for name in sys.modules if name.startswith("kohort")])
"""
SPEC = """
attributes: {age: {role: quasi-identifier}, town: {role: quasi-identifier}}
privacy: {k: 5}
algorithm: mondrian
"""
MOST_MODULES = 320  # those that compile loops, at the first run, among them


def test_a_plain_run_loads_what_it_needs(tmp_path):
    (tmp_path / "people.csv").write_text("age,town\n" + "".join(f"{20 + i},t{i % 3}\n" for i in range(40)))
    (tmp_path / "spec.yaml").write_text(SPEC)
    done = subprocess.run(
        [sys.executable, "-c", PLAIN], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    loaded = done.stdout.split()
    others = ("verify", "risk", "dossier", "compare", "ledger", "studio")
    assert not {f"kohort.cli.{name}" for name in others} & set(loaded)
    assert len(loaded) <= MOST_MODULES
