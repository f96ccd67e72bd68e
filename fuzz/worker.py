"""One process that draws, attempts and judges cases, and tells on standard output what came of them."""

from __future__ import annotations

import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

from fuzz.attempt import Outcome, attempt
from fuzz.case import Case
from fuzz.draw import draw_case
from fuzz.judge import complaints
from fuzz.shrink import fails_as, failure_kind, shrunk

__all__ = ["run_cases"]

TWICE = 0.03  # the share of cases that are attempted again: the same seed gives the same bytes
TOLD_AT_ONCE = 100  # cases, so that little is lost where a process dies
MOST_SHRUNK = 2  # of one kind, in one process


def main() -> None:
    seed, first, count, end = sys.argv[1:5]
    run_cases(int(seed), int(first), int(count), float(end), _tell)


def _tell(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def run_cases(seed: int, first: int, count: int, end: float, tell: Callable[[dict[str, Any]], None]) -> None:
    """Cases `first` to `first + count - 1` of a seed, until the clock (time.time) says `end`."""
    counts: Counter[str] = Counter()
    shown: Counter[str] = Counter()
    for number in range(first, first + count):
        if time.time() > end:
            break
        if counts["cases"] == TOLD_AT_ONCE:
            tell({"counts": dict(counts)})
            counts.clear()
        tell({"at": number})
        case = draw_case(seed, number)
        began = time.perf_counter()
        outcome, found = judged(case, twice=number % 100 < 100 * TWICE)
        _count(counts, case, outcome, bool(found), time.perf_counter() - began)
        for kind in {failure_kind(complaint) for complaint in found}:
            shown[kind] += 1
            if shown[kind] <= MOST_SHRUNK:
                complaint = next(text for text in found if failure_kind(text) == kind)
                small = shrunk(case, fails_as(kind))
                tell({"failure": number, "kind": kind, "complaint": complaint, "case": small.to_json()})
            else:
                tell({"failure": number, "kind": kind, "complaint": None, "case": None})
    tell({"counts": dict(counts)})


def judged(case: Case, *, twice: bool = False) -> tuple[Outcome, list[str]]:
    """What came of a case, and everything that is wrong with it."""
    outcome = attempt(case)
    try:
        found = complaints(case, outcome)
    except Exception:
        return outcome, [f"judge: {traceback.format_exc(limit=-3)}"]
    if twice and outcome.table is not None and "time_limit" not in case.options:
        again = attempt(case)
        if again.table != outcome.table or again.release.loss != outcome.release.loss:
            found.append("seed: the same case gives another release")
    return outcome, found


def _count(counts: Counter[str], case: Case, outcome: Outcome, failed: bool, seconds: float) -> None:
    result = "failed" if failed else "released" if outcome.release is not None else "refused"
    counts["cases"] += 1
    counts[result] += 1
    for key in (
        f"algorithm={case.algorithm}",
        f"models={'+'.join(sorted({m['model'] for m in case.privacy} - {'k-anonymity'})) or 'k-anonymity'}",
        f"cost={case.options.get('cost', 'loss')}",
        f"frame={case.frame}",
        f"labels={case.options.get('labels', 'hierarchy')}",
        f"nulls={case.options.get('nulls', 'value')}",
        f"withheld={case.options['suppressed'] if case.options.get('suppression') else 'none'}"
        if "suppressed" in case.options or not case.options.get("suppression")
        else "withheld=star",
        f"records={_size(case.n)}",
    ):
        counts[f"{key}|{result}"] += 1
    counts[f"milliseconds={case.algorithm}"] += round(1000 * seconds)
    if outcome.refusal is not None:
        counts[f"refusal={outcome.refusal[0]}: {failure_kind(outcome.refusal[1])[:70]}"] += 1


def _size(n: int) -> str:
    return next(
        name for most, name in ((7, "1-7"), (20, "8-20"), (40, "21-40"), (10**9, "41-300")) if n <= most
    )


if __name__ == "__main__":
    main()
