"""What every promise costs on Adult: `python -m experiments.promises`.

The 30,162 training records of Adult, seven quasi-identifiers with the hierarchies that come with Kohort,
occupation sensitive, k = 5 and one more promise at a usual value; by mondrian and by improve in 20 seconds,
and by full-domain where the promise is about a whole table. The population is all 45,222 records. Writes
results/adult.csv.
"""

from __future__ import annotations

import csv
import resource
from pathlib import Path
from typing import Any

import kohort as ko

RESULTS = Path(__file__).parent / "results" / "adult.csv"
NAMES = ["age", "workclass", "education", "marital-status", "race", "sex", "native-country"]
SECONDS = 20
EVERYBODY = ko.datasets.load_adult().select(NAMES)
PEOPLE = ko.datasets.load_adult("train").select([*NAMES, "occupation"])
HIERARCHIES = Path(ko.datasets.example_spec("adult")).parent / "hierarchies" / "adult"
K = ko.KAnonymity(5)
OF_CLASSES: dict[str, list[Any]] = {
    "k: 5": [K],
    "risk below 0.09": [K, ko.RiskLimit(0.09)],
    "l: 3": [K, ko.LDiversity("occupation", 3)],
    "alpha: 0.5": [K, ko.AlphaDeassociation("occupation", 0.5)],
    "t: 0.2": [K, ko.TCloseness("occupation", 0.2)],
    "delta: 1": [K, ko.DeltaDisclosure("occupation", 1)],
    "beta: 2": [K, ko.BetaLikeness("occupation", 2)],
}
OF_TABLES: dict[str, list[Any]] = {
    "k: 5 by full-domain": [K],
    "known: 3, k: 5": [ko.KnownColumns(5, 3)],
    "k_map: 5": [ko.KMap(EVERYBODY, 5)],
    "at_most: 0.9": [ko.DeltaPresence(EVERYBODY, at_most=0.9)],
    "uniqueness: 0.01": [ko.PopulationUniqueness(0.01, sampling_fraction=0.01)],
}
BY_K = ("known: 3, k: 5", "k_map: 5")  # promises that other algorithms keep by a search for a k


def main() -> None:
    rows = [
        run(value, models, name) for value, models in OF_CLASSES.items() for name in ("mondrian", "improve")
    ]
    rows += [run(value, models, "full-domain") for value, models in OF_TABLES.items()]
    rows += [run(value, OF_TABLES[value], name) for value in BY_K for name in ("mondrian", "improve")]
    rows.append(run("epsilon: 1, delta: 1e-6", [ko.DifferentialPrivacy(1, 1e-6)], "auto"))
    RESULTS.parent.mkdir(exist_ok=True)
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def run(value: str, models: list[Any], algorithm: str) -> dict[str, Any]:
    """The loss of a release, who was withheld, and what it took."""
    sampled = any(model.by_sampling for model in models)
    before = _cpu()
    release = ko.anonymize(
        PEOPLE,
        quasi_identifiers={name: source(name) for name in NAMES},
        sensitive=() if sampled else ["occupation"],
        identifiers=["occupation"] if sampled else (),
        privacy=models,
        algorithm=algorithm,
        time_limit=SECONDS if algorithm == "improve" else None,
    )
    row = {
        "model": models[-1].name,
        "value": value,
        "algorithm": release.algorithm,
        "loss": round(release.loss["loss"], 4),
        "withheld": release.verdict.withheld,
        "classes": release.verdict.classes,
        "cpu_seconds": round(_cpu() - before - release.seconds.get("compile", 0), 1),
    }
    print(row, flush=True)
    return row


def source(name: str) -> Any:
    """The hierarchy of a column."""
    if name == "age":
        return ko.intervals(5, 10, 20)
    return ko.flat() if name == "sex" else str(HIERARCHIES / f"{name}.csv")


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
