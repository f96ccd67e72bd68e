"""Releases under promises about a whole table, from the request to the verdict of a stranger."""

from __future__ import annotations

import itertools

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import yaml

import kohort as ko
from by_definition.models import chances_of_presence, people_fitting, records_alike

TOWNS = {"Bern": "BE", "Biel": "BE", "Thun": "BE", "Basel": "BS", "Riehen": "BS"}
PATHS = [(town, canton, "*") for town, canton in TOWNS.items()]
QUASI_IDENTIFIERS = {
    "age": ko.intervals(5, 10, 20),
    "town": ko.Hierarchy.from_paths(PATHS),
    "sex": ko.flat(),
}
NAMES = list(QUASI_IDENTIFIERS)


def everybody(n=240, seed=1):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(20, 60, n),
            "town": rng.choice(list(TOWNS), n),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "cold"], n),
        }
    )


PEOPLE = everybody()
SAMPLE = PEOPLE.take(np.arange(0, 240, 3))


SEARCHING = ("auto", "improve")  # as long as they are let; what they start from is mondrian's


def release_of(*privacy, table=SAMPLE, algorithm="full-domain", **more):
    return ko.anonymize(
        table,
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive=["illness"],
        privacy=privacy,
        algorithm=algorithm,
        shuffle=False,
        **({"time_limit": 1} if algorithm in SEARCHING else {}),
        **more,
    )


def rows_of(table):
    return list(zip(*(table[name].to_pylist() for name in NAMES)))


def covers(column, label, value):
    """Whether a published label covers a value, in the columns of these tests."""
    label, value = str(label), str(value)
    if label in ("*", value):
        return True
    if column == 0 and "," in label:
        low, high = label.strip("[]()").split(", ")
        return int(low) <= int(value) < int(high) + (label[-1] == "]")
    return column == 1 and TOWNS[value] == label


searches = pytest.mark.parametrize("algorithm", ["full-domain", "incognito", "auto"])
by_k = pytest.mark.parametrize(
    "algorithm", ["mondrian", "improve", "sequential", "forest", "optimal-recoding"]
)


@searches
@pytest.mark.parametrize("known", [1, 2])
def test_known_columns(algorithm, known):
    release = release_of(ko.KnownColumns(5, known), algorithm=algorithm)
    least = min(records_alike(rows_of(release.table), known))
    assert least >= 5
    assert release.verdict.models[0].measured == least
    assert release.cost < release_of(ko.KAnonymity(5)).cost  # the promise is weaker, and costs less


@searches
def test_k_map(algorithm):
    release = release_of(ko.KMap(PEOPLE, 5), algorithm=algorithm)
    population = rows_of(PEOPLE)
    fitting = [len(people_fitting(row, population, covers)) for row in rows_of(release.table)]
    assert min(fitting) >= 5
    assert release.verdict.models[0].measured == min(fitting)
    assert release.cost < release_of(ko.KAnonymity(5)).cost


@searches
def test_delta_presence(algorithm):
    release = release_of(ko.DeltaPresence(PEOPLE, 0.1, 0.5), algorithm=algorithm)
    chances = chances_of_presence(rows_of(release.table), rows_of(PEOPLE), covers)
    assert 0.1 <= min(chances) <= max(chances) <= 0.5
    assert release.verdict.models[0].measured == max(chances)


def test_no_cheaper_full_domain_generalization_keeps_them():
    """Against all levels, by definition."""
    for model, keeps in (
        (ko.KnownColumns(4, 2), lambda rows: min(records_alike(rows, 2)) >= 4),
        (
            ko.KMap(PEOPLE, 6),
            lambda rows: min(len(people_fitting(row, rows_of(PEOPLE), covers)) for row in set(rows)) >= 6,
        ),
    ):
        found = release_of(model)
        hierarchies = {a.name: a.domain for a in found.problem.attributes}
        best = min(
            cost
            for levels in itertools.product(*(range(h.height + 1) for h in hierarchies.values()))
            if (cost := cost_at(found.problem, levels, keeps)) is not None
        )
        assert found.cost == pytest.approx(best)


def cost_at(problem, levels, keeps):
    labels, costs = [], []
    for attribute, level in zip(problem.attributes, levels):
        tree = attribute.domain
        of_code = []
        for text in attribute.column.texts:
            node = int(tree.leaf_node[tree.leaf_of[text]])
            while tree.level[node] < level and tree.parent[node] >= 0:
                node = int(tree.parent[node])
            of_code.append(node)
        nodes = [of_code[code] for code in attribute.column.codes]
        labels.append([tree.published[node] for node in nodes])
        width = [(tree.hi[node] - tree.lo[node]) / (len(tree.leaves) - 1) for node in nodes]
        costs.append(sum(width) / len(width))
    return sum(costs) / len(costs) if keeps(list(zip(*labels))) else None


@searches
def test_population_uniqueness(algorithm):
    promise = ko.PopulationUniqueness(0.02, sampling_fraction="1/3")
    release = release_of(promise, algorithm=algorithm)
    assert release.verdict.models[0].measured <= 0.02
    assert release_of(ko.PopulationUniqueness(1, "1/3")).cost == 0  # nothing is asked


def test_two_promises_at_once_with_a_sensitive_column():
    release = release_of(ko.KnownColumns(4, 2), ko.LDiversity("illness", 1.2), ko.KMap(PEOPLE, 8))
    assert [model.holds for model in release.verdict.models] == [True] * 3


@by_k
def test_algorithms_that_cannot_say_which_can(algorithm):
    with pytest.raises(ko.UnsupportedError, match=r"not support delta-presence\. .*full-domain, incognito"):
        release_of(ko.DeltaPresence(PEOPLE, at_most=0.9), algorithm=algorithm)


def start_cost(algorithm):
    """What 5-anonymity costs at most, however little time there is."""
    return release_of(ko.KAnonymity(5), algorithm="mondrian" if algorithm in SEARCHING else algorithm).cost


@by_k
@pytest.mark.parametrize("known", [1, 2])
def test_other_algorithms_keep_known_columns_by_a_search_for_k(algorithm, known):
    release = release_of(ko.KnownColumns(5, known), algorithm=algorithm)
    least = min(records_alike(rows_of(release.table), known))
    assert release.verdict.models[0].measured == least >= 5
    assert release.cost <= start_cost(algorithm)
    assert not release.claims and any("k = " in note for note in release.notes)


@by_k
def test_other_algorithms_keep_k_map_by_a_search_for_k(algorithm):
    release = release_of(ko.KMap(PEOPLE, 5), algorithm=algorithm)
    fitting = [len(people_fitting(row, rows_of(PEOPLE), covers)) for row in rows_of(release.table)]
    assert release.verdict.models[0].measured == min(fitting) >= 5
    assert release.cost <= start_cost(algorithm)


def test_a_smaller_k_is_enough_where_the_population_is_large():
    many = pa.concat_tables([PEOPLE] * 4)
    release = release_of(ko.KMap(many, 4), algorithm="mondrian")
    assert release.cost == 0 and release.verdict.models[0].measured == 4
    some = release_of(ko.KMap(many, 12), algorithm="mondrian")
    assert 1 <= some.verdict.smallest_class < 12 and some.verdict.models[0].measured >= 12


def test_a_k_of_k_map_above_the_table_is_left_to_a_search_over_levels():
    release = release_of(ko.KMap(PEOPLE, 90), algorithm="auto")
    assert release.algorithm == "full-domain" and release.verdict.models[0].measured >= 90


@pytest.mark.parametrize(
    "model, says",
    [
        (ko.KnownColumns(81, 1), "k can be at most 80"),
        (ko.KMap(PEOPLE, 241), "k can be at most 240"),
        (ko.DeltaPresence(PEOPLE, 0, 0.3), "at_most must be at least 0.334"),
        (ko.DeltaPresence(PEOPLE, 0.4, 0.5), "at_least can be at most 0.333"),
    ],
)
def test_what_is_impossible_is_refused_with_what_is(model, says):
    with pytest.raises(ko.InfeasibleError, match=says):
        release_of(model)


def test_a_population_without_the_sample_is_refused():
    with pytest.raises(ko.InputError, match="79 records of the table are not in the population"):
        release_of(ko.KMap(PEOPLE.take(np.array([1])), 1))
    others = PEOPLE.set_column(0, "age", [pa.array([90] * 240)])
    with pytest.raises(ko.InputError, match="not in the population"):
        release_of(ko.KMap(others, 1))
    with pytest.raises(ko.InputError, match="no column 'sex'"):
        release_of(ko.KMap(PEOPLE.drop(["sex"]), 1))


@pytest.mark.parametrize(
    "more, says",
    [
        ({"suppression": 0.1}, "no record may be withheld"),
        ({"labels": "tight"}, "labels: hierarchy"),
        ({"scheme": "ops"}, "scheme"),
    ],
)
def test_what_does_not_go_together_is_refused(more, says):
    with pytest.raises(ko.UnsupportedError, match=says):
        release_of(ko.KnownColumns(2, 1), **more)


SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
        "town": {
            "role": "quasi-identifier",
            "hierarchy": {"groups": {"BE": ["Bern", "Biel", "Thun"], "BS": ["Basel", "Riehen"]}},
        },
        "sex": {"role": "quasi-identifier"},
        "illness": {"role": "sensitive"},
    },
    "algorithm": "full-domain",
}


@pytest.mark.parametrize(
    "privacy, model",
    [
        ({"k": 4, "known": 2}, "known-columns"),
        ({"k_map": {"population": "people.csv", "k": 6}}, "k-map"),
        ({"presence": {"population": "people.csv", "at_least": 0.05, "at_most": 0.6}}, "delta-presence"),
        ({"uniqueness": {"share": 0.05, "sampling_fraction": 0.3}}, "population-uniqueness"),
    ],
)
def test_the_spec_makes_them_and_a_stranger_verifies_them(tmp_path, privacy, model):
    pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump({**SPEC, "privacy": privacy}))
    release = ko.anonymize(SAMPLE, spec=tmp_path / "spec.yaml")
    assert [found.model for found in release.verdict.models] == [model]
    again = ko.verify(release.table, spec=tmp_path / "spec.yaml", original=SAMPLE)
    assert again.holds
    assert [found.measured for found in again.models] == [found.measured for found in release.verdict.models]
    alone = ko.verify(release.table, spec=tmp_path / "spec.yaml")
    assert alone.holds
    raw = ko.verify(SAMPLE, spec=tmp_path / "spec.yaml")
    assert not raw.holds


def test_local_recoding_is_judged_as_well(tmp_path):
    """Labels that overlap: the stranger counts everybody whom a class fits, and knows no chances then."""
    release = ko.anonymize(
        SAMPLE,
        quasi_identifiers=QUASI_IDENTIFIERS,
        sensitive=["illness"],
        k=4,
        algorithm="mondrian",
        shuffle=False,
    )
    population = rows_of(PEOPLE)
    fitting = [len(people_fitting(row, population, covers)) for row in rows_of(release.table)]
    pa.csv.write_csv(PEOPLE, tmp_path / "people.csv")
    asked = {"k_map": {"population": "people.csv", "k": 5}, "presence": {"population": "people.csv"}}
    (tmp_path / "spec.yaml").write_text(yaml.safe_dump({**SPEC, "privacy": asked}))
    mapped, presence = ko.verify(release.table, spec=tmp_path / "spec.yaml").models
    assert mapped.measured == min(fitting)
    assert not presence.holds
