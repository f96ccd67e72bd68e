"""`python -m fuzz`: random problems in several processes, failures shrunk and printed, results kept."""

from __future__ import annotations

import argparse
import random
import time
from pathlib import Path

from fuzz.draw import draw_case
from fuzz.processes import Plan, run_processes
from fuzz.summary import print_summary
from fuzz.worker import judged

RESULTS = Path("fuzz-results.jsonl")


def main() -> int:
    asked = _arguments()
    if asked.only is not None:
        return _one_case(asked.seed, asked.only)
    seed = random.SystemRandom().randrange(10**9) if asked.seed is None else asked.seed
    print(f"seed {seed}", flush=True)
    plan = Plan(
        seed=seed,
        first=asked.first,
        cases=asked.cases,
        end=time.time() + asked.seconds,
        processes=asked.processes,
        long=0 if asked.mode == "fresh" else asked.long,
        fresh=0 if asked.mode == "long" else asked.fresh,
    )
    lines = run_processes(plan, asked.results)
    return print_summary(lines)


def _one_case(seed: int, number: int) -> int:
    case = draw_case(seed, number)
    outcome, found = judged(case, twice=True)
    print(case.to_json())
    print(outcome.table or outcome.refusal or outcome.crash)
    print("\n".join(found) or "nothing is wrong with it")
    return int(bool(found))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, help="of all cases; a random one unless given")
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--cases", type=int, default=10_000, help="how many (default 10,000)")
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many (default 3,600)")
    parser.add_argument("--processes", type=int, default=2, help="at a time (default 2)")
    parser.add_argument(
        "--mode",
        choices=("both", "long", "fresh"),
        default="both",
        help="long-lived processes, short ones, or half of the cases in each (the default)",
    )
    parser.add_argument("--long", type=int, default=5_000, help="cases in a long-lived process")
    parser.add_argument("--fresh", type=int, default=250, help="cases in a short one")
    parser.add_argument("--results", type=Path, default=RESULTS, help="JSON lines are added to this file")
    parser.add_argument("--only", type=int, help="attempt this one case of the seed, and print it")
    asked = parser.parse_args()
    if asked.only is not None and asked.seed is None:
        parser.error("--only needs --seed")
    return asked


if __name__ == "__main__":
    raise SystemExit(main())
