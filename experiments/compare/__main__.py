"""Every algorithm on Adult's train part, k = 5, 10, 50: the table and the charts of docs/compare.md.

    python -m experiments.compare

takes some minutes, and goes on where it stopped; remove docs/figures/adult.csv to begin anew. The frontier of
the same table is docs/figures/frontier.svg.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

import kohort as ko

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "compare.md"
FIGURES = DOCS / "figures"
KS = [5, 10, 50]
QUASI = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"]
TREES = Path(ko.datasets.example_spec("adult")).parent / "hierarchies" / "adult"
SECONDS = 30.0


def main() -> None:
    """Compare, draw, and write the table into the page."""
    train, spec = adult(), adult_spec()
    found = ko.compare(train, spec=spec, k=KS, out=FIGURES / "adult.csv", time_limit=SECONDS, progress=tell)
    found.plot(FIGURES / "adult.svg")
    swept = ko.frontier(train, spec=spec, algorithm="k-anon-cf", out=FIGURES / "frontier.csv", progress=tell)
    swept.plot(FIGURES / "frontier.svg")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(swept.sentence)


def tell(what: str, share: float) -> None:
    print(f"{share:.0%} {what}", flush=True)


def adult() -> pa.Table:
    """The train part of Adult, eight quasi-identifiers and the salary class."""
    table = ko.datasets.load_adult()
    return table.filter(pc.equal(table["split"], "train")).select([*QUASI, "salary-class"])


def adult_spec() -> dict:
    hierarchies = {name: str(TREES / f"{name}.csv") for name in QUASI if (TREES / f"{name}.csv").exists()}
    attributes = {
        name: {"role": "quasi-identifier"} | ({"hierarchy": hierarchies[name]} if name in hierarchies else {})
        for name in QUASI
    }
    attributes["age"] = {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}}
    return {"attributes": attributes | {"salary-class": {"role": "sensitive"}}, "privacy": {"k": 10}}


def with_table(page: str) -> str:
    """The page with the figures of adult.csv between its two markers."""
    return re.sub(
        r"(?<=<!-- figures -->\n\n).*?(?=\n<!-- end -->)", lambda _: figures_table(), page, flags=re.DOTALL
    )


def figures_table() -> str:
    with (FIGURES / "adult.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    done = sorted(
        (row for row in rows if row["status"] == "done"), key=lambda r: (int(r["k"]), float(r["loss"]))
    )
    lines = [
        "| k | algorithm | loss | gap | average risk | query error | classes | CPU seconds | memory |",
        "| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {r['k']} | {r['algorithm']} | {float(r['loss']):.4f} | {share(r['gap'])} | "
            f"{share(r['average_risk'])} | {share(r['query_error'])} | {int(r['classes']):,} | "
            f"{float(r['cpu_seconds']):.1f} | {float(r['memory_mb']):.0f} MB |"
            for r in done
        ),
        "",
        *refusals(rows),
        "",
    ]
    return "\n".join(lines)


def refusals(rows: list[dict[str, str]]) -> list[str]:
    """One line for each algorithm that made no release for some k, with the reason it gave first."""
    found: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        if row["status"] != "done":
            found.setdefault(row["algorithm"], []).append(row)
    return [
        f"- {name}, k = {', '.join(row['k'] for row in refused)}: "
        f"{refused[0]['status']}. {refused[0]['reason']}"
        for name, refused in found.items()
    ]


def share(text: str) -> str:
    return f"{float(text):.1%}" if text else ""


if __name__ == "__main__":
    main()
