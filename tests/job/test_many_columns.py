"""Tables with very many quasi-identifiers are handled without warnings, or refused in a sentence."""

import json
import sys

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms import Run
from kohort.algorithms.proofs.subset_bound import subset_bound
from kohort.errors import UnsupportedError
from small_problems import problem_of


def wide(n_columns, n=8):
    rng = np.random.default_rng(1)
    return {f"c{j}": rng.integers(0, 9, n).tolist() for j in range(n_columns)}


@pytest.mark.parametrize("n_columns", [1_001, pytest.param(10_000, marks=pytest.mark.long)])
def test_too_many_are_refused_at_once(n_columns):
    table = pa.table(wide(n_columns))
    with pytest.raises(UnsupportedError, match="quasi-identifiers; at most 1,000"):
        ko.anonymize(table, quasi_identifiers=table.column_names, privacy=[ko.KAnonymity(2)])


def test_hundreds_of_columns_have_finite_figures_and_no_warning():
    table = pa.table(wide(700))
    release = ko.anonymize(
        table, quasi_identifiers=table.column_names, privacy=[ko.KAnonymity(8)], algorithm="mondrian"
    )
    assert release.loss["ambiguity"] == sys.float_info.max
    json.dumps(release.facts(), allow_nan=False)


def test_a_bound_over_sets_of_columns_is_not_for_many_columns():
    assert subset_bound(problem_of(wide(900), dict.fromkeys(wide(900)), 2), Run()) is None


def test_refused_columns_do_not_matter_in_other_roles():
    columns = wide(1_200)
    release = ko.anonymize(
        pa.table(columns),
        quasi_identifiers=["c0"],
        insensitive=[name for name in columns if name != "c0"],
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
    )
    assert release.verdict.holds
