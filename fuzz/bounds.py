"""`python -m fuzz.bounds`: random small problems, and every lower bound on them against the best partition.

Each table is asked about in several ways: other models, costs, labels, k, withheld records, people, weights.
All bounds that hold for a problem are computed, their proofs are checked by verification, and none may be
above the least cost of all partitions, which is found by brute force.
"""

from __future__ import annotations

import argparse
import collections
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import kohort as ko
from by_definition.group_costs import record_cost_by_definition
from by_definition.optimum import least_total
from kohort.algorithms import Run
from kohort.algorithms.mining.closed_records import mine_closed_records, record_costs
from kohort.algorithms.proofs.box_bound import box_bound
from kohort.algorithms.proofs.cell_prices import bound_of_cells, cell_proof, priced_portions
from kohort.algorithms.proofs.cells import cells_of
from kohort.algorithms.proofs.charge_bound import lower_bound
from kohort.algorithms.proofs.dual_bound import dual_prices
from kohort.algorithms.proofs.measured_units import in_measured_units
from kohort.algorithms.proofs.model_prices import known_model_prices, priced_bound
from kohort.algorithms.proofs.subset_bound import subset_bound
from kohort.errors import InfeasibleError, KohortError
from kohort.problem.costs import cost_named
from kohort.problem.problem import Problem
from kohort.problem.promises import KAnonymity, Model
from kohort.problem.units import Weights
from kohort.recoding.groups import Groups
from kohort.verification import check_proof
from kohort.verification.bounds import withheld_cost

LEAVES = list("abcdef")
WAYS = 12  # in which a table is asked about
ROUNDS, MANY_ROUNDS = 25, 70  # many: with cuts
NEAR = 1e-9


def draw_problems(rng: random.Random) -> Iterator[Problem]:
    """A random table, and problems about it."""
    n, columns, quasi = rng.randint(4, 6), {}, {}
    for j in range(rng.randint(1, 3)):
        columns[f"q{j}"], quasi[f"q{j}"] = _draw_column(rng, n)
    columns["s"] = [rng.choice("aaabbc") for _ in range(n)]
    whose = {"person": [f"p{rng.randrange(n)}" for _ in range(n)]} if rng.random() < 0.25 else {}
    made = ko.anonymize(
        pa.table(columns | whose),
        quasi_identifiers=quasi,
        sensitive=["s"],
        person="person" if whose else None,
        privacy=[ko.KAnonymity(1)],
        weights={name: rng.choice([1, 1, 2.5]) for name in quasi},
        algorithm="mondrian",
        shuffle=False,
    )
    free = any(tree is None for tree in quasi.values())
    for _ in range(WAYS):
        try:
            yield _asked(rng, made.problem, free)
        except InfeasibleError:
            continue


def _draw_column(rng: random.Random, n: int) -> tuple[list, Any]:
    kind = rng.choice(["tree", "tree", "tree", "interval", "set"])
    if kind == "interval":
        return [rng.randrange(9) for _ in range(n)], None
    leaves = LEAVES[: rng.randint(2, 6)]
    values = [rng.choice(leaves) for _ in range(n)]
    if kind == "set":
        return values, None
    paths = [(leaf, "*") if rng.random() < 0.2 else (leaf, rng.choice("XYZ"), "*") for leaf in leaves]
    return values, ko.Hierarchy.from_paths(paths)


def _asked(rng: random.Random, problem: Problem, free: bool) -> Problem:
    tight = rng.random() < 0.4
    plain = not (tight or free)
    names = ["loss", "ncp", "tree", *(["suppressions", "monotone-entropy"] if plain else [])]
    models: list[Model] = [KAnonymity(rng.choice([1, 2, 2, 2, 3]))]
    models += [_draw_model(rng) for _ in range(rng.choice([0, 1, 1, 2]))]
    attributes = tuple(replace(a, tight=tight) for a in problem.attributes)
    asked = replace(problem, cost=cost_named(rng.choice(names)), attributes=attributes, seed=rng.randrange(4))
    withheld = rng.choice([0, 0, 0, 1.01, 2.01]) / problem.n_records
    masses = _draw_masses(rng, problem.n_records) if asked.cost.is_mean and rng.random() < 0.2 else Weights()
    return replace(asked, models=tuple(models), suppression=withheld, masses=masses)


def _draw_masses(rng: random.Random, n: int) -> Weights:
    """How much each record counts in the cost, 1 on average."""
    return Weights(np.array([rng.choice([0.1, 1, 1, 2, 7]) for _ in range(n)])).scaled()


def _draw_model(rng: random.Random) -> Model:
    kind = rng.choice(["frequency", "distinct", "entropy", "alpha", "t"])
    if kind == "alpha":
        listed = rng.choice([None, ("a",), ("a", "b"), ("c",)])
        share = rng.choice(["1/2", "2/3", "2/5", "3/4"])
        return ko.AlphaDeassociation("s", share, values=listed, combine=rng.random() < 0.5)
    if kind == "t":
        return ko.TCloseness("s", rng.choice(["0", "1/5", "2/5", "3/5", "1"]))
    return ko.LDiversity("s", rng.choice(["1", "3/2", "19/10", "2", "5/2", "3"]), kind=kind)


def bounds(problem: Problem) -> Iterator[tuple[str, float | None]]:
    """Every bound that holds for the problem, by name. Proofs are checked on the way.

    Where records have weights, only that from nearest records does.
    """
    weighed = "" if problem.masses.even else ", weighed"
    yield f"nearest records{weighed}", lower_bound(problem, Run())
    if weighed:
        return
    yield "sets of columns", subset_bound(problem, Run())
    n_groups = max(problem.n_records // problem.k, 1) if problem.seed % 2 else 1
    groups = Groups(np.minimum(np.arange(problem.n_records) // problem.k, n_groups - 1).astype(np.int32))
    boxes = box_bound(problem, groups, Run())
    if boxes is not None:
        yield "boxes", boxes.value
        if boxes.proof is not None and boxes.value is not None:
            yield "checked boxes", check_proof(problem, boxes.proof, boxes.value)
    if any(not isinstance(a.domain, ko.Hierarchy) or a.tight for a in problem.attributes):
        return
    closed = mine_closed_records(problem)
    cost, star = record_costs(problem, closed), problem.coded.star_cost
    priced = {"prices": dual_prices(problem, closed, cost, Run(), rounds=ROUNDS)}
    known = known_model_prices(problem, closed, cost, Run(), ROUNDS)
    if known is not None:
        priced["prices that know the model"] = known
    for name, prices in priced.items():
        bound = priced_bound(problem, prices, star)
        check_proof(problem, prices.proof(problem, closed), bound)
        yield name, bound
    yield from _bound_by_cells(problem)


def _bound_by_cells(problem: Problem) -> Iterator[tuple[str, float | None]]:
    cells = cells_of(problem) if problem.cost.monotone else None
    if cells is not None:
        rounds = ROUNDS if problem.seed % 2 else MANY_ROUNDS
        proof, _ = cell_proof(problem, cells, priced_portions(problem, cells, lambda *_: rounds, Run()))
        bound = bound_of_cells(problem, proof)
        check_proof(problem, proof, bound)
        yield "cells", bound


def valid_groups(problem: Problem) -> set[tuple[int, ...]]:
    """All sets of records that satisfy every model."""
    n = problem.n_records
    sets = [tuple(record for record in range(n) if bits >> record & 1) for bits in range(1, 2**n)]
    group = np.repeat(np.arange(len(sets)), [*map(len, sets)])
    holds = problem.satisfied(group, np.concatenate([*map(np.array, sets)]), len(sets))
    return {records for records, valid in zip(sets, holds) if valid and len(records) >= problem.k}


def least_cost(problem: Problem) -> float | None:
    """The least cost of all partitions into valid groups, in the units of the cost; None if it has none."""
    tables, leaves, star = problem.coded.tables, problem.coded.searched_leaves(), withheld_cost(problem)
    mass = problem.masses.per_record(problem.n_records)

    def group_cost(records: tuple[int, ...]) -> float:
        return mass[list(records)].sum() * record_cost_by_definition(tables, leaves[list(records)])

    least = least_total(
        problem.n_records,
        group_cost,
        valid_groups(problem).__contains__,
        withheld_cost=lambda record: mass[record] * star,
        most_withheld=problem.max_withheld,
    )
    return in_measured_units(problem, least)


def complaints(problem: Problem, seen: collections.Counter) -> list[str]:
    """Bounds above the least cost. Counts the bounds that were compared, and how many were above 0."""
    least = least_cost(problem)
    if least is None:
        return []
    found = []
    for name, bound in bounds(problem):
        if bound is not None:
            seen[name] += 1
            seen[f"{name}, above 0"] += bound > NEAR
            if bound > least * (1 + NEAR) + NEAR:
                found.append(f"{name}: {bound} is above {least}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz.bounds", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**9))
    parser.add_argument("--cases", type=int, default=100_000, help="problems (default 100,000)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many (default 3,600)")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    end, seen, failed, number = time.monotonic() + asked.seconds, collections.Counter(), 0, 0
    while seen["problems"] < asked.cases and time.monotonic() < end:
        number += 1
        try:
            problems = list(draw_problems(random.Random(f"{asked.seed}/{number}")))
        except KohortError:
            seen["refused tables"] += 1
            continue
        for way, problem in enumerate(problems):
            seen["problems"] += 1
            for complaint in complaints(problem, seen):
                failed += 1
                print(
                    f"table {number}, way {way}: {complaint}\n  {problem.models} {problem.cost.name}",
                    flush=True,
                )
    for name, times in sorted(seen.items()):
        print(f"{times:>9,}  {name}")
    print(f"{failed} bounds above the least cost")
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
