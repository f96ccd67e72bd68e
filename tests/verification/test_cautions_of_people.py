"""Cautions count everybody once, however many of their records are in classes that give a value away."""

import polars as pl

import kohort as ko


def test_somebody_with_records_in_several_classes_counts_once():
    visits = {
        "person": ["a", "b", "a", "b", "c"],
        "year": [1, 1, 2, 2, 2],
        "illness": ["flu", "flu", "cold", "cold", "gout"],
    }
    release = ko.anonymize(
        pl.DataFrame(visits),
        quasi_identifiers={"year": ko.flat()},
        person="person",
        sensitive=["illness"],
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
    )
    (caution,) = [c for c in release.verdict.cautions if c.column == "illness"]
    assert caution.records == 2 and "2 of 3 people are" in caution.what
