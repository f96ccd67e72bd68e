"""The least costs of the six schemes on Adult, known from an independent trial, found by all three searches.

    python -m experiments.schemes.oracles [--data FOLDER] [--out FOLDER] [--limit SECONDS] [--searches ...]

FOLDER holds arx-adult-hierarchies/ (default: the environment variable KOHORT_DATA). Four quasi-identifiers,
records withheld freely. Writes oracles-SEARCH.csv. bottom-up gets harder with k, top-down-search easier: what
comes after the first k of a scheme that a search does not finish is not tried.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import kohort as ko
from experiments.charts import Record, write_csv
from experiments.schemes.__main__ import COLUMNS, HERE, SEARCHES, measured, posed

KS = (2, 3, 5, 10, 20)
ORACLES = {
    "DM": {
        "bhs": (27063324, 28655682, 31249312, 34853295, 38432021),
        "ghs": (26383985, 28427784, 30536428, 32789471, 36804803),
        "gops": (24092718, 24333998, 24988758, 26384170, 28916548),
        "ops": (23994287, 24063262, 24969740, 25862122, 28897542),
        "gsps": (23962457, 24203737, 24703062, 25799156, 27088837),
        "sps": (23829737, 23971160, 24200216, 25165668, 26492036),
    },
    "HDM": {
        "bhs": (120, 240, 470, 973, 1876),
        "ghs": (98.184043, 199.088568, 400.969741, 837.640266, 1490.389344),
        "gops": (51.400786, 78.202616, 127.048060, 202.090516, 376.267019),
        "ops": (42.222651, 69.208325, 121.597172, 186.653329, 370.978076),
        "gsps": (48.801198, 78.202616, 123.476667, 198.560721, 372.427642),
        "sps": (36.878496, 63.474312, 104.921543, 172.900876, 325.446),
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("KOHORT_DATA"), help="folder of larger data")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="where the results go")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds for each search")
    parser.add_argument("--searches", nargs="+", choices=list(SEARCHES), default=list(SEARCHES))
    options = parser.parse_args()
    if options.data is None:
        parser.error("Say where the data is: --data FOLDER, or set KOHORT_DATA.")
    for search in options.searches:
        records = []
        for record in found_by(search, Path(options.data), options.limit):
            print(*record.values(), flush=True)
            records.append(record)
        write_csv(records, options.out / f"oracles-{search}.csv")
        print(summary(search, records), flush=True)


def adult(folder: Path, n_columns: int) -> tuple[pa.Table, dict[str, ko.Hierarchy]]:
    """The train part and the hierarchies that users of ARX have; age begins with ranges of five years."""
    names = list(COLUMNS[:n_columns])
    people = ko.datasets.load_adult(split="train").select(names)
    files = {name: folder / "arx-adult-hierarchies" / f"{name}.csv" for name in names}
    trees = {name: ko.read_hierarchy(file) for name, file in files.items() if name != "age"}
    ages = [line.split(";") for line in files["age"].read_text().split()]
    trees["age"] = ko.Hierarchy.from_paths([path[1:] for path in ages])
    range_of = {path[0]: path[1] for path in ages}
    ranges = pa.array([range_of[str(age)] for age in people["age"].to_pylist()])
    return people.set_column(names.index("age"), "age", ranges), {name: trees[name] for name in names}


def found_by(search: str, folder: Path, limit: float) -> Iterator[Record]:
    """One record per cost, scheme and k, the easiest k first."""
    people, trees = adult(folder, 4)
    for cost, by_scheme in ORACLES.items():
        for scheme, least in by_scheme.items():
            finished = True
            for k in KS if search != "top-down-search" else reversed(KS):
                case = {"search": search, "measure": cost, "scheme": scheme, "k": k}
                oracle = least[KS.index(k)]
                if not finished:
                    yield case | dict.fromkeys(("cost", "bound", "nodes", "seconds", "proven", "agrees"))
                    continue
                found = measured(posed(people, trees, k, cost), SEARCHES[search](scheme=scheme), limit)
                finished = found["proven"]
                agrees = abs(found["cost"] - oracle) < 1e-3 if finished else None
                yield case | found | {"agrees": agrees}


def summary(search: str, records: list[Record]) -> str:
    """Which finished, and whether all of these agree with the oracle, as a table."""
    lines = [f"| {search} | " + " | ".join(SCHEMES_SHOWN) + " |", "| --- " * (len(SCHEMES_SHOWN) + 1) + "|"]
    for cost in ORACLES:
        cells = []
        for scheme in SCHEMES_SHOWN:
            mine = [r for r in records if r["measure"] == cost and r["scheme"] == scheme]
            ks = sorted(r["k"] for r in mine if r["proven"])
            wrong = any(r["agrees"] is False for r in mine)
            cells.append(
                ("all" if len(ks) == len(KS) else ", ".join(map(str, ks)) or "none") + " WRONG" * wrong
            )
        lines.append(f"| {cost}: k proven | " + " | ".join(cells) + " |")
    return "\n".join(lines)


SCHEMES_SHOWN = tuple(ORACLES["DM"])


if __name__ == "__main__":
    main()
