"""The cache of compiled kernels: never another kernel's code, never that of another source or version."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest

from kohort.algorithms.improve.kernels import slot_ruin
from kohort.kernels import kernel_cache, sorting
from kohort.kernels.kernel_cache import source_digest

pytestmark = pytest.mark.processes

SORTS = """
from kohort.kernels.compiled import kernel
import numpy as np

@kernel
def order(values):
    return np.argsort(values)

@kernel
def ascending(values):
    return np.sort(values)

@kernel
def filler(value):
    return value + 1
"""


def run(folder: Path, code: str) -> str:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), environment.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def cached(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache").rglob("*") if path.is_file())


@pytest.fixture
def folder(tmp_path):
    """A folder with the module `sorts`; its name is not that of a module of ours, its kernels are cached."""
    (tmp_path / "sorts.py").write_text(SORTS)
    return tmp_path


def test_a_process_that_loads_what_two_others_compiled_runs_the_right_code(folder):
    """With numba's own numbers, np.argsort of one and np.sort of the other share the symbols of quicksort."""
    values = "np.array([30, 10, 20])"
    before = "; ".join(f"sorts.filler(np.{kind}(1))" for kind in ("int8", "int16", "int32"))
    run(folder, f"import numpy as np, sorts; {before}; sorts.order({values})")
    run(folder, f"import numpy as np, sorts; sorts.ascending({values})")
    code = f"import numpy as np, sorts; print(sorts.order({values}), sorts.ascending({values}))"
    assert run(folder, code) == "[1 2 0] [10 20 30]"


def test_code_is_loaded_from_the_cache_that_other_users_cannot_touch(folder):
    run(folder, "import sorts; sorts.filler(1)")
    code = "import sorts; sorts.filler(1); print(sum(sorts.filler.entry.stats.cache_hits.values()))"
    assert run(folder, code) == "1"
    (path,) = cached(folder)
    assert path.stat().st_mode & 0o077 == 0
    assert path.parent.stat().st_mode & 0o077 == 0


def test_code_of_changed_source_is_not_loaded(folder):
    assert run(folder, "import sorts; print(sorts.filler(1))") == "2"
    (folder / "sorts.py").write_text(SORTS.replace("value + 1", "value + 9"))
    os.utime(folder / "sorts.py", (1, 1))
    assert run(folder, "import sorts; print(sorts.filler(1))") == "10"


def test_code_that_calls_changed_source_is_not_loaded(folder):
    (folder / "kohort_caller.py").write_text(
        "from kohort.kernels.compiled import kernel\nfrom kohort_called import STEP, step\n\n"
        "@kernel\ndef twice(x):\n    return step(step(x)) + STEP\n"
    )
    called = folder / "kohort_called.py"
    source = "from kohort.kernels.compiled import kernel\nSTEP = {0}\n\n"
    source += "@kernel\ndef step(x):\n    return x + {0}\n"
    called.write_text(source.format(1))
    assert run(folder, "from kohort_caller import twice; print(twice(0))") == "3"
    called.write_text(source.format(10))  # of another length: else Python might not notice within a second
    assert run(folder, "from kohort_caller import twice; print(twice(0))") == "30"


@pytest.mark.parametrize(
    "where, what", [(kernel_cache, "__version__"), (numba, "__version__"), (sys, "version")]
)
def test_code_of_another_version_is_not_found(monkeypatch, where, what):
    before = kernel_cache.source_digest.__wrapped__(sorting.__name__)
    monkeypatch.setattr(where, what, "0.0")
    assert kernel_cache.source_digest.__wrapped__(sorting.__name__) != before


def test_code_for_another_processor_or_other_types_is_not_found():
    cache = kernel_cache.KernelCache(sorting.sorted_copy.py_func)
    here = SimpleNamespace(magic_tuple=lambda: ("linux", "this", "+avx"))
    there = SimpleNamespace(magic_tuple=lambda: ("linux", "another", "+avx"))
    paths = {cache._path(signature, at) for signature in ("(int64)", "(float64)") for at in (here, there)}
    assert len(paths) == 4


def test_damaged_code_is_compiled_again(folder):
    run(folder, "import sorts; sorts.filler(1)")
    (path,) = cached(folder)
    whole = path.read_bytes()
    for damaged in (whole[:-1], whole[:200] + b"x" + whole[201:]):
        path.write_bytes(damaged)
        assert run(folder, "import sorts; print(sorts.filler(1))") == "2"
        assert len(path.read_bytes()) == len(whole)


def test_a_cache_that_cannot_be_written_costs_time_only(folder):
    (folder / "cache").write_text("a file where the folder should be")
    assert run(folder, "import sorts; print(sorts.filler(1))") == "2"


def test_the_digest_covers_what_a_module_imports():
    names = set(kernel_cache._sources(slot_ruin.__name__))
    assert {
        "kohort.algorithms.improve.kernels.slot_ruin",
        "kohort.kernels.sorting",
        "kohort.kernels.compiled",
        "kohort.kernels.entry",
        "kohort.kernels.linking",
    } <= names
    assert source_digest(slot_ruin.__name__) != source_digest(sorting.__name__)


def test_stale_code_is_removed_when_new_source_is_compiled(folder):
    run(folder, "import sorts; sorts.filler(1)")
    (old,) = cached(folder)
    os.utime(old.parent, (1, 1))
    (folder / "sorts.py").write_text(SORTS + "\n# changed\n")
    run(folder, "import sorts; sorts.filler(1)")
    assert not old.exists()
