import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import kohort
import kohort.statement

NAMES = [
    "Agglomerative",
    "AlphaDeassociation",
    "AprioriItems",
    "BetaLikeness",
    "BottomUp",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "DirectItems",
    "Events",
    "Forest",
    "FullDomain",
    "Hierarchy",
    "Hilbert",
    "Improve",
    "ImproveItems",
    "Incognito",
    "InfeasibleError",
    "InputError",
    "InternalError",
    "ItemConfidence",
    "Items",
    "KAnon",
    "KAnonCF",
    "KAnonymity",
    "KMap",
    "KmAnonymity",
    "KnownColumns",
    "KohortError",
    "LDiversity",
    "Ledger",
    "Limits",
    "LocalItems",
    "Mdav",
    "MissingPackageError",
    "Mondrian",
    "Noise",
    "Optimal",
    "OptimalItems",
    "OptimalRecoding",
    "Person",
    "PopulationUniqueness",
    "Pram",
    "Progressive",
    "RankSwap",
    "Release",
    "RhoUncertainty",
    "RiskLimit",
    "Rounding",
    "Sequential",
    "TCloseness",
    "ThreeAnonymity",
    "TopDown",
    "TopDownSearch",
    "TwoAnonymity",
    "UnsupportedError",
    "Verdict",
    "VerticalItems",
    "__version__",
    "anonymize",
    "apply_maps",
    "as_numbers",
    "assess_risk",
    "attack_releases",
    "auto",
    "by_frequency",
    "code",
    "column",
    "compare",
    "database",
    "datasets",
    "dates",
    "file",
    "flat",
    "frontier",
    "groups",
    "intervals",
    "mask",
    "measure_utility",
    "mine_closed_records",
    "order",
    "profile",
    "quantiles",
    "read_hierarchy",
    "verify",
]


def test_the_public_names_are_these():
    assert kohort.__all__ == NAMES == sorted(NAMES)
    assert dir(kohort) == NAMES


@pytest.mark.parametrize("package", [kohort, kohort.datasets, kohort.statement])
def test_type_checkers_read_the_same_names(package):
    stub = Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    names = [
        (home, name) for home, name in re.findall(r"^from (\S+) import (\w+) as \2$", stub, re.MULTILINE)
    ]
    assert sorted(name for _, name in names) == package.__all__ and len(names) == len(stub.splitlines())
    for home, name in names:
        assert getattr(import_module(home), name) is getattr(package, name)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_is_there(name):
    assert getattr(kohort, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="anonymise"):
        kohort.anonymise  # noqa: B018


def in_a_fresh_interpreter(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_importing_kohort_imports_nothing_heavy():
    code = "import sys, kohort; print(*sys.modules)"
    modules = in_a_fresh_interpreter(code).split()
    for heavy in ("numba", "polars", "pyarrow", "pandas", "numpy", "pydantic", "narwhals", "typer"):
        assert heavy not in modules


def test_importing_kohort_takes_less_than_half_a_second():
    code = "import time; start = time.perf_counter(); import kohort; print(time.perf_counter() - start)"
    assert min(float(in_a_fresh_interpreter(code)) for _ in range(3)) < 0.5


def test_every_error_is_a_kohort_error():
    for name in ("InputError", "UnsupportedError", "InfeasibleError", "MissingPackageError", "InternalError"):
        assert issubclass(getattr(kohort, name), kohort.KohortError)
    assert issubclass(kohort.InputError, ValueError)
    assert issubclass(kohort.MissingPackageError, ImportError)
