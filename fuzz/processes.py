"""Hand ranges of cases to processes, watch them, and keep what they tell as JSON lines."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import kohort
from fuzz.code import fingerprint
from fuzz.pasted import as_test

__all__ = ["Plan", "run_processes"]

ROOT = Path(__file__).parent.parent
PATIENCE = 900.0  # seconds for one case, compiling and shrinking included


@dataclass
class Plan:
    """What is to be run: cases of one seed, so many in each long-lived process and in each short one."""

    seed: int
    first: int
    cases: int
    end: float
    processes: int
    long: int
    fresh: int
    code: str = field(default_factory=fingerprint)
    _next: int = 0
    _given: dict[str, int] = field(default_factory=lambda: {"long": 0, "fresh": 0})
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def next_range(self) -> tuple[str, int, int] | None:
        """How the next process runs, its first case and how many; None at the end."""
        with self._lock:
            left = self.cases - self._next
            if left <= 0 or time.time() > self.end:
                return None
            sizes = {"long": self.long, "fresh": self.fresh}
            mode = min((m for m in sizes if sizes[m]), key=self._given.__getitem__)
            most = max(1, self.cases // (2 * self.processes)) if mode == "long" else left
            count = min(sizes[mode], left, most)
            first = self.first + self._next
            self._next += count
            self._given[mode] += count
            return mode, first, count


def run_processes(plan: Plan, results: Path) -> list[dict[str, Any]]:
    """Run the plan. Every process adds a line to the results, and so does every failure."""
    lines: list[dict[str, Any]] = []
    results.parent.mkdir(parents=True, exist_ok=True)
    with results.open("a", encoding="utf-8") as file:
        lock = threading.Lock()

        def keep(line: dict[str, Any]) -> None:
            with lock:
                lines.append(line)
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                file.flush()
                if "kind" in line:
                    _show(line)

        threads = [threading.Thread(target=_slot, args=(plan, keep)) for _ in range(plan.processes)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return lines


def _show(line: dict[str, Any]) -> None:
    if line["case"] is None:
        return
    print(f"\n--- seed {line['seed']}, case {line['failure']}: {line['kind']}\n{line['complaint']}")
    print(as_test(line["case"], line["kind"]), flush=True)


def _slot(plan: Plan, keep: Any) -> None:
    while (given := plan.next_range()) is not None:
        mode, first, count = given
        began = time.time()
        counts = _watched(plan, first, count, keep)
        keep(
            {
                "version": kohort.__version__,
                "code": plan.code,
                "seed": plan.seed,
                "mode": mode,
                "first": first,
                "began": round(began),
                "seconds": round(time.time() - began, 1),
                "counts": counts,
            }
        )


def _watched(plan: Plan, first: int, count: int, keep: Any) -> Counter[str]:
    """The counts of a process; where it dies or hangs, that is a failure and the rest goes to another."""
    total: Counter[str] = Counter()
    while count > 0:
        told, at, died = _process(plan, first, count, keep)
        total.update(told)
        if died is None:
            break
        total.update({"cases": 1, "failed": 1})
        keep({"failure": at, "seed": plan.seed, "kind": died, "complaint": None, "case": None})
        print(f"\n--- seed {plan.seed}, case {at}: {died}", flush=True)
        first, count = at + 1, first + count - at - 1
    return total


def _process(plan: Plan, first: int, count: int, keep: Any) -> tuple[Counter[str], int, str | None]:
    """What a process counted, the last case it was at, and how it died if it did."""
    command = [sys.executable, "-m", "fuzz.worker", *map(str, (plan.seed, first, count, plan.end))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    at, last = first, [time.monotonic()]
    counts: Counter[str] = Counter()
    watch = threading.Thread(target=_kill_when_late, args=(process, last), daemon=True)
    watch.start()
    for text in process.stdout:
        last[0] = time.monotonic()
        if not text.endswith("\n"):  # it died while it spoke
            break
        message = json.loads(text)
        if "at" in message:
            at = message["at"]
        elif "counts" in message:
            counts.update(message["counts"])
        else:
            keep(message | {"seed": plan.seed})
    code = process.wait()
    if code == 0:
        return counts, at, None
    return counts, at, f"killed: no answer within {PATIENCE:g} s" if code == -9 else f"died: exit {code}"


def _kill_when_late(process: subprocess.Popen, last: list[float]) -> None:
    while process.poll() is None:
        if time.monotonic() - last[0] > PATIENCE:
            process.kill()
        time.sleep(1)
