"""What public figures tell somebody who knows the algorithm: `python -m experiments.certificate`.

Writes results/worlds.csv: 500 different tables, the promises in turn, every algorithm on each table, and all
assignments of the sensitive values to the people; among the worlds that give the same release, how far the
public certificate, all public artefacts together, and the holder's figures move anybody's chance to be ill.

Writes results/ages.csv: 50 of 500 people whose age alone is unknown; how many of them keep fewer ages when
the public artefacts are known, too.

Takes about half an hour of CPU, in two processes.
"""

from __future__ import annotations

import csv
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from experiments.certificate.trials import ALGORITHMS, OF_AGES, ages_row, worlds_row

RESULTS = Path(__file__).parent / "results"


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        write("worlds.csv", list(pool.map(worlds_row, ALGORITHMS)))
        write("ages.csv", list(pool.map(ages_row, OF_AGES)))


def write(name: str, found: list[dict[str, Any]]) -> None:
    with (RESULTS / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, found[0])
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
