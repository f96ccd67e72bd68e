"""Releases as other tools, or careless people, may have made them, checked by `ko.verify`."""

import pyarrow as pa
import pytest

import kohort as ko
from frames import as_lists
from kohort.errors import InputError

ORIGINAL = {
    "name": ["Ann", "Bob", "Cat", "Dan"],
    "age": [21, 24, 35, 38],
    "town": ["Bern", "Biel", "Basel", "Riehen"],
    "illness": ["flu", "cold", "flu", "cold"],
    "notes": ["a", None, "c", "d"],
}
RELEASE = {
    "age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"],
    "town": ["BE", "BE", "BS", "BS"],
    "illness": ["flu", "cold", "flu", "cold"],
    "notes": ["a", None, "c", "d"],
}
TOWNS = {"BE": ["Bern", "Biel"], "BS": ["Basel", "Riehen"]}
SPEC = {
    "attributes": {
        "name": {"role": "identifier"},
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10]}},
        "town": {"role": "quasi-identifier", "hierarchy": {"groups": TOWNS}},
        "illness": {"role": "sensitive"},
        "notes": {"role": "insensitive"},
    },
    "privacy": {"k": 2, "diversity": {"attribute": "illness", "l": 2}},
}


def verdict_of(native_frame, release=RELEASE, *, original=ORIGINAL, **changes):
    return ko.verify(
        native_frame(release),
        spec={**SPEC, **changes},
        original=None if original is None else native_frame(original),
    )


def changed(table, **columns):
    return {**table, **columns}


def failing(verdict):
    return [check.name for check in verdict.checks if check.holds is False]


def test_a_good_release_holds_with_and_without_its_original(native_frame):
    verdict = verdict_of(native_frame)
    assert verdict.holds
    assert (verdict.records, verdict.classes, verdict.smallest_class) == (4, 2, 2)
    assert verdict_of(native_frame, original=None).holds


def test_a_broken_class_is_found_without_the_original(native_frame):
    release = changed(RELEASE, age=["[20, 30)", "[20, 30)", "[30, 40)", "38"])
    verdict = verdict_of(native_frame, release, original=None)
    assert not verdict.holds
    assert verdict.violations.num_rows == 2
    assert {model.model: model.failing_classes for model in verdict.models} == {
        "k-anonymity": 2,
        "l-diversity": 2,
    }


def test_a_class_without_diversity_is_found(native_frame):
    release = changed(RELEASE, illness=["flu", "flu", "flu", "cold"])
    verdict = verdict_of(native_frame, release, original=None)
    assert [model.holds for model in verdict.models] == [True, False]


def test_a_value_that_does_not_cover_is_found(native_frame):
    release = changed(RELEASE, town=["BS", "BS", "BE", "BE"])
    verdict = verdict_of(native_frame, release)
    assert failing(verdict) == ["coverage of 'town'"]
    assert all(model.holds for model in verdict.models)


def test_a_label_that_nobody_understands_is_found(native_frame):
    release = changed(RELEASE, age=["twenties", "twenties", "thirties", "thirties"])
    verdict = verdict_of(native_frame, release)
    assert failing(verdict) == ["coverage of 'age'"]
    assert "2 published labels are no" in verdict.reasons()[0]
    assert verdict_of(native_frame, release, original=None).holds  # classes need no hierarchy


def test_labels_of_other_tools_are_fine_if_the_hierarchy_has_them(native_frame):
    ages = {"20-29": list(range(20, 30)), "30-39": list(range(30, 40))}
    attributes = {**SPEC["attributes"], "age": {"role": "quasi-identifier", "hierarchy": {"groups": ages}}}
    release = changed(RELEASE, age=["20-29", "20-29", "30-39", "30-39"])
    assert verdict_of(native_frame, release, attributes=attributes).holds


def test_intervals_need_no_hierarchy(native_frame):
    attributes = {**SPEC["attributes"], "age": {"role": "quasi-identifier"}}
    release = changed(RELEASE, age=["[21, 24]", "[21, 24]", "[25, 99)", "[25, 99)"])
    assert verdict_of(native_frame, release, attributes=attributes).holds
    release = changed(RELEASE, age=["[21, 24)", "[21, 24)", "[25, 99)", "[25, 99)"])
    assert failing(verdict_of(native_frame, release, attributes=attributes)) == ["coverage of 'age'"]


def test_a_missing_row_is_found(native_frame):
    short = {name: values[:3] for name, values in RELEASE.items()}
    verdict = verdict_of(native_frame, short, privacy={"k": 1})
    assert failing(verdict) == ["number of records"]
    more = {name: values + values[:1] for name, values in RELEASE.items()}
    assert failing(verdict_of(native_frame, more)) == ["number of records"]


def test_rows_in_another_order_are_found_unless_they_were_shuffled(native_frame):
    turned = {name: values[::-1] for name, values in RELEASE.items()}
    kept = verdict_of(native_frame, turned, shuffle=False)
    assert set(failing(kept)) >= {"coverage of 'age'", "coverage of 'town'"}
    for shuffle in (True, "auto"):
        shuffled = verdict_of(native_frame, turned, shuffle=shuffle)
        assert shuffled.holds
        [check] = [check for check in shuffled.checks if check.name == "records"]
        assert "in another order" in check.detail


def test_records_of_a_shuffled_release_must_fit_different_originals(native_frame):
    """Two of BE and two of BS there are; three of BE do not fit, in no order."""
    turned = {name: values[::-1] for name, values in RELEASE.items() if name != "notes"}
    wrong = changed(turned, town=["BE", "BS", "BE", "BE"], age=["[20, 40)"] * 4)
    attributes = {name: a for name, a in SPEC["attributes"].items() if name != "notes"}
    original = {name: values for name, values in ORIGINAL.items() if name != "notes"}
    asked = {"original": original, "attributes": attributes, "privacy": {"k": 1}}
    for shuffle in (True, "auto"):
        verdict = verdict_of(native_frame, wrong, shuffle=shuffle, **asked)
        assert failing(verdict) == ["records"]
        assert [check.holds for check in verdict.checks if check.name == "values of 'illness'"] == [True]
    assert verdict_of(native_frame, turned, shuffle=True, **asked).holds


def test_labels_that_nobody_understands_are_found_in_another_order(native_frame):
    turned = {name: values[::-1] for name, values in RELEASE.items()}
    wrong = changed(turned, age=["thirties", "thirties", "[20, 30)", "[20, 30)"], notes=["d", "c", None, "A"])
    verdict = verdict_of(native_frame, wrong)
    assert failing(verdict) == ["records", "coverage of 'age'", "values of 'notes'"]
    assert any("1 published label is not a value" in reason for reason in verdict.reasons())


def test_a_changed_column_is_found(native_frame):
    release = changed(RELEASE, notes=["a", None, "c", "D"])
    assert failing(verdict_of(native_frame, release)) == ["column 'notes' conserved"]
    release = changed(RELEASE, illness=["cold", "flu", "flu", "cold"])
    assert failing(verdict_of(native_frame, release)) == ["column 'illness' conserved"]


def test_a_published_identifier_is_found_with_and_without_the_original(native_frame):
    release = changed(RELEASE, name=ORIGINAL["name"])
    assert failing(verdict_of(native_frame, release)) == ["columns"]
    assert failing(verdict_of(native_frame, release, original=None)) == ["columns"]


def test_pseudonyms_may_be_published_where_the_spec_says_so(native_frame):
    attributes = {**SPEC["attributes"], "name": {"role": "identifier", "treatment": "pseudonym"}}
    release = changed(RELEASE, name=["p1", "p2", "p3", "p4"])
    assert verdict_of(native_frame, release, attributes=attributes).holds
    assert verdict_of(native_frame, release, attributes=attributes, original=None).holds
    assert failing(verdict_of(native_frame, RELEASE, attributes=attributes)) == ["columns"]  # it is missing


def test_a_column_that_is_missing_or_new_is_found(native_frame):
    without = {name: values for name, values in RELEASE.items() if name != "notes"}
    assert failing(verdict_of(native_frame, without)) == ["columns"]
    assert failing(verdict_of(native_frame, changed(RELEASE, score=[1, 2, 3, 4]))) == ["columns"]


def test_without_its_quasi_identifiers_there_is_nothing_to_verify(native_frame):
    without = {name: values for name, values in RELEASE.items() if name != "town"}
    with pytest.raises(InputError, match="no column 'town'"):
        verdict_of(native_frame, without)


# -- withheld records ------------------------------------------------------------------------------

STARRED = {
    "age": ["*", "[20, 30)", "[20, 30)", "*"],
    "town": ["*", "BE", "BE", "*"],
    "illness": ["flu", "cold", "flu", "flu"],
}
WITHHELD_ORIGINAL = {
    "age": [61, 24, 21, 38],
    "town": ["Basel", "Biel", "Bern", "Riehen"],
    "illness": ["flu", "cold", "flu", "flu"],
}
WITHHELD_SPEC = {
    "attributes": {name: SPEC["attributes"][name] for name in ("age", "town", "illness")},
    "privacy": SPEC["privacy"],
}


def test_withheld_records_as_stars_are_allowed_up_to_the_limit(native_frame):
    asked = {**WITHHELD_SPEC, "original": WITHHELD_ORIGINAL, "privacy": {"k": 2}}
    enough = verdict_of(native_frame, STARRED, suppression=0.5, **asked)
    assert (enough.holds, enough.withheld, enough.classes) == (True, 2, 1)
    too_many = verdict_of(native_frame, STARRED, suppression=0.4, **asked | {"privacy": {"k": 3}})
    assert "withheld records" in failing(too_many)
    alike = verdict_of(native_frame, STARRED, suppression=0.5, **asked | {"privacy": SPEC["privacy"]})
    assert failing(alike) == ["records withheld as *"]  # both have the flu


def test_withheld_records_that_were_left_out_are_allowed_up_to_the_limit(native_frame):
    dropped = {name: values[1:3] for name, values in STARRED.items()}
    asked = {**WITHHELD_SPEC, "original": WITHHELD_ORIGINAL, "suppressed": "drop"}
    enough = verdict_of(native_frame, dropped, suppression=0.5, **asked)
    assert (enough.holds, enough.withheld, enough.records) == (True, 2, 2)
    assert failing(verdict_of(native_frame, dropped, suppression=0.4, **asked)) == ["withheld records"]
    others = {**dropped, "illness": ["none", "of them"]}
    assert "records" in failing(verdict_of(native_frame, others, suppression=0.5, **asked))


def test_left_out_records_must_be_announced(native_frame):
    dropped = {name: values[1:3] for name, values in STARRED.items()}
    verdict = verdict_of(native_frame, dropped, original=WITHHELD_ORIGINAL, **WITHHELD_SPEC)
    assert "number of records" in failing(verdict)


# -- sensitive columns -----------------------------------------------------------------------------


def test_hierarchical_closeness_needs_every_value_in_its_hierarchy_and_names_none(native_frame):
    attributes = {
        **WITHHELD_SPEC["attributes"],
        "illness": {"role": "sensitive", "hierarchy": {"groups": {"lung": ["flu"], "other": ["broken leg"]}}},
    }
    privacy = {"closeness": {"attribute": "illness", "t": 1, "distance": "hierarchical"}}
    with pytest.raises(InputError, match="column 'illness'") as caught:
        verdict_of(native_frame, STARRED, attributes=attributes, privacy=privacy, original=None)
    assert "cold" not in str(caught.value)


def test_ordered_closeness_follows_the_order_of_the_spec(native_frame):
    release = {"age": ["*"] * 2 + ["1"] * 4, "stage": ["late", "early", "early", "middle", "late", "late"]}
    privacy = {"closeness": {"attribute": "stage", "t": 0.25, "distance": "ordered"}}

    def measured(order):
        attributes = {"age": {"role": "quasi-identifier"}, "stage": {"role": "sensitive", "order": order}}
        spec = {"attributes": attributes, "privacy": privacy}
        return ko.verify(native_frame(release), spec=spec).models[0].measured

    assert measured(["early", "middle", "late"]) != measured(["middle", "late", "early"])
    with pytest.raises(InputError, match="'stage'"):
        measured(["early", "late"])


def test_the_models_are_those_of_the_published_table(native_frame):
    """Diversity is measured on what is published, not on the original."""
    release = changed(RELEASE, illness=["flu", "flu", "flu", "flu"])
    verdict = verdict_of(native_frame, release)
    assert not verdict.models[1].holds
    assert "column 'illness' conserved" in failing(verdict)


def test_a_spec_that_promises_nothing_cannot_be_verified(native_frame):
    with pytest.raises(InputError, match="promises nothing"):
        verdict_of(native_frame, privacy={})


def test_verifying_changes_nothing(native_frame):
    frame = native_frame(RELEASE)
    before = as_lists(frame)
    ko.verify(frame, spec=SPEC)
    assert as_lists(frame) == before


def test_categories_in_two_orders_are_compared_by_name():
    """The release's own order of categories must not hide that a column was changed."""

    def table(values, categories):
        codes = pa.array([categories.index(value) for value in values], pa.int32())
        illness = pa.DictionaryArray.from_arrays(codes, pa.array(categories), ordered=True)
        return pa.table({"age": ["*"] * len(values), "illness": illness})

    spec = {
        "attributes": {"age": {"role": "quasi-identifier"}, "illness": {"role": "sensitive"}},
        "privacy": {"k": 2},
    }
    original = table(["flu", "cold"], ["flu", "cold"]).set_column(0, "age", [[30, 40]])
    same = table(["flu", "cold"], ["cold", "flu"])
    assert ko.verify(same, spec=spec, original=original).holds
    changed = table(["cold", "sick"], ["cold", "sick"])  # the same places in another order
    assert not ko.verify(changed, spec=spec, original=original).holds
