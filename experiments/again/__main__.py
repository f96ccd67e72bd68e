"""Releases of people who come and leave: RAND's five years, and Adult in ten releases of 3,000 newcomers.

    python -m experiments.again

writes docs/figures/again.csv, a row for each release, and again-attacks.csv; it takes some minutes. Compared
are releases that are kept safe together with those that are made afresh, as if there were no earlier ones.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import kohort as ko
from kohort.data.ledger import Ledger
from kohort.io.read_spec import with_files
from kohort.release.job import release_of
from kohort.risk import attack_ledger
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.source import Source

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
TREES = Path(ko.datasets.example_spec("adult")).parent / "hierarchies"
_HEAD = (
    "| data | way | algorithm | loss, first | loss, last | times that alone | withheld at most "
    "| followed: below k / alone | values: below k / certain |"
)
KEY = b"the key of the experiments"
ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
HEALTH = ["site", "age", "sex", "education", "family_size"]
SECONDS = 10.0  # for improve, for each release and for the same one alone
WAYS = ("fresh", "history-keeping", "m-invariance")


def main() -> None:
    """Publish everything in every way, attack the releases, and write the figures down."""
    rows: list[dict[str, Any]] = []
    attacks: list[dict[str, Any]] = []
    insert_only = list(adult_tables(0.0))
    for data, tables, spec in (
        ("RAND, years 1 to 5", health_tables(), health_spec()),
        ("Adult, 5 % leave", list(adult_tables(0.05)), adult_spec()),
        ("Adult, nobody leaves", insert_only, adult_spec()),
    ):
        for way in WAYS:
            rows += attacked(data, tables, spec, way, "mondrian", attacks)
    spec = adult_spec() | {"time_limit": SECONDS}
    rows += attacked("Adult, nobody leaves", insert_only[:8], spec, "history-keeping", "improve", attacks)
    write_rows(FIGURES / "again.csv", rows)
    write_rows(FIGURES / "again-attacks.csv", attacks)


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def attacked(
    data: str, tables: Sequence[pa.Table], spec: dict, way: str, algorithm: str, attacks: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    """The figures of all releases; what an attack on them achieves is added to `attacks`."""
    rows, ledgers = [], []
    for row, ledger in publish(tables, spec, way, algorithm):
        rows.append({"data": data, "way": way, "algorithm": algorithm, **row})
        ledgers.append(ledger)
        print(*(f"{name} {value}" for name, value in rows[-1].items()), sep="; ", flush=True)
    for name, figures in attack_ledger(ledgers[-1])["attacks"].items():
        attacks.append({"data": data, "way": way, "algorithm": algorithm, "attack": name, **figures})
        print(attacks[-1], flush=True)
    return rows


def table() -> str:
    """The figures of both files as the table of docs/again.md."""
    with (FIGURES / "again.csv").open(encoding="utf-8") as file:
        groups: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for row in csv.DictReader(file):
            groups.setdefault((row["data"], row["way"], row["algorithm"]), []).append(row)
    with (FIGURES / "again-attacks.csv").open(encoding="utf-8") as file:
        found = {(r["data"], r["way"], r["algorithm"], r["attack"]): r for r in csv.DictReader(file)}
    lines = [_HEAD, "| " + " | ".join(["---"] * (_HEAD.count("|") - 1)) + " |"]
    for key, rows in groups.items():
        ratios = [float(row["ratio"]) for row in rows if row["ratio"]]
        withheld = max(int(row["withheld"]) / int(row["records"]) for row in rows)
        followed, by_values = found[(*key, "by_following")], found[(*key, "by_values")]
        cells = [
            *key,
            f"{float(rows[0]['loss']):.3f}",
            f"{float(rows[-1]['loss']):.3f}",
            f"{min(ratios):.2f} to {max(ratios):.2f}",
            f"{withheld:.1%}",
            f"{int(followed['below_k']):,} / {int(followed['alone']):,}",
            f"{int(by_values['below_k']):,} / {int(by_values['certain']):,}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def publish(
    tables: Sequence[pa.Table], spec: dict, way: str, algorithm: str
) -> Iterator[tuple[dict[str, Any], Ledger]]:
    """Each release in turn: its figures, and the ledger with it."""
    ledger = Ledger("person")
    for number, table in enumerate(tables, 1):
        read = parse_spec(spec | {"again": way, "algorithm": algorithm})
        request = with_files(read, key=KEY, ledger=ledger)
        release = release_of([Source.of(table)], request, compared=way == "fresh")
        seconds = sum(s for phase, s in release.seconds.items() if phase not in ("alone", "compile"))
        assert release.tied is not None
        ledger, together = release.tied.ledger, release.tied.facts(release.cost)
        people = together["people"]
        yield (
            {
                "release": number,
                "records": table.num_rows,
                "new": people["new"],
                "kept": people["kept"],
                "gone": people["gone"],
                "withheld": people["resting"] + people["waiting"],
                "loss": round(release.loss["loss"], 4),
                "alone": together["alone"] and round(together["alone"], 4),
                "ratio": together["ratio"] and round(together["ratio"], 3),
                "candidates": release.tied.found.candidates,
                "exposed": release.tied.found.exposed,
                "seconds": round(seconds, 2),
            },
            ledger,
        )


def adult_tables(leaving: float) -> Iterator[pa.Table]:
    """Ten tables: 3,000 newcomers come to each, after a share of those who were there has left."""
    everybody = ko.datasets.load_adult("train")
    rng = np.random.default_rng(1994)
    order = rng.permutation(everybody.num_rows)
    there = np.empty(0, dtype=np.int64)
    columns = everybody.select([*ADULT, "occupation"])
    for number in range(10):
        there = there[rng.random(len(there)) >= leaving]
        there = np.concatenate([there, order[3000 * number : 3000 * (number + 1)]])
        yield columns.take(pa.array(there)).append_column("person", pa.array(there))


def adult_spec() -> dict:
    files = {name: TREES / "adult" / f"{name}.csv" for name in ADULT}
    attributes: dict[str, Any] = {
        name: {"role": "quasi-identifier"} | ({"hierarchy": str(file)} if file.exists() else {})
        for name, file in files.items()
    }
    attributes["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    attributes |= {"occupation": {"role": "sensitive"}, "person": {"role": "person"}}
    privacy = {"k": 10, "diversity": {"attribute": "occupation", "l": 3}}
    return {"attributes": attributes, "privacy": privacy, "suppression": 0.2}


def health_tables() -> list[pa.Table]:
    """The people of each year of the study."""
    table = ko.datasets.load_health()
    columns = ["person", "year", *HEALTH, "mental_health"]
    return [
        table.filter(pc.equal(table["year"], year)).select(columns).drop(["year"]) for year in range(1, 6)
    ]


def health_spec() -> dict:
    attributes: dict[str, Any] = {name: {"role": "quasi-identifier"} for name in HEALTH}
    attributes["age"]["hierarchy"] = {"intervals": [5, 10, 20]}
    for name in ("education", "family_size"):
        attributes[name]["hierarchy"] = str(TREES / "health" / f"{name}.csv")
    attributes |= {"mental_health": {"role": "sensitive"}, "person": {"role": "person"}}
    privacy = {"k": 5, "diversity": {"attribute": "mental_health", "l": 2}}
    return {"attributes": attributes, "privacy": privacy, "suppression": 0.99}


if __name__ == "__main__":
    began = time.perf_counter()
    main()
    print(f"{time.perf_counter() - began:.0f} s")
