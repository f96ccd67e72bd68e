"""Faults in what happens to a table around the search, each injected into the running product and caught.

A fault is a line of FAULTS: its kind, a name, the request that meets it, what is wrong, and who catches it.
Without the fault the release is made, and verifies. With it nothing is released, or `verify`, which is given
the release and its original, does not hold. Tables of other faults: see COUNTED in test_trust.py.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from cli.running import run
from cli.test_counterfeits_command import LEDGER, folder  # noqa: F401
from cli.test_counterfeits_command import publish as publish_counterfeits
from kohort.algorithms.improve.improve import Improve
from kohort.data.ledger import Ledger
from kohort.errors import InternalError
from kohort.job import order, publish, tie
from kohort.problem.costs import Loss
from kohort.problem.problem import Problem
from kohort.release import job
from kohort.tables.memory import MemoryTable
from kohort.treatments import identifiers
from kohort.treatments.identifiers import Mean, Median

CAUGHT = (
    r"failed its own verification|proof of the lower bound|failed its check together|Broken: |is number 1 of"
)
N = 600
RNG = np.random.default_rng(3)
START = datetime.date(2020, 1, 1)
TABLE = pa.table(
    {
        "name": [f"n{i}" for i in range(N)],
        "person": [f"p{i // 3}" for i in range(N)],
        "age": np.sort(RNG.integers(20, 70, N)),
        "town": RNG.choice(list("abcd"), N),
        "wage": np.round(RNG.lognormal(3, 0.4, N), 1) + np.arange(N) / 10_000,  # nobody's is another's
        "ill": RNG.choice(["flu", "cold", "gout"], N, p=[0.6, 0.3, 0.1]),
        "seen": [START + datetime.timedelta(days=7 * i) for i in range(N)],
    }
)
KEY = b"a secret of sixteen bytes"
MATRIX = {"flu": {"flu": 0.9, "cold": 0.1}, "cold": {"flu": "1/3", "cold": "2/3"}, "gout": {"gout": 1}}
TREE = ko.Hierarchy.from_paths([(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"])
PRICED = pa.table({name: RNG.choice(list("aabbbcde"), 120).tolist() for name in "xyz"})


def ask(columns=("age", "town"), *, table=TABLE, **more):
    """A request for some columns of the table; the age is a quasi-identifier."""
    asked = {"quasi_identifiers": {"age": ko.intervals(10, 30)}, "k": 5, "algorithm": "mondrian"}
    names = list(dict.fromkeys(("age", *columns)))
    return lambda: ko.anonymize(table.select(names), **asked | {"others": "keep", "key": KEY} | more)


SAMPLE = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 30]}},
        "wage": {"role": "insensitive"},
    },
    "privacy": {"k": 5},
    "algorithm": "mondrian",
    "sample": 0.5,
}


def sampled():
    return ko.anonymize(TABLE.select(["age", "wage"]), spec=SAMPLE)


def treated(name, how, **more):
    return ask((name,), insensitive={name: how}, **more)


def linked(**more):
    return ask(("person", "seen"), person={"person": "pseudonym"}, **{"algorithm": "auto", "k": 2} | more)


def means(how):
    return ask(("wage",), quasi_identifiers=["wage", "age"], publish={"wage": how}, algorithm="mdav")


def ask_priced(**more):
    asked = {"quasi_identifiers": dict.fromkeys("xyz", TREE), "k": 3, "algorithm": "improve"}
    return ko.anonymize(PRICED, **asked | more)


def as_given(honest):
    """The values of a column as they came."""
    return lambda column, *_, **__: pa.array([column.texts[code] for code in column.codes])


def returning(change):
    """What an honest function returns, changed."""
    return lambda honest: lambda *given, **more: change(honest(*given, **more))


def proving(change):
    """Evidence for a bound with something wrong in it."""

    def corrupted(found):
        proof, more = change(found.proof)
        return replace(found, proof=proof, bound=found.bound * more)

    return [(Improve, "solve", returning(corrupted))]


def times(prices, bound):
    """Prices and the bound times a number each; no solver speaks for more."""
    return lambda proof: (replace(proof, prices=proof.prices * prices, settled=None), bound)


def first_dearer(proof):
    prices = proof.prices.copy()
    prices[np.argmax(prices)] += 1.0
    return replace(proof, prices=prices), 1.0


def other_records(proof):
    """The prices of the records in another order."""
    return replace(proof, unit_of_record=proof.unit_of_record[::-1]), 1.0


def record_lost(proof):
    return replace(proof, unit_of_record=proof.unit_of_record[1:]), 1.0


def encoded(name):
    return TABLE[name].combine_chunks().dictionary_encode()


def first_twice(drawn):
    """The drawn records with the first of them in the place of the last."""
    rows = [0, *range(drawn.n_records - 1)]
    return MemoryTable(pa.table({name: drawn.arrow(name).take(rows) for name in drawn.names}))


def swapped_pseudonyms(found):
    """The pseudonyms of two people in each other's place, in one record of each."""
    indices = found.indices.to_numpy().copy()
    indices[[0, -1]] = indices[[-1, 0]]
    return pa.DictionaryArray.from_arrays(pa.array(indices), found.dictionary)


def one_for_all(found):
    """The first value of a column in the place of every other."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(found), dtype=np.int32)), found.dictionary)


def with_rows(change):
    """The table with other records of the original, as `change` makes them of those that are published."""
    return returning(lambda published: replace(published, kept=change(published.rows)))


def swapped_values(published):
    """The sensitive values of two records in each other's place."""
    values = published.dataset.arrow("ill").to_pylist()
    other = next(i for i, value in enumerate(values) if value != values[0])
    values[0], values[other] = values[other], values[0]
    return replace(published, columns={**published.columns, "ill": pa.array(values)})


class Fault(NamedTuple):
    """`wrong` has an owner, the name of what is replaced there, and what makes the replacement of it.

    verified  only `verify` can catch it, with the whole original at hand: the release is made
    """

    kind: str
    name: str
    asked: Callable[[], Any]
    wrong: list[tuple[Any, str, Callable[[Any], Any]]]
    verified: bool = False


def not_applied(how, column="wage"):
    wrong = [(type(how), "changed", lambda honest: lambda self, numbers, *_: numbers)]
    return Fault("treatment", f"the treatment {how.name} is not applied", treated(column, how), wrong)


SUPPRESSING = {
    "quasi_identifiers": {"age": ko.intervals(10), "town": ko.flat()},
    "algorithm": "full-domain",
    "k": 24,
    "suppressed": "drop",
}
SUPPRESSED = ask(**SUPPRESSING, suppression=0.1)  # 46 of 600 records are withheld
DIVERSE = ask(("age", "ill"), sensitive=["ill"], privacy=[ko.LDiversity("ill", 1.2)])
FAULTS = [
    # treatments
    Fault("treatment", "a mask is not applied", ask(("name",), identifiers={"name": "mask"}),
          [(identifiers.Mask, "publish", lambda honest: lambda *_: encoded("name"))]),
    Fault("treatment", "pseudonyms are the names", ask(("name",), identifiers={"name": "pseudonym"}),
          [(identifiers, "pseudonyms", as_given)]),
    Fault("treatment", "pseudonyms of linked people are their names", linked(),
          [(identifiers, "pseudonyms", lambda _: lambda it, *_, **__: as_given(it)(it).dictionary_encode())]),
    Fault("treatment", "two people share a pseudonym", linked(),
          [(identifiers, "_digest", lambda honest: lambda text, key: honest(text.replace("p2", "p1"), key))]),
    Fault("treatment", "all people share a pseudonym", linked(),
          [(identifiers, "pseudonyms", returning(one_for_all))]),
    Fault("treatment", "records of two people are exchanged", linked(),
          [(identifiers, "pseudonyms", returning(swapped_pseudonyms))]),
    *map(not_applied, (ko.Noise(0.2), ko.RankSwap(0.1), ko.Limits(12, 40), ko.Rounding(5))),
    Fault("treatment", "noise of twice the size", treated("wage", ko.Noise(0.2)),
          [(ko.Noise, "changed", lambda honest: lambda how, it, *_: it + 2 * (honest(how, it, *_) - it))]),
    Fault("treatment", "noise that moves the mean", treated("wage", ko.Noise(0.2)),
          [(ko.Noise, "changed", returning(lambda found: found + 5))]),
    Fault("treatment", "values swapped too far", treated("wage", ko.RankSwap(0.05)),
          [(ko.RankSwap, "changed", lambda honest: lambda how, *more: honest(ko.RankSwap(1), *more))]),
    Fault("treatment", "limits of the wrong end", treated("wage", ko.Limits(None, 40)),
          [(ko.Limits, "changed", lambda honest: lambda how, numbers, *_: np.maximum(numbers, 12))]),
    Fault("treatment", "values rounded down", treated("wage", ko.Rounding(5)),
          [(ko.Rounding, "changed", lambda honest: lambda how, numbers, *_: numbers // 5 * 5)]),
    *(Fault("treatment", f"pram by {name} is not applied", treated("ill", ko.Pram(matrix)),
            [(ko.Pram, "perturbed", lambda honest: lambda how, *more: as_given(honest)(*more))])
      for name, matrix in (("a number", 0.5), ("a matrix", MATRIX))),
    Fault("treatment", "pram draws one value", treated("ill", ko.Pram(0.5)),
          [(ko.Pram, "perturbed", lambda honest: lambda how, column, *_: pa.array(["flu"] * len(column)))]),
    Fault("treatment", "medians in the place of means", means("mean"),
          [(Mean, "of_runs", lambda honest: Median().of_runs)]),
    Fault("treatment", "means in the place of medians", means("median"),
          [(Median, "of_runs", lambda honest: Mean().of_runs)]),
    Fault("treatment", "means are not applied", means("mean"),
          [(Mean, "publish", lambda honest: lambda *_: encoded("wage"))]),
    Fault("treatment", "dates are not shifted", linked(insensitive={"seen": "shift"}),
          [(identifiers, "shifted", lambda honest: lambda name, values, *_: values)]),
    Fault("treatment", "dates of a person move apart", linked(insensitive={"seen": "shift"}),
          [(identifiers, "days_of_people", returning(lambda days: days + np.arange(len(days)) % 2))]),
    Fault("treatment", "dates move too far", linked(insensitive={"seen": "shift"}, shift_days=20),
          [(identifiers, "days_of_people", returning(lambda days: days * 3))]),
    # identifiers
    Fault("identifiers", "an identifier is published", ask(("name",), identifiers=["name"]),
          [(publish, "replaced_columns", returning(lambda found: {n: c for n, c in found.items() if c}))]),
    Fault("identifiers", "another column is left out", ask(("town",)),
          [(publish, "replaced_columns", returning(lambda found: {**found, "town": None}))]),
    # records
    Fault("records", "a record is lost", ask(), [(job, "publish", with_rows(lambda rows: rows[1:]))]),
    Fault("records", "a record is published twice", ask(),
          [(job, "publish", with_rows(lambda rows: np.append(rows, rows[0])))]),
    Fault("records", "sensitive values of two records are exchanged", DIVERSE,
          [(job, "publish", returning(swapped_values))]),
    Fault("records", "withheld records are published as they were", SUPPRESSED,
          [(publish, "labelled", lambda honest: lambda it, gone, *more: honest(it, gone & False, *more)),
           (job, "publish", with_rows(lambda rows: np.arange(N)))]),
    Fault("records", "a withheld record is counted twice", SUPPRESSED,
          [(job, "publish", with_rows(lambda rows: np.append(rows, rows[-1])))]),
    Fault("records", "more records are withheld than allowed",
          ask(**SUPPRESSING, suppression=0.05),
          [(Problem, "max_withheld", lambda honest: property(lambda problem: problem.n_records // 3))]),
    Fault("records", "one label in the place of all", ask(), [(publish, "labelled", returning(one_for_all))]),
    # order
    Fault("order", "the records keep their order", ask(),
          [(order, "dealt_order", lambda honest: lambda published, seed: published.rows)]),
    Fault("order", "the records are turned round", ask(),
          [(order, "dealt_order", lambda honest: lambda published, seed: published.rows[::-1])]),
    Fault("order", "the records are moved on by nine places", ask(),
          [(order, "dealt_order", lambda honest: lambda published, seed: np.roll(published.rows, 9))]),
    # samples
    Fault("sample", "a larger sample than asked for is drawn", sampled,
          [(job, "sample_of", lambda honest: lambda dataset, request: dataset)], True),
    Fault("sample", "a sample with a record twice", sampled,
          [(job, "sample_of", returning(first_twice))], True),
    # prices
    Fault("bound", "a price is too high", ask_priced, proving(first_dearer)),
    Fault("bound", "all prices are too high", ask_priced, proving(times(1.02, 1.02))),
    Fault("bound", "a price is no number", ask_priced, proving(times(np.nan, 1))),
    Fault("bound", "the bound is above what prices prove", ask_priced, proving(times(1, 1.01))),
    Fault("bound", "prices are those of other records", ask_priced, proving(other_records)),
    Fault("bound", "a price is lost", ask_priced, proving(record_lost)),
]  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_an_injected_fault_is_caught(fault, monkeypatch):
    honest = fault.asked()
    assert honest.verdict.holds
    for owner, name, wrong in fault.wrong:
        monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    if not fault.verified:
        with pytest.raises(InternalError, match=CAUGHT):
            fault.asked()
        return
    original = TABLE.select(honest.arrow.column_names)
    assert ko.verify(honest.arrow, original=original, spec=SAMPLE).holds
    assert not ko.verify(fault.asked().arrow, original=original, spec=SAMPLE).holds


OTHER_PROBLEMS = {
    "costs of cells that are too high": (Loss, "cell", returning(lambda cost: 1.01 * cost)),
    "a k that is too large": (Problem, "k", lambda honest: property(lambda problem: 4)),
}


@pytest.mark.parametrize("name", OTHER_PROBLEMS)
def test_a_bound_on_another_problem_is_caught(monkeypatch, name):
    honest = ask_priced()
    owner, what, wrong = OTHER_PROBLEMS[name]
    monkeypatch.setattr(owner, what, wrong(getattr(owner, what)))
    with suppress(InternalError):
        assert ask_priced().bound <= honest.bound * (1 + 1e-6)


# -- ledgers ---------------------------------------------------------------------------------------------


def verified_again():
    beside = ("--original", "2.csv", "--order-file", "o2.json", "--certificate", "c2.json")
    earlier = ("--earlier", "r1.csv,1.csv,o1.json")
    return run("verify", "r2.csv", "--spec", "spec.yaml", *beside, *LEDGER, *earlier)


def rolled(name):
    """What the ledger remembers of each record is said of the one beside it."""
    return returning(lambda entry: replace(entry, **{name: np.roll(getattr(entry, name), 1)}))


LEDGER_FAULTS = {
    "the ledger is stale: earlier releases are forgotten": (
        Ledger, "extended", lambda honest: lambda self, entry: honest(replace(self, entries=()), entry)),
    "the ledger has people in each other's place": (tie, "entry_of", rolled("person")),
    "the ledger has records in other classes": (tie, "entry_of", rolled("class_of")),
    "the ledger has values of other people": (tie, "entry_of", rolled("value")),
    "a counterfeit too many is counted": (job, "n_counterfeits", returning(lambda number: number + 1)),
    "counterfeits are announced as people": (
        job, "_filled", lambda honest: lambda prepared, recoding: (prepared, recoding)),
}  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_without_a_fault_a_ledger_is_verified():
    assert publish_counterfeits(2).exit == 0
    assert json.loads(Path("c2.json").read_text())["counterfeits"] > 0
    assert verified_again().exit == 0, verified_again().err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", LEDGER_FAULTS)
def test_a_fault_in_a_ledger_is_caught(monkeypatch, name):
    """Nothing is written, or what is written does not hold."""
    owner, what, wrong = LEDGER_FAULTS[name]
    with monkeypatch.context() as faulty:
        faulty.setattr(owner, what, wrong(getattr(owner, what)))
        made = publish_counterfeits(2)
    found = made if made.exit else verified_again()
    assert found.exit and re.search(CAUGHT, found.err), found.err
