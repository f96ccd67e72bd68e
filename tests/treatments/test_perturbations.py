"""Columns that are not generalized: noise, rank swapping, PRAM, limits, rounding, and samples of records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import yaml

import kohort as ko

N = 2000
RNG = np.random.default_rng(3)
TABLE = pa.table(
    {
        "age": RNG.integers(20, 70, N),
        "wage": np.round(RNG.lognormal(3, 0.4, N), 1),
        "score": pa.array([None if i % 50 == 0 else int(v) for i, v in enumerate(RNG.integers(0, 100, N))]),
        "illness": RNG.choice(["flu", "cold", "gout"], N, p=[0.6, 0.3, 0.1]),
    }
)
KEY = b"a secret of sixteen bytes"
MATRIX = {
    "flu": {"flu": 0.9, "cold": 0.1},
    "cold": {"flu": "1/3", "cold": "2/3"},
    "gout": {"gout": 1},
}


def release_of(sensitive=(), insensitive=(), **more):
    named = {*sensitive, *insensitive}
    rest = [name for name in ("wage", "score", "illness") if name not in named]
    kept = dict(insensitive) if insensitive else {}
    return ko.anonymize(
        TABLE,
        quasi_identifiers={"age": ko.intervals(10, 30)},
        sensitive=sensitive,
        insensitive=kept | dict.fromkeys(rest, "keep"),
        **{"k": 5, "algorithm": "mondrian", "shuffle": False} | more,
    )


def numbers(table, name):
    return np.array(table[name].to_pylist(), dtype=float)


def test_noise_has_the_variance_that_is_stated_and_keeps_what_is_missing():
    release = release_of({"wage": ko.Noise(0.2), "score": ko.Noise(0.1)})
    noise = numbers(release.table, "wage") - numbers(TABLE, "wage")
    assert noise.std() == pytest.approx(0.2 * numbers(TABLE, "wage").std(), rel=0.15)
    assert abs(noise.mean()) < 0.2
    before, after = numbers(TABLE, "score"), numbers(release.table, "score")
    assert (np.isnan(before) == np.isnan(after)).all()
    assert pa.types.is_integer(release.table["score"].type)
    assert any("0.2 times that of the column" in note and "variance" in note for note in release.notes)
    assert any("This is no promise" in note for note in release.notes)


def test_a_key_and_a_seed_give_the_same_noise_and_nothing_else_does():
    asked = {"wage": ko.Noise(0.2)}
    first, again = (release_of(asked, key=KEY).table["wage"] for _ in range(2))
    assert first.equals(again)
    assert not first.equals(release_of(asked, key=KEY, seed=1).table["wage"])
    assert not first.equals(release_of(asked, key=KEY + b"2").table["wage"])
    without = [release_of(asked).table["wage"] for _ in range(2)]
    assert not without[0].equals(without[1])


@pytest.mark.parametrize("within", [0.01, 0.2, 1])
def test_rank_swapping_keeps_the_values_and_stays_within_its_ranks(within):
    release = release_of({"wage": ko.RankSwap(within)})
    before, after = numbers(TABLE, "wage"), numbers(release.table, "wage")
    assert sorted(before) == sorted(after)
    assert (before != after).mean() > 0.5
    ordered = np.sort(before)
    lowest, highest = np.searchsorted(ordered, before), np.searchsorted(ordered, before, "right") - 1
    first, last = np.searchsorted(ordered, after), np.searchsorted(ordered, after, "right") - 1
    assert (np.maximum(first - highest, lowest - last) <= within * N).all()


def test_invariant_pram_keeps_frequencies_and_a_matrix_is_followed():
    kept = release_of({"illness": ko.Pram(0.5)}).table["illness"].to_pylist()
    changed = np.mean([a != b for a, b in zip(kept, TABLE["illness"].to_pylist())])
    assert changed == pytest.approx(0.5 * (1 - 0.6**2 - 0.3**2 - 0.1**2), abs=0.06)
    assert kept.count("flu") / N == pytest.approx(TABLE["illness"].to_pylist().count("flu") / N, abs=0.06)
    drawn = release_of({"illness": ko.Pram(MATRIX)}).table["illness"].to_pylist()
    pairs = list(zip(TABLE["illness"].to_pylist(), drawn))
    assert {after for before, after in pairs if before == "gout"} == {"gout"}
    colds = [after for before, after in pairs if before == "cold"]
    assert colds.count("flu") / len(colds) == pytest.approx(1 / 3, abs=0.12)


def test_limits_and_rounding_are_exact():
    release = release_of(insensitive={"wage": ko.Limits(12, 40), "score": ko.Rounding(5)})
    assert numbers(release.table, "wage").tolist() == np.clip(numbers(TABLE, "wage"), 12, 40).tolist()
    after, before = numbers(release.table, "score"), numbers(TABLE, "score")
    there = ~np.isnan(before)
    assert (after[there] % 5 == 0).all()
    assert (np.abs(after - before)[there] <= 2.5).all()


def test_promises_are_about_what_is_published():
    release = release_of({"illness": ko.Pram(0.3)}, privacy=[ko.LDiversity("illness", 1.4)])
    shown = release.table
    for look in set(shown["age"].to_pylist()):
        here = [i for a, i in zip(shown["age"].to_pylist(), shown["illness"].to_pylist()) if a == look]
        assert len(here) / max(here.count(v) for v in set(here)) >= 1.4


def test_a_sample_is_as_large_as_asked_and_keeps_its_promises():
    release = release_of(sample=0.25, key=KEY)
    assert release.table.num_rows == 500
    assert release.verdict.holds
    assert release.verdict.withheld == 0
    assert any("500 records, 0.25 of all, were drawn at random" in note for note in release.notes)
    assert release.table.equals(release_of(sample=0.25, key=KEY).table)
    assert not release.table.equals(release_of(sample=0.25).table)


SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 30]}},
        "wage": {"role": "sensitive", "treatment": {"noise": 0.2}},
        "score": {"role": "insensitive", "treatment": {"round": 5}},
        "illness": {"role": "sensitive", "treatment": {"pram": 0.8}},
    },
    "privacy": {"k": 5},
    "algorithm": "mondrian",
    "shuffle": False,
}


def spec_file(tmp_path, **treatments):
    spec = yaml.safe_load(yaml.safe_dump(SPEC))
    for name, how in treatments.items():
        spec["attributes"][name]["treatment"] = how
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(spec))
    return path


def test_the_spec_says_it_and_verify_checks_what_can_be_checked(tmp_path):
    path = spec_file(tmp_path)
    release = ko.anonymize(TABLE, spec=path)
    assert ko.verify(release.table, spec=path).holds
    found = ko.verify(release.table, spec=path, original=TABLE)
    assert found.holds
    assert sum("treated" in check.name for check in found.checks) == 3


@pytest.mark.parametrize(
    "treatments, wrong, says",
    [
        ({"score": {"round": 5}}, ("score", lambda v: None if v is None else v + 1), "no multiples"),
        ({"score": {"round": 5}}, ("score", lambda v: None if v is None else v + 10), "not the nearest"),
        (
            {"score": {"limits": [10, 90]}},
            ("score", lambda v: None if v is None else 91),
            "beyond the limits",
        ),
        ({"score": {"limits": [10, 90]}}, ("score", lambda v: None if v is None else 50), "were changed"),
        ({"wage": {"noise": 0.2}}, ("wage", lambda v: v + 5), "its mean is farther"),
        ({"wage": {"noise": 0.2}}, ("wage", lambda v: v), None),
        ({"wage": {"swap": 0.02}}, ("wage", lambda v: v + 0.1), "not those of the original"),
        ({"illness": {"pram": 0.8}}, ("illness", lambda v: "flu"), "more or less often"),
    ],
)
def test_what_was_not_done_so_is_seen(tmp_path, treatments, wrong, says):
    path = spec_file(tmp_path, **treatments)
    table = ko.anonymize(TABLE, spec=path).table
    name, change = wrong
    place = table.column_names.index(name)
    forged = table.set_column(place, name, pa.array([change(v) for v in table[name].to_pylist()]))
    found = ko.verify(forged, spec=path, original=TABLE)
    treated = [check for check in found.checks if check.name == f"column {name!r} treated"]
    assert found.holds is (says is None)
    if says is not None:
        assert says in treated[0].detail


def test_values_that_moved_too_far_and_noise_that_is_none_are_seen(tmp_path):
    path = spec_file(tmp_path, wage={"swap": 0.02})
    table = ko.anonymize(TABLE, spec=path).table
    far = pa.array(sorted(table["wage"].to_pylist()))
    found = ko.verify(table.set_column(1, "wage", far), spec=path, original=TABLE)
    assert any("more ranks than allowed" in check.detail for check in found.checks)
    path = spec_file(tmp_path)
    table = ko.anonymize(TABLE, spec=path).table
    found = ko.verify(table.set_column(1, "wage", TABLE["wage"]), spec=path, original=TABLE)
    assert any("times the variance that was stated" in check.detail for check in found.checks)


def test_a_sample_that_is_too_large_is_seen(tmp_path):
    path = tmp_path / "spec.yaml"
    plain = {name: {"role": part["role"]} for name, part in SPEC["attributes"].items()}
    plain["age"] = SPEC["attributes"]["age"]
    path.write_text(yaml.safe_dump(SPEC | {"attributes": plain, "sample": 0.5}))
    release = ko.anonymize(TABLE, spec=path)
    assert ko.verify(release.table, spec=path, original=TABLE).holds
    path.write_text(yaml.safe_dump(SPEC | {"attributes": plain, "sample": 0.4}))
    found = ko.verify(release.table, spec=path, original=TABLE)
    assert any(check.name == "sample" and check.holds is False for check in found.checks)


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: ko.Noise(-0.1), "'size' parameter of Noise must be a number > 0"),
        (lambda: ko.Noise(0), "'size' parameter of Noise must be a number > 0"),
        (lambda: ko.RankSwap(2), "'within' parameter of RankSwap"),
        (lambda: ko.Pram(1.5), "'matrix' parameter of Pram"),
        (lambda: ko.Pram({"a": {"a": 0.5, "b": 0.4}}), r"Row 1 of the PRAM matrix adds up to 0\.9, not to 1"),
        (lambda: ko.Pram({"a": {"a": 1.5, "b": -0.5}}), "made of chances from 0 to 1"),
        (lambda: ko.Pram({"a": 3}), "Every row of a PRAM matrix is a mapping"),
        (lambda: ko.Limits(None, None), "need a bottom, a top, or both"),
        (lambda: ko.Limits(9, 1), "must not be above their top"),
        (lambda: ko.Rounding(0), "'to' parameter of Rounding"),
        (lambda: release_of({"illness": ko.Noise(0.1)}), "noise of 'illness' is for numbers"),
        (lambda: release_of({"illness": ko.Pram({"flu": {"flu": 1}})}), "no row for 2 of its values"),
        (lambda: release_of({"wage": "noise"}), "needs its size"),
        (lambda: release_of({"wage": {"nois": 1}}), "Did you mean 'noise'"),
        (lambda: release_of({"wage": {"limits": 3}}), "a bottom and a top"),
        (lambda: release_of(sample=0), "'sample' must be a number above 0"),
        (lambda: release_of(sample=0.0001), "is empty"),
    ],
)
def test_bad_input_is_refused(make, says):
    with pytest.raises(ko.InputError, match=says):
        make()


def test_a_quasi_identifier_takes_no_treatment():
    spec = {
        **SPEC,
        "attributes": {**SPEC["attributes"], "age": {"role": "quasi-identifier", "treatment": {"noise": 1}}},
    }
    with pytest.raises(
        ko.InputError, match="A treatment is given for 'age', which has the role quasi-identifier"
    ):
        ko.anonymize(TABLE, spec=spec)


@pytest.mark.parametrize(
    "how",
    [ko.Noise(0.1), ko.RankSwap("1/3"), ko.Pram(0.5), ko.Pram(MATRIX), ko.Limits(None, 5), ko.Rounding(2)],
)
def test_a_perturbation_survives_the_spec(how):
    from kohort.treatments import perturbation_of

    assert perturbation_of(how.to_spec(), "x") == how


def test_pram_keeps_what_is_missing():
    holes = TABLE.set_column(
        TABLE.schema.get_field_index("illness"),
        "illness",
        pa.array([None if row % 3 else text for row, text in enumerate(TABLE["illness"].to_pylist())]),
    )
    made = ko.anonymize(
        holes,
        quasi_identifiers={"age": ko.intervals(10, 30)},
        insensitive={"illness": ko.Pram(0.2), "wage": "keep", "score": "keep"},
        k=5,
        algorithm="mondrian",
        shuffle=False,
    )
    before, after = holes["illness"].to_pylist(), made.table["illness"].to_pylist()
    assert [text is None for text in before] == [text is None for text in after]
    assert before != after
