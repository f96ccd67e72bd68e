"""A row of results for each algorithm, by either attacker."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from typing import Any

from experiments.certificate.attack import (
    adults,
    ages_left,
    certificate,
    different_questions,
    groups_of_worlds,
    holders_figures,
    posterior_change,
    public_artefacts,
)

CLUSTERINGS = ("agglomerative", "forest")
ALGORITHMS = (
    "mondrian",
    "improve",
    "top-down",
    "progressive",
    "k-anon-cf",
    *CLUSTERINGS,
    "full-domain",
    "auto",
)
OF_AGES = ("mondrian", "forest", "k-anon-cf", "full-domain", "improve", "auto")
TABLES, PEOPLE = 500, range(0, 500, 10)
READERS = {"certificate": certificate, "all public": public_artefacts, "holder": holders_figures}


def worlds_row(algorithm: str) -> dict[str, Any]:
    """All tables by one algorithm."""
    warnings.simplefilter("ignore")
    before, count, change = time.process_time(), Counter[str](), dict.fromkeys(READERS, 0.0)
    names: set[str] = set()
    for asked in different_questions(TABLES, seed=20):
        groups = groups_of_worlds(asked, algorithm)
        count["tables"] += bool(groups)
        count["worlds"] += sum(map(len, groups))
        count["releases"] += len(groups)
        for group in groups:
            if len(group) == 1:
                continue
            count["releases of several worlds"] += 1
            for reader, read in READERS.items():
                found, differing = posterior_change(group, read)
                change[reader] = max(change[reader], found)
                count[f"{reader}: tells more"] += found > 0
                names |= differing if reader != "holder" else set()
    row = {"algorithm": algorithm}
    for name in ("tables", "worlds", "releases", "releases of several worlds"):
        row[name] = count[name]
    for reader in READERS:
        row[f"{reader}: tells more"] = count[f"{reader}: tells more"]
        row[f"{reader}: greatest change"] = round(change[reader], 4)
    row["cpu seconds"] = round(time.process_time() - before)
    print(row, sorted(names)[:40], flush=True)
    return row


def ages_row(algorithm: str) -> dict[str, Any]:
    """50 people by one algorithm."""
    warnings.simplefilter("ignore")
    before, count = time.process_time(), Counter[str]()
    people, names = adults(500, seed=3), set()
    for person in PEOPLE:
        left, of_figure = ages_left(people, person, algorithm, public_artefacts)
        telling = {name for name, ages in of_figure.items() if ages != left}
        count["people"] += 1
        count["several ages left"] += len(left) > 1
        count["fewer by public figures"] += bool(telling)
        names |= telling
    row = {"algorithm": algorithm} | {
        name: count[name] for name in ("people", "several ages left", "fewer by public figures")
    }
    row["cpu seconds"] = round(time.process_time() - before)
    print(row, sorted(names)[:40], flush=True)
    return row
