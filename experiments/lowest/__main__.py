"""Loss, bound, gap, seconds and memory: `python -m experiments.lowest --data FOLDER [--only adult ...]`.

`--k 10 25` and `--limits 60` make some of the runs again; what is known of the others stays in the files.

The folder holds arx-adult-hierarchies and nursery, coil2000_ticdata and census_income_kdd as .csv.zst.
Each run has a process of its own, so that its peak memory is its own, and is compiled: what compiling took is
left out of its seconds. Writes a CSV file per table, and a chart of loss against time.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import kohort as ko
from experiments.bounds import best_bound, best_gap
from experiments.charts import Panel, Record, write_csv, write_svg
from experiments.k_anon_cf.tables import coil, nursery
from kohort.io.tables import read_table

TABLES = ["adult", "adult-tight", "adult-sensitive", "adult-withheld", "nursery", "coil", "census"]
KS = (2, 5, 10, 25, 50, 100, 200)
PAPER_KS = (10, 30, 50, 75, 100, 150, 200)
LIMITS = (5, 60, 300)
OTHERS = ("mondrian", "k-anon-cf", "agglomerative", "sequential", "hilbert", "forest")
ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
MODELS = {
    "distinct 2-diversity": ko.LDiversity("occupation", 2, kind="distinct"),
    "frequency 2-diversity": ko.LDiversity("occupation", 2),
    "alpha 0.5 on one value": ko.AlphaDeassociation("occupation", 0.5, values=["Prof-specialty"]),
    "0.2-closeness": ko.TCloseness("occupation", 0.2),
}
CENSUS = [
    *("age", "class_of_worker", "education", "marital_stat", "race", "sex", "major_occupation_code"),
    "detailed_household_and_family_stat",
]


def runs(table: str) -> Iterator[Record]:
    """What is run on a table."""
    if table == "adult":
        for k in KS:
            yield from ({"algorithm": "improve", "k": k, "limit": limit} for limit in LIMITS)
            yield from ({"algorithm": name, "k": k, "limit": None} for name in OTHERS)
    elif table == "adult-tight":
        for k in (5, 10, 50, 100):
            yield from ({"algorithm": "improve", "k": k, "limit": limit} for limit in (10, 60))
            yield {"algorithm": "mondrian", "k": k, "limit": None}
    elif table == "adult-sensitive":
        for model in MODELS:
            yield {"algorithm": "improve", "k": 5, "limit": 60, "model": model}
            yield {"algorithm": "mondrian", "k": 5, "limit": None, "model": model}
    elif table == "adult-withheld":
        for share in (0.0, 0.02):
            yield {"algorithm": "improve", "k": 100, "limit": 20, "suppression": share}
    elif table == "census":
        yield from ({"algorithm": name, "k": 10, "limit": 60} for name in ("mondrian", "auto"))
    else:
        for k in PAPER_KS:
            yield from ({"algorithm": name, "k": k, "limit": 10} for name in ("k-anon-cf", "auto"))


def asked(table: str, folder: Path) -> dict:
    """The records and their quasi-identifiers."""
    if table.startswith("adult"):
        hierarchies = folder / "arx-adult-hierarchies"
        sensitive = ADULT[-1:] if table == "adult-sensitive" else []
        quasi_identifiers = [name for name in ADULT if name not in sensitive]
        return {
            "data": ko.datasets.load_adult(split="train").select(ADULT),
            "quasi_identifiers": {name: str(hierarchies / f"{name}.csv") for name in quasi_identifiers},
            "sensitive": sensitive,
            "labels": "tight" if table.endswith("tight") else "hierarchy",
        }
    if table == "census":
        people = read_table(folder / "census_income_kdd.csv.zst").table.select(CENSUS)
        return {"data": people, "quasi_identifiers": {name: ko.auto() for name in CENSUS}}
    paper = {"nursery": nursery, "coil": coil}[table](folder)
    return {"data": paper.records.select(list(paper.hierarchies)), "quasi_identifiers": paper.hierarchies}


def measure(table: str, folder: Path, run: Record) -> Record:
    """One release: what it cost, what is proven, how long it took."""
    made = ko.anonymize(
        **asked(table, folder),
        privacy=[ko.KAnonymity(run["k"]), *([MODELS[run["model"]]] if "model" in run else [])],
        suppression=run.get("suppression", 0.0),
        algorithm=run["algorithm"],
        time_limit=run["limit"],
    )
    bound, gap = best_bound(made), best_gap(made)
    return run | {
        "loss": round(made.cost, 5),
        "bound": None if bound is None else round(bound, 5),
        "gap": None if gap is None else round(gap, 4),
        "withheld": made.verdict.withheld,
        "seconds": round(made.seconds["solve"], 1),
        "gigabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("KOHORT_DATA"))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--only", nargs="*", default=TABLES)
    parser.add_argument("--k", type=int, nargs="*", help="only the runs with these k")
    parser.add_argument("--limits", type=float, nargs="*", help="only the runs with these time limits")
    parser.add_argument("--run", help="(for the runner itself)")
    options = parser.parse_args()
    if options.data is None:
        sys.exit("Say where the data is: --data FOLDER, or the environment variable KOHORT_DATA.")
    if options.run:
        print(json.dumps(measure(options.only[0], options.data, json.loads(options.run))))
        return
    for table in options.only:
        target = options.out / f"{table}.csv"
        found = _known(target)
        for run in runs(table):
            if not _is_asked(run, options):
                continue
            command = [sys.executable, "-m", "experiments.lowest", "--data", str(options.data)]
            command += ["--only", table, "--run", json.dumps(run)]
            out = subprocess.run(command, capture_output=True, text=True, check=True)
            found[_key(run)] = json.loads(out.stdout)
            print(table, found[_key(run)], flush=True)
            records = [found[_key(each)] for each in runs(table) if _key(each) in found]
            write_csv(records, target)
        if table == "adult":
            panels = [_panel(k, _known(target).values()) for k in (10, 100)]
            write_svg(panels, options.out / "adult.svg")


def _panel(k: int, records: Iterable[Record]) -> Panel:
    shown = [
        record | {"seconds": float(record["seconds"]), "loss": float(record["loss"])}
        for record in records
        if record["k"] == str(k)
    ]
    return Panel(f"Adult, k = {k}: loss against seconds", shown, "seconds", "loss", "algorithm")


def _is_asked(run: Record, options: argparse.Namespace) -> bool:
    of_k = options.k is None or run["k"] in options.k
    return of_k and (options.limits is None or run["limit"] in options.limits)


def _known(path: Path) -> dict[tuple, Record]:
    """The results of earlier runs."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="") as lines:
        return {_key(record): record for record in csv.DictReader(lines)}


def _key(run: Record) -> tuple:
    """What tells a run from the others, of the run itself or of a line of a file."""
    names = ("algorithm", "k", "limit", "model", "suppression")
    return tuple(str(run.get(name) or 0).removesuffix(".0") for name in names)


if __name__ == "__main__":
    main()
