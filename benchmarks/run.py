"""Time, memory and loss of the whole job, as JSON lines: fixed seeds, compile time apart, ratios in one run.

    make bench                       everything that takes seconds
    python -m benchmarks.run --rows 10000000   also that many generated hospital records

Each case runs in a process of its own, so that its peak memory is its own. It runs twice: the first run
compiles, the second is reported.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.full_domain import full_domain, full_domain_million  # noqa: F401 (cases, found by name)

KS = (5, 10, 50, 100)
ALPHA_K = ("progressive", "top-down", "incognito")
QUASI_IDENTIFIERS = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="generated hospital records")
    parser.add_argument("--case", help="(for the runner itself)")
    options = parser.parse_args()
    if options.case:
        print(json.dumps(globals()[options.case](options)))
        return
    cases = (
        "adult_arx_hierarchies",
        "adult_tight",
        "k_anon_cf",
        "k_anon_cf_nine",
        "rivals",
        "forest",
        "two_anonymity",
        "three_anonymity",
        "mining_ratio",
        "full_domain",
        "full_domain_million",
        "items",
        "alpha_k",
        "schemes",
        "alpha_k_hospital",
        "hospital",
        "coding",
        "verification",
    )
    for case in cases:
        out = subprocess.run(
            [sys.executable, "-m", "benchmarks.run", "--case", case, "--rows", str(options.rows)],
            capture_output=True,
            text=True,
            check=True,
        )
        for line in json.loads(out.stdout):
            print(json.dumps({"case": case, **line}), flush=True)


def data_folder() -> Path:
    """The folder of larger data: KOHORT_DATA, else beside the project."""
    return Path(os.environ.get("KOHORT_DATA", Path(__file__).parents[2] / "shared" / "data"))


def adult_arx_hierarchies(options: argparse.Namespace) -> list[dict]:
    """Adult's train part, eight quasi-identifiers, the hierarchies that users of ARX have."""
    return _adult("hierarchy")


def adult_tight(options: argparse.Namespace) -> list[dict]:
    """The same with tight labels: intervals and sets of observed values."""
    return _adult("tight")


def k_anon_cf(options: argparse.Namespace) -> list[dict]:
    """k-anon-cf on Adult's train part, eight quasi-identifiers: closed records, loss, CPU, peak memory."""
    from kohort.algorithms import Run
    from kohort.algorithms.mining.closed_records import MinedRows, mine

    rows = []
    for k in (200, *reversed(KS)):  # peak memory only grows: the greatest need comes last
        made, cpu = _compiled("k-anon-cf", k)
        closed, mining = _measured(
            lambda k=k, p=made.problem: mine(MinedRows.of(p), k, max_support_rows=0, run=Run())
        )
        rows.append(
            {"k": k, "closed_records": len(closed), "mining_cpu": round(mining, 3)} | _facts(made, cpu)
        )
    return rows


def k_anon_cf_nine(options: argparse.Namespace) -> list[dict]:
    """k-anon-cf on all of Adult, nine quasi-identifiers."""
    return [
        {"k": k} | _facts(*_compiled("k-anon-cf", k, split=None, more=["salary-class"])) for k in (50, 10, 5)
    ]


def rivals(options: argparse.Namespace) -> list[dict]:
    """k-anon-cf beside the heuristics that its paper compares it with, and mondrian."""
    names = ("mondrian", "k-anon-cf", "agglomerative", "sequential", "hilbert", "forest")
    return [
        {"algorithm": name, "k": k} | _facts(*_compiled(name, k)) for k in (10, 50, 100) for name in names
    ]


def forest(options: argparse.Namespace) -> list[dict]:
    """forest on Adult's train part, eight quasi-identifiers."""
    return [_approximation("forest", k) for k in (5, 10, 50)]


def two_anonymity(options: argparse.Namespace) -> list[dict]:
    """two-anonymity on 10,000 records of Adult and on all of the train part, matched exactly."""
    return [_approximation("two-anonymity", 2, n) for n in (10_000, None)]


def three_anonymity(options: argparse.Namespace) -> list[dict]:
    """three-anonymity on 1,000 records of Adult, with the lightest cycles proven."""
    return [_approximation("three-anonymity", 3, 1_000)]


def _approximation(algorithm: str, k: int, n: int | None = None) -> dict:
    made, cpu = _compiled(algorithm, k, n)
    proven = {"bound": round(made.bound, 4), "guarantee": made.guarantee}
    return {"k": k, "records": made.problem.n_records} | proven | _facts(made, cpu)


def schemes(options: argparse.Namespace) -> list[dict]:
    """Least costs on Adult's train part, age in 15 values, k = 5: cost, bound, gap, nodes, CPU, peak memory.

    With the hierarchies that users of ARX have; each search has a CPU minute. Records are withheld freely.
    """
    from experiments.schemes.__main__ import COSTS, measured, posed
    from experiments.schemes.oracles import adult

    import kohort as ko

    folder = data_folder()
    if not (folder / "arx-adult-hierarchies").exists():
        return [{"skipped": "arx-adult-hierarchies is not at hand"}]
    rows = []
    for scheme, n in (("bhs", 8), ("ghs", 8), ("gops", 7), ("ops", 6), ("gsps", 6), ("sps", 5)):
        for cost in COSTS:
            found = measured(posed(*adult(folder, n), 5, cost), ko.OptimalRecoding(scheme=scheme), 60.0)
            gap = round(found["cost"] / found["bound"] - 1, 4)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            rows.append(
                {"scheme": scheme, "columns": n, "measure": cost} | found | {"gap": gap, "peak_mb": peak}
            )
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    return rows


def mining_ratio(options: argparse.Namespace) -> list[dict]:
    """Our miner beside the printed Algorithms 6 and 7, on 300 records of Adult and four quasi-identifiers."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    import kohort as ko
    from by_definition.k_anon_cf import closed_by_algorithm_7
    from kohort.algorithms.mining.closed_records import mine_closed_records

    people = (
        ko.datasets.load_adult(split="train").select(["sex", "race", "education", "workclass"]).slice(0, 300)
    )
    made = ko.anonymize(
        people,
        quasi_identifiers={name: ko.auto() for name in people.column_names},
        privacy=[ko.KAnonymity(5)],
        algorithm="k-anon-cf",
    )
    found, ours = _measured(lambda: mine_closed_records(made.problem))
    literal, theirs = _measured(lambda: closed_by_algorithm_7(made.problem, 5))
    assert len(found) == len(literal)
    return [
        {
            "closed_records": len(found),
            "cpu": round(ours, 4),
            "literal_cpu": round(theirs, 3),
            "ratio": round(theirs / max(ours, 1e-6)),
        }
    ]


def _compiled(
    algorithm: str, k: int, n: int | None = None, *, split: str | None = "train", more: Sequence[str] = ()
) -> tuple:
    """A release of Adult (its train part, its first n records) and its CPU seconds, without compilation."""
    import kohort as ko

    folder = data_folder() / "arx-adult-hierarchies"
    names = [*QUASI_IDENTIFIERS, *more]
    people = ko.datasets.load_adult(split=split).select(names).slice(0, n)

    def release() -> ko.Release:
        return ko.anonymize(
            people,
            quasi_identifiers={name: str(folder / f"{name}.csv") for name in names},
            privacy=[ko.KAnonymity(k)],
            algorithm=algorithm,
        )

    made, cpu = _measured(release)
    return _measured(release) if made.seconds["compile"] > 0 else (made, cpu)


def _adult(labels: str) -> list[dict]:
    import kohort as ko

    folder = data_folder() / "arx-adult-hierarchies"
    if not folder.exists():
        return [{"skipped": f"{folder.name} is not at hand"}]
    columns = QUASI_IDENTIFIERS
    people = ko.datasets.load_adult(split="train").select(columns)
    hierarchies = {name: str(folder / f"{name}.csv") for name in columns}

    def release(k: int, algorithm: object) -> object:
        return ko.anonymize(
            people,
            quasi_identifiers=hierarchies,
            privacy=[ko.KAnonymity(k)],
            algorithm=algorithm,
            labels=labels,
        )

    rows = []
    for choose, strict in (("cost", False), ("cost", True), ("range", False)):
        algorithm = ko.Mondrian(choose=choose, strict=strict)
        release(KS[0], algorithm)
        for k in KS:
            made, cpu = _measured(lambda k=k, a=algorithm: release(k, a))
            rows.append(
                {"algorithm": "mondrian", "choose": choose, "strict": strict, "k": k} | _facts(made, cpu)
            )
    return rows


def hospital(options: argparse.Namespace) -> list[dict]:
    """Generated hospital records from a Parquet file, six quasi-identifiers, k = 10, l = 3 distinct."""
    import tempfile

    import pyarrow.parquet as pq

    import kohort as ko

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "hospital.parquet"
        with pq.ParquetWriter(path, ko.datasets.generate_hospital(1).schema) as writer:
            for seed in range(0, options.rows, 1_000_000):
                writer.write_table(
                    ko.datasets.generate_hospital(min(options.rows - seed, 1_000_000), seed=seed)
                )
        spec = ko.datasets.example_spec("hospital")
        ko.anonymize(ko.datasets.generate_hospital(1000), spec=spec)
        made, cpu = _measured(lambda: ko.anonymize(path, spec=spec))
        return [{"rows": options.rows, "diversity": 3} | _facts(made, cpu)]


def alpha_k(options: argparse.Namespace) -> list[dict]:
    """(alpha, k)-anonymity on Adult, eight quasi-identifiers, the salary class sensitive."""
    from experiments.alpha_k.__main__ import HEIGHTS, taxonomy

    import kohort as ko

    rows = []
    for algorithm in ALPHA_K:
        for k, alpha in ((2, 0.5), (10, 0.4)):
            made, cpu = _second_run(
                ko.datasets.load_adult(),
                quasi_identifiers={name: taxonomy(name) for name in HEIGHTS},
                sensitive=["salary-class"],
                privacy=[ko.KAnonymity(k), ko.AlphaDeassociation("salary-class", alpha, values=[">50K"])],
                algorithm=algorithm,
            )
            rows.append({"algorithm": algorithm, "k": k, "alpha": alpha} | _facts(made, cpu))
    return rows


def alpha_k_hospital(options: argparse.Namespace) -> list[dict]:
    """(alpha, k)-anonymity on generated hospital records, six quasi-identifiers, every diagnosis bounded."""
    import kohort as ko

    rows = []
    for algorithm in ALPHA_K:
        made, cpu = _second_run(
            ko.datasets.generate_hospital(options.rows, seed=1),
            quasi_identifiers={
                "sex": ko.flat(),
                "age": ko.intervals(5, 10, 20, top=90),
                "postcode": ko.mask(),
                "admitted": ko.dates("month", "quarter", "year"),
                "insurance": ko.flat(),
                "occupation": ko.auto(),
            },
            sensitive=["diagnosis"],
            privacy=[ko.KAnonymity(10), ko.AlphaDeassociation("diagnosis", 0.2)],
            algorithm=algorithm,
        )
        rows.append({"algorithm": algorithm, "rows": options.rows} | _facts(made, cpu))
    return rows


def _second_run(table, **asked) -> tuple:  # type: ignore[no-untyped-def]
    """A release and its CPU seconds, compiled."""
    import kohort as ko

    def make(part):  # type: ignore[no-untyped-def]
        return ko.anonymize(part, others="drop", cost="distortion", **asked)

    make(table.slice(0, 1000))
    return _measured(lambda: make(table))


def items(options: argparse.Namespace) -> list[dict]:
    """Generated baskets of the size of BMS-POS, k = 5, m = 3, fan-out 5, by number and by frequency."""
    import kohort as ko

    rows = []
    for order in ("natural", "frequency"):

        def make(n: int, order: str = order) -> ko.Release:
            return ko.anonymize(
                ko.datasets.generate_baskets(n),
                items={"items": ko.order(order, fanout=5)},
                privacy=[ko.KmAnonymity(5, 3)],
            )

        make(1000)
        made, cpu = _measured(lambda make=make: make(515_597))
        seconds = {phase: round(value, 3) for phase, value in made.seconds.items()}
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append(
            {
                "order": order,
                "ncp": made.loss["ncp"],
                "cpu": round(cpu, 3),
                "seconds": seconds,
                "peak_mb": peak,
            }
        )
    return rows


def coding(options: argparse.Namespace) -> list[dict]:
    """A million records by ten columns into codes."""
    import kohort as ko
    from kohort.data.dataset import Dataset

    table = ko.datasets.generate_hospital(1_000_000).drop_columns(["procedures"])
    _, cpu = _measured(lambda: [Dataset(table).column(name) for name in table.column_names])
    return [{"rows": 1_000_000, "columns": table.num_columns, "cpu": round(cpu, 3)}]


def verification(options: argparse.Namespace) -> list[dict]:
    """Verifying a release of a million records, beside one plain group-by of the same columns."""
    import polars as pl

    import kohort as ko

    table = ko.datasets.generate_hospital(1_000_000)
    spec = ko.datasets.example_spec("hospital")
    release = ko.anonymize(table, spec=spec).table
    names = ["sex", "age", "postcode", "admitted", "insurance", "occupation"]
    frame = pl.from_arrow(release)
    _, group_by = _measured(lambda: frame.group_by(names).len())
    _, alone = _measured(lambda: ko.verify(release, spec=spec))
    _, against = _measured(lambda: ko.verify(release, spec=spec, original=table))
    return [
        {
            "rows": 1_000_000,
            "group_by_cpu": round(group_by, 3),
            "verify_cpu": round(alone, 3),
            "verify_with_original_cpu": round(against, 3),
            "ratio": round(alone / group_by, 2),
        }
    ]


def _measured(work) -> tuple:  # type: ignore[no-untyped-def]
    """The result and its CPU seconds."""
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def _facts(release, cpu: float) -> dict:  # type: ignore[no-untyped-def]
    return {
        "loss": round(release.loss["loss"], 4),
        "distortion": round(release.loss["distortion"], 4),
        "classes": release.verdict.classes,
        "smallest_class": release.verdict.smallest_class,
        "cpu": round(cpu, 3),
        "seconds": {phase: round(value, 3) for phase, value in release.seconds.items()},
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


if __name__ == "__main__":
    main()
