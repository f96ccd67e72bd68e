"""Make a failing case smaller for as long as it fails in the same way."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

from fuzz.attempt import attempt
from fuzz.case import Case
from fuzz.judge import complaints

__all__ = ["fails_as", "failure_kind", "shrunk"]


def shrunk(case: Case, fails: Callable[[Case], bool], *, seconds: float = 30.0) -> Case:
    """The smallest case found for which `fails` still holds."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < end:
        smaller = False
        for candidate in _simpler(case):
            if time.monotonic() > end:
                break
            if fails(candidate):
                case, smaller = candidate, True
                break
    return case


def failure_kind(complaint: str) -> str:
    """What a complaint is about, without figures and names: the same for the same defect."""
    if complaint.startswith("crash:"):
        complaint = "crash: " + _last_line(complaint)
    first = complaint.split("\n")[0]
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*", "_", first)[:120]


def _last_line(trace: str) -> str:
    """The error, and the innermost line of ours on the way to it."""
    lines = trace.strip().split("\n")
    ours = [line.strip() for line in lines if "/kohort/" in line]
    place = re.search(r"kohort/(\S+)\", line \d+, in (\w+)", ours[-1]) if ours else None
    error = next(
        (line for line in lines if re.match(r"[\w.]+(Error|Warning|Exception|Panic\w*)\b", line)), lines[-1]
    )
    return f"{error} ({place[1]} {place[2]})" if place else error


def fails_as(kind: str) -> Callable[[Case], bool]:
    """Whether a case fails in this way."""

    def fails(case: Case) -> bool:
        try:
            found = complaints(case, attempt(case))
        except Exception:  # a case that the judge cannot read is none
            return False
        return any(failure_kind(complaint) == kind for complaint in found)

    return fails


def _simpler(case: Case) -> Iterator[Case]:
    yield from _fewer_rows(case)
    yield from _fewer_columns(case)
    yield from _fewer_wishes(case)
    yield from _plainer_columns(case)
    yield from _fewer_rows(case, single=True)


def _fewer_rows(case: Case, single: bool = False) -> Iterator[Case]:
    n = case.n
    step = 1 if single else max(n // 2, 1)
    while step >= 1 and n > 1:
        for begin in range(0, n, step):
            kept = [row for row in range(n) if not begin <= row < begin + step]
            if kept:
                yield _with_rows(case, kept)
        if single or step == 1:
            return
        step //= 2


def _with_rows(case: Case, kept: list[int]) -> Case:
    found = case.copy()
    for name, column in found.columns.items():
        column.values = list(range(len(kept))) if name == "row" else [column.values[row] for row in kept]
    return found


def _fewer_columns(case: Case) -> Iterator[Case]:
    asked = {model.get("attribute") for model in case.privacy}
    for name in case.columns:
        if name == "row" or name in asked or (case.items and case.items["column"] == name):
            continue
        if name in case.quasi and len(case.quasi) == 1:
            continue
        found = case.copy()
        del found.columns[name]
        found.quasi.pop(name, None)
        found.trees.pop(name, None)
        found.person = None if found.person == name else found.person
        found.weight = None if found.weight == name else found.weight
        for names in (found.sensitive, found.insensitive, found.identifiers):
            if name in names:
                names.remove(name)
        for key in ("weights", "orders", "scheme"):
            if isinstance(found.options.get(key), dict):
                found.options[key].pop(name, None)
        yield found


def _fewer_wishes(case: Case) -> Iterator[Case]:
    if case.by_spec and not case.trees:
        found = case.copy()
        found.by_spec = False
        yield found
    if case.frame != "pyarrow":
        found = case.copy()
        found.frame = "pyarrow"
        yield found
    for place in range(len(case.privacy)):
        if len(case.privacy) > 1:
            found = case.copy()
            del found.privacy[place]
            yield found
        if case.privacy[place].get("k", 1) > 2:
            found = case.copy()
            found.privacy[place]["k"] -= 1
            yield found
    for key in case.options:
        if key != "algorithm":
            found = case.copy()
            del found.options[key]
            yield found


def _plainer_columns(case: Case) -> Iterator[Case]:
    for name, source in case.quasi.items():
        simpler = {"paths": (None, "flat"), "csv": (None, "flat")}
        word = next(iter(source)) if isinstance(source, dict) else source
        for other in simpler.get(word, () if source is None else (None, "flat")):
            if other != source:
                found = case.copy()
                found.quasi[name] = other
                yield found
        if word in ("paths", "csv"):
            yield from _fewer_leaves(case, name, word)
    for name in (*case.quasi, *case.sensitive):
        values = [v for v in case.columns[name].values if v is not None]
        if values and None in case.columns[name].values:
            found = case.copy()
            found.columns[name].values = [values[0] if v is None else v for v in found.columns[name].values]
            yield found
        if len(set(map(str, values))) > 1:
            found = case.copy()
            found.columns[name].values = [
                values[0] if v == values[-1] else v for v in found.columns[name].values
            ]
            if found.columns[name].values != case.columns[name].values:
                yield found


def _fewer_leaves(case: Case, name: str, word: str) -> Iterator[Case]:
    for place in range(len(case.quasi[name][word])):
        found = case.copy()
        del found.quasi[name][word][place]
        if found.quasi[name][word]:
            yield found
    for place, path in enumerate(case.quasi[name][word]):
        if len(path) > 2:
            found = case.copy()
            found.quasi[name][word][place] = [path[0], *path[2:]]
            yield found
