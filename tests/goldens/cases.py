"""The cases of the golden releases: place x promise x unit x layout x treatment x ledger, in small tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CASES", "Case"]

SEXES, WARDS = ("f", "m"), ("east", "north", "south")
ILLS = ("flu", "cold", "cough", "ache", "burn")
ITEMS = ("a1", "a2", "b1", "b2", "c1")
TREE = {"*": {"a": ["a1", "a2"], "b": ["b1", "b2"], "c": ["c1"]}}
N = 48

Row = dict[str, Any]
Spec = dict[str, Any]


def patients(year: int = 0) -> list[Row]:
    """48 records of 20 people in 10 homes, by a rule: no library of random numbers is asked.

    In each later year six people have come and six have left.
    """
    found = []
    for i in range(6 * year, 6 * year + N):
        draw = (i * 7919 + 12345) % 99991
        person = i % 20
        ill = None if i == 17 else ILLS[(draw // 13) % 5]
        found.append(
            {
                "name": f"Person {i}",
                "person": f"p{person:02d}",
                "home": f"h{person // 2}",
                "visit": i // 20 % 3,
                "weight": 1 + draw % 4,
                "sex": SEXES[person * 3 // 4 % 2],
                "age": 20 + person * 17 % 50,
                "postcode": f"43{draw // 7 % 3}{draw // 3 % 4}",
                "ward": None if i == 5 else WARDS[draw % 3],
                "seen": f"2024-{1 + draw % 12:02d}-{1 + draw % 28:02d}",
                "ill": ill,
                "wage": 1000 + 37 * (draw % 97),
                "items": " ".join(item for j, item in enumerate(ITEMS) if draw // 2**j % 3),
            }
        )
    return found


QUASI: Mapping[str, Spec] = {
    "sex": {"role": "quasi-identifier"},
    "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
    "postcode": {"role": "quasi-identifier", "hierarchy": {"mask": "right"}},
    "ward": {"role": "quasi-identifier"},
}
OTHERS: Mapping[str, Spec] = {
    "ill": {"role": "sensitive", "order": ["cough", *(ill for ill in ILLS if ill != "cough")]},
    "wage": {"role": "insensitive"},
}


@dataclass(frozen=True)
class Case:
    """One release: the columns and the rest of its spec, and the files that it reads and writes.

    attributes  of the spec; columns that they do not name are dropped
    spec        the other keys of the spec
    data, out   the endings of both files
    in_batches  whether the table is read in batches, as large ones are
    baskets     whether the file has nothing but baskets
    tables      the years of the tables, one release each: more than one with a ledger
    """

    name: str
    attributes: Mapping[str, Spec] = field(default_factory=lambda: {**QUASI, **OTHERS})
    spec: Mapping[str, Any] = field(default_factory=dict)
    data: str = "csv"
    out: str = "csv"
    in_batches: bool = False
    baskets: bool = False
    events: bool = False
    tables: tuple[int, ...] = (0,)


def _spec(**privacy: Any) -> Spec:
    of_lattice = {"presence", "uniqueness"} & privacy.keys()
    return {"privacy": {"k": 3, **privacy}, **({"algorithm": "full-domain"} if of_lattice else {})}


PROMISES: Mapping[str, Spec] = {
    "k": {},
    "risk": {"risk": {"limit": 0.3}},
    "risk-average": {"risk": {"limit": 0.25, "of": "average"}},
    "distinct": {"diversity": {"attribute": "ill", "l": 2, "kind": "distinct"}},
    "frequency": {"diversity": {"attribute": "ill", "l": 2}},
    "entropy": {"diversity": {"attribute": "ill", "l": 2, "kind": "entropy"}},
    "recursive": {"diversity": {"attribute": "ill", "l": 2, "kind": "recursive", "c": 3}},
    "alpha": {"alpha": {"attribute": "ill", "alpha": 0.6}},
    "alpha-value": {"alpha": {"attribute": "ill", "values": ["flu"], "alpha": 0.4}},
    "alpha-ceiling": {"alpha": {"attribute": "ill", "values": ["flu"], "alpha": 0.4, "rounding": "ceiling"}},
    "t": {"closeness": {"attribute": "ill", "t": 0.5}},
    "t-ordered": {"closeness": {"attribute": "ill", "t": 0.4, "distance": "ordered"}},
    "delta": {"disclosure": {"attribute": "ill", "delta": 3}},
    "beta": {"likeness": {"attribute": "ill", "beta": 3}},
    "two": {
        "diversity": {"attribute": "ill", "l": 2, "kind": "distinct"},
        "closeness": {"attribute": "ill", "t": 0.6},
    },
    "known": {"known": 2},
    "k-map": {"k_map": {"population": "population.csv", "k": 7}},
    "presence": {"presence": {"population": "population.csv", "at_most": 0.6}},
    "uniqueness": {"uniqueness": {"share": 0.3, "sampling_fraction": 0.5}},
}
ALGORITHMS = (
    "k-anon-cf",
    "forest",
    "full-domain",
    "incognito",
    "agglomerative",
    "sequential",
    "hilbert",
    "progressive",
    "top-down",
    "bottom-up",
    "optimal-recoding",
    "three-anonymity",
)
TREATMENTS: Mapping[str, Spec] = {
    "noise": {"wage": {"role": "insensitive", "treatment": {"noise": 0.1}}},
    "swap": {"wage": {"role": "insensitive", "treatment": {"swap": 0.1}}},
    "pram": {"ill": {"role": "sensitive", "treatment": {"pram": 0.8}}},
    "limits": {"wage": {"role": "insensitive", "treatment": {"limits": [1200, 4000]}}},
    "round": {"wage": {"role": "insensitive", "treatment": {"round": 100}}},
    "mean": {"age": {"role": "quasi-identifier", "publish": "mean"}},
    "median": {"age": {"role": "quasi-identifier", "publish": "median"}},
    "pseudonym": {"name": {"role": "identifier", "treatment": "pseudonym"}},
    "mask": {"name": {"role": "identifier", "treatment": "mask"}},
    "weight": {"weight": {"role": "weight"}},
    "weight-kept": {"weight": {"role": "weight", "treatment": "keep"}},
}
UNITS: Mapping[str, tuple[Spec, Spec]] = {
    "people": ({"person": {"role": "person"}}, {}),
    "linked": ({"person": {"role": "person", "treatment": "pseudonym"}}, {"suppression": 0.5}),
    "slots": (
        {"person": {"role": "person", "treatment": "pseudonym"}, "visit": {"role": "insensitive"}},
        {"suppression": 0.5, "history": {"slot": "visit"}},
    ),
    "shifted": (
        {
            "person": {"role": "person", "treatment": "pseudonym"},
            "seen": {"role": "insensitive", "treatment": "shift"},
        },
        {"suppression": 0.5},
    ),
    "households": ({"home": {"role": "household"}, "person": {"role": "person"}}, {}),
}
DATA = ("csv", "tsv", "parquet", "arrow", "jsonl", "xlsx")
OUT = ("csv", "parquet", "arrow", "jsonl", "xlsx", "sqlite", "duckdb")
OPTIONS: Mapping[str, Spec] = {
    "withheld": {"suppression": 0.3, "algorithm": "full-domain"},
    "dropped": {"suppression": 0.3, "suppressed": "drop", "algorithm": "full-domain"},
    "tight": {"labels": "tight"},
    "nulls-star": {"nulls": "star"},
    "ncp": {"cost": "ncp"},
    "entropy": {"cost": "monotone-entropy"},
    "discernibility": {"cost": "discernibility", "algorithm": "full-domain"},
    "weights": {"weights": {"age": 3}},
    "kept-order": {"shuffle": False},
    "seed": {"seed": 7},
    "sample": {"sample": 0.5},
    "schemes": {"scheme": "ops", "algorithm": "optimal-recoding"},
}
ITEM_ALGORITHMS = ("apriori-items", "direct-items", "vertical-items", "local-items", "optimal-items")


def _plain() -> list[Case]:
    """Every promise on one table, then every algorithm, treatment and option with one promise."""
    base = {**QUASI, **OTHERS}
    found = [Case(f"promise-{name}", spec=_spec(**more)) for name, more in PROMISES.items()]
    found += [Case(f"algorithm-{name}", spec={**_spec(), "algorithm": name}) for name in ALGORITHMS]
    found += [
        Case(f"diverse-{name}", spec={**_spec(**PROMISES["frequency"]), "algorithm": name})
        for name in ("k-anon-cf", "forest", "full-domain", "sequential", "hilbert")
    ]
    found += [Case(f"treatment-{name}", {**base, **more}, _spec()) for name, more in TREATMENTS.items()]
    found += [Case(f"option-{name}", spec={**_spec(), **more}) for name, more in OPTIONS.items()]
    return found


def _units() -> list[Case]:
    """Every unit beside promises that count it differently."""
    found = []
    for unit, (attributes, more) in UNITS.items():
        for promise in ("k", "distinct", "frequency", "alpha", "t"):
            of_unit = {**QUASI, **OTHERS, **attributes}
            spec = {**_spec(**PROMISES[promise]), "suppression": 0.9, **more}
            found.append(Case(f"unit-{unit}-{promise}", of_unit, spec))
    return found


def _places() -> list[Case]:
    """Every kind of file as the original and as the release, with a promise and a treatment that vary."""
    pairs = [(source, "csv") for source in DATA] + [("csv", out) for out in OUT] + [("parquet", "parquet")]
    found = []
    for number, (source, out) in enumerate(dict.fromkeys(pairs)):
        promise = list(PROMISES)[number % len(PROMISES)]
        treatment = list(TREATMENTS)[number % 5]  # those that any column's type survives
        of_case = {**QUASI, **OTHERS, **TREATMENTS[treatment]}
        name = f"place-{source}-{out}-{promise}-{treatment}"
        found.append(Case(name, of_case, _spec(**PROMISES[promise]), source, out))
    for promise in ("k", "distinct", "t"):
        found.append(Case(f"batches-{promise}", spec=_spec(**PROMISES[promise]), in_batches=True))
    return found


def _items() -> list[Case]:
    """Baskets alone, baskets beside other columns, and people with events."""
    hierarchy = {"tree": TREE}
    column = {"items": {"role": "items", "separator": " ", "hierarchy": hierarchy}}
    found = [
        Case(
            f"baskets-{name}",
            {},
            {"items": {"hierarchy": hierarchy}, "privacy": {"k": 3, "m": 2}, "algorithm": name},
            "txt",
            "txt",
            baskets=True,
        )
        for name in ITEM_ALGORITHMS
    ]
    found += [
        Case(f"items-{name}", {**QUASI, **OTHERS, **column}, _spec(m=2, **PROMISES[name]))
        for name in ("k", "distinct", "t")
    ]
    events = {"key": "person", "orphans": "drop"}
    of_person = {name: QUASI[name] for name in ("sex", "age")}
    of_event = {"ward": QUASI["ward"], "ill": {"role": "sensitive"}}
    for promise in ("k", "distinct", "frequency"):
        spec = {
            **_spec(**PROMISES[promise]),
            "events": {**events, "attributes": of_event},
            "suppression": 0.9,
        }
        found.append(Case(f"events-{promise}", of_person, spec, events=True))
    return found


def _ledgers() -> list[Case]:
    """Three releases of the same people, one after the other."""
    person = {"name": {"role": "person"}}
    found = []
    for again in ("history-keeping", "m-invariance", "fresh"):
        for promise in ("distinct", "frequency"):
            spec = {**_spec(**PROMISES[promise]), "again": again, "suppression": 0.95}
            name = f"ledger-{again}-{promise}"
            found.append(Case(name, {**QUASI, **OTHERS, **person}, spec, tables=(0, 1, 2)))
    return found


CASES = {case.name: case for case in (*_plain(), *_units(), *_places(), *_items(), *_ledgers())}
