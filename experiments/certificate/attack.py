"""Two attackers who know the algorithm and everything but what they look for.

One lacks the age of a person and tries each. The other lacks who has which sensitive value and enumerates all
worlds: every assignment of the values to the people. Both keep the guesses that give the very same release,
and look whether a public figure excludes any of those.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

import kohort as ko
from kohort.report.dossier.write import dossier_facts
from kohort.report.facts import report_facts

Facts = dict[str, Any]
Reader = Callable[[ko.Release], Facts]

AGES = range(17, 91)


def path_of(age: int) -> tuple[str, ...]:
    """A hierarchy of ages: the age, five years, twenty years, anything."""
    return (
        str(age),
        f"[{age // 5 * 5}, {age // 5 * 5 + 5})",
        f"[{age // 20 * 20}, {age // 20 * 20 + 20})",
        "*",
    )


AGE_TREE = ko.Hierarchy.from_paths([path_of(age) for age in AGES])


def certificate(release: ko.Release) -> Facts:
    """The public certificate."""
    return release.facts(version="public")


def public_artefacts(release: ko.Release) -> Facts:
    """All that may be published beside the release: certificate, report, dossier, the order of records."""
    return {
        "certificate": certificate(release),
        "report": report_facts(release, version="public"),
        "dossier": dossier_facts(release, version="public"),
        "order": release.table.to_pydict(),
    }


def holders_figures(release: ko.Release) -> Facts:
    """What the holder alone sees: here to show what the attack is worth."""
    facts = release.facts()
    return {name: facts[name] for name in ("loss", "bound", "solver_bound", "gap", "solver_gap")}


def figures(facts: Any, path: str = "") -> dict[str, Any]:
    """Every figure in nested facts, by its path."""
    if not isinstance(facts, (dict, list)):
        return {path: facts}
    parts = facts.items() if isinstance(facts, dict) else enumerate(facts)
    return {key: value for name, part in parts for key, value in figures(part, f"{path}.{name}").items()}


def rows(release: ko.Release) -> list[tuple[Any, ...]]:
    """The published records, whatever their order."""
    return sorted(zip(*(column.to_pylist() for column in release.table.columns)))


# ---------------------------------------------------------------- somebody's age


def adults(n: int, seed: int) -> dict[str, list[Any]]:
    """A made table like Adult: ages, sex, schooling and sector."""
    rng = np.random.default_rng(seed)
    return {
        "age": np.clip(rng.normal(38, 13, n).astype(int), 17, 90).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "school": rng.choice(["none", "basic", "high", "college"], n, p=[0.1, 0.3, 0.4, 0.2]).tolist(),
        "sector": rng.choice(["public", "private", "own"], n, p=[0.2, 0.7, 0.1]).tolist(),
    }


def release_of(people: dict[str, list[Any]], algorithm: str) -> ko.Release:
    quasi = {"age": AGE_TREE, **{name: ko.flat() for name in ("sex", "school", "sector")}}
    table = pa.table(people | {"age": [str(age) for age in people["age"]]})
    return ko.anonymize(table, quasi_identifiers=quasi, privacy=[ko.KAnonymity(5)], algorithm=algorithm)


def ages_left(
    people: dict[str, list[Any]], person: int, algorithm: str, read: Reader
) -> tuple[list[int], dict[str, list[int]]]:
    """Ages that give the very same release, and for each figure those of them that give the true one."""
    truth = release_of(people, algorithm)
    published, true = rows(truth), figures(read(truth))
    label = truth.table["age"].to_pylist()[truth.original_rows.tolist().index(person)]
    left: list[int] = []
    of_figure: dict[str, list[int]] = {name: [] for name in true}
    for age in AGES:
        if label not in path_of(age):
            continue
        guess = people | {"age": [*people["age"][:person], age, *people["age"][person + 1 :]]}
        release = release_of(guess, algorithm)
        if rows(release) == published:
            left.append(age)
            found = figures(read(release))
            for name, value in true.items():
                if found.get(name, "absent") == value:
                    of_figure[name].append(age)
    return left, of_figure


# ---------------------------------------------------------------- who has which sensitive value

PROMISES: dict[str, list[Any]] = {
    "alpha .5": [ko.KAnonymity(2), ko.AlphaDeassociation("ill", 0.5, values=["1"])],
    "frequency 2": [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="frequency")],
    "distinct 2": [ko.KAnonymity(2), ko.LDiversity("ill", 2, kind="distinct")],
}


@dataclass(frozen=True)
class Question:
    """A table of people with two quasi-identifiers, how many of them are ill, and what is promised."""

    people: tuple[tuple[str, str], ...]
    ill: int
    promise: str


def different_questions(n: int, seed: int) -> list[Question]:
    """Questions about as many different tables of six or seven people, the promises in turn.

    Frequency 2 can be kept only where at most half of the people share a value.
    """
    rng, names = np.random.default_rng(seed), list(PROMISES)
    found: dict[tuple[Any, int], Question] = {}
    while len(found) < n:
        promise = names[len(found) % len(names)]
        size, ill = (6, 3) if promise == "frequency 2" else (int(rng.integers(6, 8)), int(rng.integers(2, 4)))
        people = tuple(sorted(zip(*(rng.integers(0, 3, size).astype(str).tolist() for _ in "ab"))))
        found.setdefault((people, ill), Question(people, ill, promise))
    return list(found.values())


def worlds(size: int, ill: int) -> Iterator[tuple[int, ...]]:
    """All tables with the same sensitive values in other places."""
    for chosen in combinations(range(size), ill):
        yield tuple(int(i in chosen) for i in range(size))


def groups_of_worlds(asked: Question, algorithm: str) -> list[dict[tuple[int, ...], ko.Release]]:
    """The worlds of a table with their releases, grouped by what is released; those without one left out."""
    a, b = (list(values) for values in zip(*asked.people))
    found: dict[str, dict[tuple[int, ...], ko.Release]] = {}
    for world in worlds(len(a), asked.ill):
        try:
            release = ko.anonymize(
                pa.table({"a": a, "b": b, "ill": [str(value) for value in world]}),
                quasi_identifiers={"a": ko.flat(), "b": ko.flat()},
                sensitive=["ill"],
                privacy=PROMISES[asked.promise],
                algorithm=algorithm,
            )
        except ko.InfeasibleError:
            continue
        found.setdefault(str(rows(release)), {})[world] = release
    return list(found.values())


def posterior_change(group: dict[tuple[int, ...], ko.Release], read: Reader) -> tuple[float, set[str]]:
    """How far knowing these figures moves anybody's chance to be ill at most, and the figures that differ."""
    read_of = {world: figures(read(release)) for world, release in group.items()}
    without = np.mean(list(group), axis=0)
    told = {world: json.dumps(found, sort_keys=True, default=str) for world, found in read_of.items()}
    change = 0.0
    for text in Counter(told.values()):
        alike = [world for world in group if told[world] == text]
        change = max(change, float(np.abs(np.mean(alike, axis=0) - without).max()))
    first = next(iter(read_of.values()))
    names = {name for found in read_of.values() for name in {*first, *found}
             if found.get(name, "absent") != first.get(name, "absent")}  # fmt: skip
    return change, names
