"""Small releases of every kind that a report must cope with."""

from functools import cache

import numpy as np
import pyarrow as pa

import kohort as ko
from kohort.report.facts import report_facts
from kohort.report.html import report_page
from kohort.report.public_facts import public_facts

TREE = {"ape": "land", "bee": "air", "cow": "land", "dog": "land", "eel": "sea", "fly": "air"}


def people(n=80, seed=0):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "age": rng.integers(18, 80, n),
            "animal": rng.choice(list(TREE), n),
            "sex": rng.choice(["f", "m"], n),
            "illness": rng.choice(["flu", "cold", "cough"], n, p=[0.7, 0.2, 0.1]),
        }
    )


def tree():
    return ko.Hierarchy.from_paths([(leaf, parent, "*") for leaf, parent in TREE.items()])


def release(table=None, *, k=4, **more):
    asked = {
        "quasi_identifiers": {"age": None, "animal": tree(), "sex": None},
        "sensitive": ["illness"],
        "privacy": [ko.KAnonymity(k)],
        "algorithm": "mondrian",
    }
    return ko.anonymize(people() if table is None else table, **(asked | more))


def everything_starred():
    """One class, and nothing but stars."""
    table = pa.table({"town": ["a", "b", "c"], "illness": ["flu", "cold", "flu"]})
    return ko.anonymize(table, quasi_identifiers=["town"], sensitive=["illness"], privacy=[ko.KAnonymity(3)])


def some_withheld(suppressed="star"):
    table = pa.table(
        {"town": ["a"] * 4 + ["b"] * 4 + ["c"], "age": [1] * 4 + [2] * 4 + [9], "ill": ["x", "y", "z"] * 3}
    )
    return ko.anonymize(
        table,
        quasi_identifiers={"town": ko.flat(), "age": ko.flat()},
        sensitive=["ill"],
        privacy=[ko.KAnonymity(4)],
        suppression=0.2,
        suppressed=suppressed,
        algorithm="forest",
    )


def baskets():
    lists = [["milk", "bread"], ["milk"], ["bread", "beer"], ["beer"], ["milk", "beer"], ["bread"]]
    return ko.anonymize(pa.table({"bought": lists}), items="bought", privacy=ko.KmAnonymity(2, 2))


def baskets_beside_people():
    table = people(40)
    lists = [["milk", "bread"][: 1 + n % 2] + ["beer"] * (n % 3 == 0) for n in range(40)]
    return release(
        table.append_column("bought", pa.array(lists)),
        items="bought",
        privacy=[ko.KAnonymity(4), ko.KmAnonymity(4, 2)],
    )


ODD_NAMES = [
    "<script>alert(1)</script>",
    "a 'quoted' \"name\" & more",
    "возраст 年齢 العمر",
    "x" * 300,
    "{{ facts }}",
]


def odd_names():
    """Names and values that would break a page that does not escape."""
    values = ["<b>bold</b>", "</svg><script>alert(2)</script>", "'\"&", "北京", "{% raw %}", "مرحبا"]
    table = {name: [values[(n + shift) % 6] for n in range(36)] for shift, name in enumerate(ODD_NAMES)}
    return ko.anonymize(
        pa.table(table),
        quasi_identifiers=ODD_NAMES[:4],
        sensitive=ODD_NAMES[4:],
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
    )


def many_columns(n=100):
    rng = np.random.default_rng(1)
    table = {f"column {i}": rng.integers(0, 40, 60) for i in range(n)}
    return ko.anonymize(
        pa.table(table), quasi_identifiers=list(table), privacy=[ko.KAnonymity(5)], algorithm="mondrian"
    )


KINDS = {
    "plain": release,
    "weighted": lambda: release(weights={"age": 3}),
    "no sensitive column": lambda: release(people().drop(["illness"]), sensitive=[]),
    "everything starred": everything_starred,
    "some withheld": some_withheld,
    "some left out": lambda: some_withheld("drop"),
    "shuffled": lambda: release(shuffle=True),
    "tight labels": lambda: release(labels="tight"),
    "baskets": baskets,
    "baskets beside people": baskets_beside_people,
    "odd names": odd_names,
    "many columns": many_columns,
}


@cache
def release_of(kind):
    """A release of this kind, made once for all tests."""
    return KINDS[kind]()


@cache
def facts_of(kind, version="internal"):
    """The facts of its report; not to be changed."""
    if version == "public":
        return public_facts(facts_of(kind))
    return report_facts(release_of(kind))


@cache
def page_of(kind, version="internal"):
    """The text of its report."""
    return report_page(facts_of(kind, version))
