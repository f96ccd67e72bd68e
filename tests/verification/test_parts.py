"""A table verified in parts of whole classes: the verdict and the costs are those of the whole table."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.data.compact_column import counted_column
from kohort.errors import InternalError
from kohort.tables.memory import MemoryTable
from kohort.verification import Check, PartDemands, WholeFound, unite_parts, verify_part

COLUMNS = Check("columns", True, "The columns are those of the spec; no identifier is published.")


@pytest.fixture(scope="module")
def made():
    """A release, its original, and what is demanded of its parts."""
    table = ko.datasets.generate_hospital(4000, seed=1).select(["sex", "age", "occupation", "diagnosis"])
    release = ko.anonymize(
        table,
        quasi_identifiers={"sex": None, "age": None, "occupation": None},
        sensitive=["diagnosis"],
        privacy=[ko.KAnonymity(5), ko.LDiversity("diagnosis", 2), ko.TCloseness("diagnosis", 0.6)],
        algorithm="mondrian",
        shuffle=False,
    )
    counted = {name: _counted(table, name) for name in table.column_names}
    problem = release.problem
    demands = PartDemands(
        attributes=tuple(replace(a, column=counted[a.name]) for a in problem.attributes),
        models=problem.models,
        sensitive={"diagnosis": counted["diagnosis"]},
        hierarchies={},
        orders={},
        person=None,
        allowed=0,
    )
    return release, table, demands


def _counted(table, name):
    found = table.column(name).value_counts()
    return counted_column(name, found.field("values"), found.field("counts").to_numpy())


def _plain(table):
    kinds = [(f.name, pa.string() if pa.types.is_dictionary(f.type) else f.type) for f in table.schema]
    return table.cast(pa.schema(kinds))


def _united(published, table, demands, n_parts, seed=0):
    parts = _parts(published, table, demands, n_parts, seed)
    return unite_parts(parts, demands, WholeFound(["diagnosis"], True, COLUMNS))


def _parts(published, table, demands, n_parts, seed=0):
    """What is found in parts of whole classes, dealt out at random."""
    labels = ["|".join(map(str, row)) for row in zip(*(published.column(n).to_pylist() for n in range(3)))]
    classes, number = np.unique(labels, return_inverse=True)
    part = np.random.default_rng(seed).integers(n_parts, size=len(classes))[number]
    parts = []
    for number in np.unique(part):
        rows = pa.array(np.flatnonzero(part == number))
        shown = MemoryTable(published.take(rows), list(demands.sensitive.values()))
        parts.append(verify_part(shown, MemoryTable(table.take(rows)), demands))
    return parts


@pytest.mark.parametrize("seed", range(8))
def test_parts_give_the_verdict_of_the_whole(made, seed):
    """One part gives the very same figures; 2 to 50 parts, to which chance deals the classes, equal ones."""
    release, table, demands = made
    n_parts = 1 if not seed else int(np.random.default_rng(seed).integers(2, 51))
    found = _united(_plain(release.arrow), table, demands, n_parts, seed)
    expected = release.verdict
    assert found.verdict.holds
    for name in ("records", "withheld", "classes", "smallest_class", "models"):
        assert getattr(found.verdict, name) == getattr(expected, name)
    assert {check.name: check.holds for check in found.verdict.checks} == {
        check.name: check.holds for check in expected.checks
    }
    of_columns = [caution for caution in expected.cautions if caution.kind not in ("exact-extremes", "order")]
    assert list(found.verdict.cautions) == of_columns
    assert found.loss == (pytest.approx(release.loss, rel=1e-12) if seed else release.loss)


def _changed(published, name, record, value):
    values = published.column(name).to_pylist()
    values[record] = value
    place = published.column_names.index(name)
    return published.set_column(place, name, pa.array(values, published.schema.field(name).type))


def test_a_label_that_does_not_cover_its_original_is_found(made):
    release, table, demands = made
    ages = np.array(table.column("age").to_pylist())
    wrong = _changed(_plain(release.arrow), "age", int(np.argmax(ages)), str(ages.min()))
    verdict = _united(wrong, table, demands, 3).verdict
    assert not verdict.holds
    assert any("does not cover" in reason for reason in verdict.reasons())
    assert any("every class has at least 5 records" in reason for reason in verdict.reasons())


def test_a_changed_sensitive_value_is_found(made):
    release, table, demands = made
    published = _plain(release.arrow)
    other = next(
        v for v in published.column("diagnosis").to_pylist() if v != published["diagnosis"][0].as_py()
    )
    verdict = _united(_changed(published, "diagnosis", 0, other), table, demands, 3).verdict
    assert any("was changed" in reason for reason in verdict.reasons())


def test_withheld_records_are_counted_in_one_part(made):
    _, table, demands = made
    star = pa.array(["*"] * len(table))
    published = table.set_column(0, "sex", star).set_column(1, "age", star).set_column(2, "occupation", star)
    found = _united(published, table, replace(demands, allowed=len(table)), 2)
    assert found.verdict.withheld == len(table)
    assert found.loss["discernibility"] == len(table) ** 2


def test_a_hierarchy_that_states_other_leaves_than_it_has_is_found(made, monkeypatch):
    release, table, demands = made
    tree = ko.Hierarchy.from_paths([("flu", "lung", "*"), ("cold", "lung", "*"), ("gout", "*")])
    assert _united(_plain(release.arrow), table, replace(demands, hierarchies={"diagnosis": tree}), 2)
    wrong = replace(tree, hi=tree.hi + 1)
    with pytest.raises(InternalError, match="leaves, levels or labels"):
        _united(_plain(release.arrow), table, replace(demands, hierarchies={"diagnosis": wrong}), 2)
    of_column = replace(demands.attributes[0], domain=wrong)
    parts = replace(demands, attributes=(of_column, *demands.attributes[1:]))
    with pytest.raises(InternalError, match="leaves, levels or labels"):
        unite_parts([], parts, WholeFound([], True, COLUMNS))


def test_people_with_whom_classes_are_compared_are_those_of_the_release(made):
    """Everybody has one record here, so that people by value are records by value."""
    release, table, demands = made
    column = demands.sensitive["diagnosis"]
    overall = np.asarray(column.counts)
    shares = {code: Fraction(int(n), len(table)) for code, n in enumerate(overall) if n}
    published = _plain(release.arrow)

    def failing(people, overall):
        asked = replace(demands, overall={"diagnosis": overall})
        whole = WholeFound(["diagnosis"], True, COLUMNS, people=people)
        found = unite_parts(_parts(published, table, asked, 3), asked, whole)
        return [check.name for check in found.verdict.checks if not check.holds]

    assert failing({"diagnosis": shares}, overall) == []
    assert failing({"diagnosis": shares}, 3 * overall) == []  # in units of any size
    other = overall.copy()
    other[[0, 1]] += [1, -1]
    assert failing({"diagnosis": shares}, other) == ["people by 'diagnosis'"]
    assert failing({}, overall) == ["people by 'diagnosis'"]
    forged = {code: Fraction(int(n), len(table)) for code, n in enumerate(np.roll(overall, 1)) if n}
    assert failing({"diagnosis": forged}, overall) == ["people by 'diagnosis'"]
