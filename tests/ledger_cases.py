"""Small tables of people who come, change and leave, and releases of them that are tied by a ledger."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from hypothesis import strategies as st

import kohort as ko
from by_definition.together import Shown
from kohort.data.ledger import Ledger
from kohort.problem.roles import Roles
from kohort.release.job import release_of
from kohort.release.release import Release
from kohort.statement import Statement
from kohort.tables.memory import MemoryTable
from kohort.tables.source import Source

KEY = b"the steward's own secret"
ROLES = Roles({"who": "person", "age": "quasi-identifier", "ill": "sensitive"})
Table = Mapping[str, tuple[int, str]]  # age and illness of everybody in the table


def arrow(table: Table) -> pa.Table:
    return pa.table(
        {
            "who": list(table),
            "age": [age for age, _ in table.values()],
            "ill": [ill for _, ill in table.values()],
        }
    )


@dataclass
class Published:
    """Releases made one after the other; a table that cannot be released is left out."""

    models: Sequence
    again: str = "history-keeping"
    algorithm: str = "mondrian"
    suppression: float = 0.9
    compared: bool = False
    counterfeits: int = 0
    ledger: Ledger = field(default_factory=lambda: Ledger("who"))
    tables: list[Table] = field(default_factory=list)
    releases: list[Release] = field(default_factory=list)

    def publish(self, table: Table) -> Release | None:
        """The next release, or None where it is impossible."""
        try:
            release = self.made(table)
        except ko.InfeasibleError:
            return None
        self.ledger = release.tied.ledger
        self.tables.append(table)
        self.releases.append(release)
        return release

    def made(self, table: Table) -> Release:
        """The next release, which does not become a part of the ledger."""
        request = Statement.of(
            columns=ROLES,
            promises=tuple(self.models),
            key=KEY,
            ledger=self.ledger,
            again=self.again,
            algorithm=self.algorithm,
            suppression=self.suppression,
            counterfeits=self.counterfeits,
        )
        return release_of([Source.of(arrow(table))], request, compared=self.compared)

    def seen(self) -> list[dict[int, Shown]]:
        """What the releases show of each place."""
        found = []
        for number, release in enumerate(self.releases):
            entry = self.ledger.entries[number]
            shown, table = release.arrow.to_pylist(), list(self.tables[number])
            place_of = {self.name(person): place for person, place in zip(entry.person, entry.place)}
            rows = release.original_rows.tolist()
            found.append(
                {
                    int(place_of[table[row]]): Shown(ages(record["age"]), record["ill"])
                    for row, record in zip(rows, shown)
                }
            )
        return found

    def name(self, person: int) -> str:
        """Who a person of the ledger is."""
        from kohort.job.tie import hashed_people, positions

        everybody = sorted({who for table in self.tables for who in table})
        known = hashed_people(MemoryTable(pa.table({"who": everybody})), "who", KEY)
        [number] = positions(self.ledger.people[[person]], known)
        return everybody[number]

    def holders(self) -> list[dict[str, int]]:
        """Per release the place of everybody who is published."""
        return [
            {self.name(person): int(place) for person, place in zip(entry.person, entry.place)}
            for entry in self.ledger.entries
        ]


def ages(label: str | int) -> tuple[int, int]:
    """The least and the greatest age that a label covers."""
    if str(label) == "*":
        return 0, 99
    numbers = [int(text) for text in re.findall(r"\d+", str(label))]
    return numbers[0], numbers[-1]


@st.composite
def sequences(draw, people=6, releases=5, changing=True):
    """Up to five tables of up to six people who come, leave, come back and change."""
    names = [f"p{number}" for number in range(people)]
    ills = {name: draw(st.sampled_from(["flu", "cold", "gout"])) for name in names}
    found = []
    for _ in range(draw(st.integers(2, releases))):
        there = draw(st.lists(st.sampled_from(names), min_size=2, max_size=people, unique=True))
        table = {}
        for name in there:
            if changing and draw(st.integers(0, 5)) == 0:
                ills[name] = draw(st.sampled_from(["flu", "cold", "gout"]))
            table[name] = (draw(st.integers(20, 25)), ills[name])
        found.append(table)
    return found


@st.composite
def turnovers(draw, releases=4):
    """A few tables of about six people: in each, some have left, others have come, values mostly last."""
    ills = st.sampled_from(["flu", "cold"])
    number, there, found = 0, {}, []
    for _ in range(draw(st.integers(2, releases))):
        leaving = draw(st.lists(st.sampled_from(sorted(there)), max_size=2, unique=True)) if there else []
        there = {who: ill for who, ill in there.items() if who not in leaving}
        for _ in range(draw(st.integers(1, 3)) if there else 5):
            there[f"p{number}"] = draw(ills)
            number += 1
        found.append({who: (draw(st.integers(20, 23)), ill) for who, ill in there.items()})
    return found


@st.composite
def leaving(draw, releases=4):
    """Tables of at first six or eight people, half of whom have each of two illnesses, and of four others who
    stay; then many leave."""
    pairs = draw(st.integers(3, 4))
    others = {f"other{number}": (30 + number, ("gout", "rash")[number % 2]) for number in range(4)}
    there = {f"{ill}{number}": ill for ill in ("flu", "cold") for number in range(pairs)}
    found, number = [], 0
    for release in range(draw(st.integers(2, releases))):
        if release:
            most = min(pairs, len(there) - 1)
            gone = draw(st.lists(st.sampled_from(sorted(there)), max_size=most, unique=True))
            there = {who: ill for who, ill in there.items() if who not in gone}
            for _ in range(draw(st.integers(0, 2))):
                there[f"new{number}"] = draw(st.sampled_from(["flu", "cold", "gout"]))
                number += 1
        found.append(others | {who: (draw(st.integers(20, 23)), ill) for who, ill in there.items()})
    return found
