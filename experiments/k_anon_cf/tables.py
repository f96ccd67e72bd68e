"""The three tables of the paper's experiments, with the taxonomies that its section 7 describes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import kohort as ko
from kohort.io.tables import read_table

__all__ = ["ADULT_14", "Table", "adult", "coil", "larger", "nursery"]

COUNTRIES = {
    ("North America", "West"): "United-States Canada Outlying-US(Guam-USVI-etc) Puerto-Rico Mexico",
    ("Central America and Caribbean", "West"): (
        "Cuba Dominican-Republic El-Salvador Guatemala Haiti Honduras Jamaica Nicaragua Trinadad&Tobago"
    ),
    ("South America", "West"): "Columbia Ecuador Peru",
    ("Europe", "East"): (
        "England France Germany Greece Holand-Netherlands Hungary Ireland Italy Poland Portugal Scotland "
        "Yugoslavia"
    ),
    ("Asia", "East"): "Cambodia China Hong India Iran Japan Laos Philippines South Taiwan Thailand Vietnam",
}
GROUPS = {
    "workclass": {
        "Government": ["Federal-gov", "Local-gov", "State-gov"],
        "Private employment": ["Private", "Self-emp-inc", "Self-emp-not-inc"],
        "Not employed": ["Without-pay"],
    },
    "education": {
        "Academic": ["Bachelors", "Masters", "Doctorate"],
        "Some school": [
            "Preschool",
            "1st-4th",
            "5th-6th",
            "7th-8th",
            "9th",
            "10th",
            "11th",
            "12th",
            "HS-grad",
        ],
        "Other education": ["Some-college", "Assoc-acdm", "Assoc-voc", "Prof-school"],
    },
    "marital-status": {
        "Married": ["Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent"],
        "Unmarried": ["Divorced", "Never-married", "Separated", "Widowed"],
    },
    "occupation": {
        "Business": ["Adm-clerical", "Exec-managerial", "Sales"],
        "Technical": ["Craft-repair", "Prof-specialty", "Tech-support"],
        "Protective": ["Armed-Forces", "Protective-serv"],
        "Other": [
            "Farming-fishing",
            "Handlers-cleaners",
            "Machine-op-inspct",
            "Other-service",
            "Priv-house-serv",
            "Transport-moving",
        ],
    },
}
INTERVALS = {
    "age": (5, 10, 20, 40),
    "fnlwgt": (50_000, 100_000, 200_000, 400_000),
    "education-num": (2, 4, 8),
    "capital-gain": (1_000, 5_000, 20_000),
    "capital-loss": (500, 1_000, 2_000),
    "hours-per-week": (5, 10, 20, 40),
}
ADULT_14 = [
    *("sex", "race", "relationship", "marital-status", "workclass", "education", "occupation"),
    *("native-country", "age", "education-num", "hours-per-week", "capital-gain", "capital-loss", "fnlwgt"),
]
"""In the order in which they are mined: those with few values first."""

WITHOUT = {
    14: (),
    11: ("fnlwgt", "capital-gain", "capital-loss"),
    8: ("education-num", "hours-per-week", "native-country"),
    5: ("marital-status", "relationship", "race"),
}
"""What the paper removes, one step after the other."""


@dataclass(frozen=True, eq=False)
class Table:
    """Records with a hierarchy for each quasi-identifier, and one sensitive column."""

    name: str
    records: pa.Table
    hierarchies: dict[str, Any]
    sensitive: str

    def flat(self) -> Table:
        """The same, generalized by suppression only."""
        flat = dict.fromkeys(self.hierarchies, ko.flat())
        return Table(f"{self.name}, flat", self.records, flat, self.sensitive)


@cache
def adult(n_attributes: int = 14) -> Table:
    """Adult, 45,222 records, with 14, 11, 8 or 5 quasi-identifiers."""
    removed = {name for n, names in WITHOUT.items() if n >= n_attributes for name in names}
    names = [name for name in ADULT_14 if name not in removed]
    records = ko.datasets.load_adult().select([*names, "salary-class"])
    return Table(
        f"Adult, {len(names)} attributes", records, {name: _of_adult(name) for name in names}, "salary-class"
    )


def _of_adult(name: str) -> Any:
    if name in INTERVALS:
        return ko.intervals(*INTERVALS[name])
    if name in GROUPS:
        return ko.groups(GROUPS[name])
    if name == "native-country":
        paths = [(c, *above, "*") for above, countries in COUNTRIES.items() for c in countries.split()]
        return ko.Hierarchy.from_paths(paths)
    return ko.flat()


@cache
def nursery(folder: Path) -> Table:
    """Nursery, 12,960 records, 8 quasi-identifiers."""
    records = read_table(folder / "nursery.csv.zst").table
    hierarchies = dict.fromkeys([name for name in records.column_names if name != "class"], ko.flat())
    hierarchies["children"] = ko.groups({"1-2": ["1", "2"], "3-more": ["3", "more"]})
    hierarchies["has_nurs"] = ko.groups(
        {
            "proper": ["proper"],
            "not proper": ["less_proper", "improper"],
            "critical": ["critical", "very_crit"],
        }
    )
    return Table("Nursery", records, hierarchies, "class")


@cache
def coil(folder: Path) -> Table:
    """CoIL 2000, 5,822 records: the first 9 columns, the tenth is sensitive."""
    records = read_table(folder / "coil2000_ticdata.csv.zst").table
    names = records.column_names[:10]
    hierarchies = {name: ko.intervals(3) for name in names[:9]}  # height 3: value, interval, *
    hierarchies[names[0]] = ko.intervals(5, 10)
    hierarchies[names[2]] = hierarchies[names[3]] = ko.flat()
    return Table("CoIL 2000", records.select(names), hierarchies, names[9])


def larger(table: Table, n: int, seed: int = 0) -> Table:
    """So many records drawn from a table; one cell of each, at random, is taken from another record."""
    rng = np.random.default_rng(seed)
    drawn = table.records.take(rng.integers(table.records.num_rows, size=n))
    changed = rng.integers(len(table.hierarchies), size=n)
    for j, name in enumerate(table.hierarchies):
        other = table.records[name].take(rng.integers(table.records.num_rows, size=n)).combine_chunks()
        mixed = pa.array(changed == j)
        column = pc.if_else(mixed, other, drawn[name].combine_chunks())
        drawn = drawn.set_column(drawn.column_names.index(name), name, column)
    return Table(f"{table.name}, {n:,} records", drawn, table.hierarchies, table.sensitive)
