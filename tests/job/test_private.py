"""A pickle never holds the original table."""

import copy
import io
import pickle

import joblib
import pandas as pd
import pyarrow as pa
import pytest

import kohort as ko

TABLE = {
    "age": [730_451, 730_452, 730_461, 730_462],
    "name": [f"SENTINEL{i}" for i in range(4)],
    "illness": ["flu", "cold", "flu", "cough"],
}


def release():
    return ko.anonymize(
        pa.table(TABLE),
        quasi_identifiers={"age": ko.intervals(10)},
        sensitive=["illness"],
        identifiers=["name"],
        privacy=[ko.KAnonymity(2)],
        algorithm="full-domain",
    )


def applied(folder):
    release().maps(folder / "maps.json")
    return ko.apply_maps(folder / "maps.json", pa.table(TABLE))


def fitted():
    pytest.importorskip("sklearn", reason="kohort[sklearn] is not installed")
    from kohort.sklearn import Anonymizer

    return Anonymizer(k=2, algorithm="mondrian").fit(
        pd.DataFrame({"age": TABLE["age"], "illness": [1, 2] * 2})
    )


def with_joblib(thing):
    file = io.BytesIO()
    joblib.dump(thing, file)
    return file.getvalue()


HOLDERS = {"release": lambda folder: release(), "applied": applied, "fitted": lambda folder: fitted()}


@pytest.mark.parametrize("dump", [pickle.dumps, with_joblib], ids=["pickle", "joblib"])
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_holds_the_original_is_not_pickled(holder, dump, tmp_path):
    thing = HOLDERS[holder](tmp_path)
    with pytest.raises(ko.UnsupportedError, match="holds the original table"):
        dump(thing)
    with pytest.raises(ko.UnsupportedError, match="holds the original table"):
        dump({"inside": [thing]})


def test_what_is_published_can_be_pickled():
    made = release()
    dumped = pickle.dumps((made.table, made.arrow, made.facts(), made.verdict))
    assert b"SENTINEL" not in dumped and b"730451" not in dumped
    table, _, facts, verdict = pickle.loads(dumped)
    assert table.equals(made.table) and facts == made.facts() and verdict.holds


def test_an_anonymizer_can_be_pickled_before_it_is_fitted():
    anonymizer = fitted()
    from sklearn.base import clone

    again = pickle.loads(pickle.dumps(clone(anonymizer)))
    assert again.k == 2 and not hasattr(again, "release_")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies_in_memory_work(copied):
    made, anonymizer = copied(release()), copied(fitted())
    assert made.verdict.holds and made.table.equals(release().table)
    assert made.risk()["prosecutor"]["after"]["maximum"] == 0.5
    table = pd.DataFrame({"age": TABLE["age"], "illness": [1, 2] * 2})
    assert anonymizer.transform(table).equals(fitted().transform(table))
