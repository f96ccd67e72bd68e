"""Every single field of a certificate, forged: verify finds it false, or says that it was not checked."""

import json
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from cli.running import run
from trials import trials

SPEC = """
title: Animals
owner: The office
attributes:
  name: {role: identifier}
  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}
  town: {role: quasi-identifier}
  illness: {role: sensitive}
  diet: {role: sensitive}
privacy:
  k: 3
  diversity: {attribute: illness, l: 2, kind: distinct}
algorithm: k-anon-cf
seed: 4
"""
STATED = {"version", "algorithm", "parameters", "guarantee", "evidence"}  # what the certificate alone says
OF_THE_RUN = {"solver_bound", "cut_by_time", "order", "notes", "seconds"}  # the same, to the holder
PLAIN = {
    "name": [f"n{i}" for i in range(60)],
    "age": [20 + i % 40 for i in range(60)],
    "town": ["abc"[i % 3] for i in range(60)],
    "illness": ["xyzw"[i % 4] for i in range(60)],
    "diet": ["pq"[i % 7 % 2] for i in range(60)],
}
SMALL = "attributes:\n  age: {role: quasi-identifier, hierarchy: {intervals: [5, 10, 20]}}\n"
ITEMS = ["a b", "a b", "a c", "a c", "b c", "b c"] * 10


class Kind(NamedTuple):
    """A kind of release: its spec, the files by name, and what both commands are given beside them.

    anonymized, verified  the options of one of the two commands
    unchecked  what its certificate says that nothing checks, beside what every certificate does
    """

    spec: str
    files: dict[str, dict[str, list] | list[str]]
    anonymized: tuple[str, ...] = ()
    verified: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @property
    def original(self):
        return next(iter(self.files))

    @property
    def out(self):
        return f"release{Path(self.original).suffix}"


KINDS = {
    "plain": Kind(SPEC, {"people.csv": PLAIN}),
    "items": Kind(
        SMALL + "  bought: {role: items, hierarchy: flat, separator: ' '}\nprivacy: {k: 3, m: 2}\n",
        {"people.csv": {"age": PLAIN["age"], "bought": ITEMS}},
        unchecked=("items",),
    ),
    "linked people": Kind(
        SMALL + "  who: {role: person, treatment: pseudonym}\n  ill: {role: sensitive}\n"
        "privacy: {k: 3, diversity: {attribute: ill, l: 1}}\n",
        {
            "people.csv": {
                "age": [20 + i // 2 for i in range(60)],
                "who": [f"p{i // 2}" for i in range(60)],
                "ill": PLAIN["diet"],
            }
        },
        ("--key-file", "key"),
        unchecked=("linked",),
    ),
    "two files": Kind(
        SMALL + "events:\n  key: who\n  attributes:\n    ward: {role: quasi-identifier}\n"
        "    ill: {role: sensitive}\nprivacy: {k: 3}\n",
        {
            "people.csv": {"who": [f"p{i}" for i in range(30)], "age": list(range(20, 50))},
            "visits.csv": {
                "who": [f"p{i // 2}" for i in range(50)],
                "ward": ["north", "south"] * 25,
                "ill": PLAIN["illness"][:50],
            },
        },
        ("--events", "visits.csv", "--events-out", "events.csv"),
        ("--events", "events.csv", "--original-events", "visits.csv"),
        ("events", "linked", "roles"),
    ),
    "weights": Kind(
        SMALL + "  stands: {role: weight}\nprivacy: {k: 3}\nalgorithm: mondrian\n",
        {"people.csv": {"age": PLAIN["age"], "stands": [1 + i % 5 for i in range(60)]}},
    ),
    "baskets": Kind(
        "items: {hierarchy: flat}\nprivacy: {k: 3, m: 2}\n",
        {"baskets.txt": ITEMS},
        unchecked=("items", "cost"),
    ),
    "a ledger": Kind(
        SMALL + "  who: {role: person}\n  ill: {role: sensitive}\nprivacy: {k: 3}\nalgorithm: mondrian\n",
        {
            "people.csv": {
                "age": PLAIN["age"],
                "who": list(range(60)),
                "ill": PLAIN["illness"],
            }
        },
        ("--ledger", "ledger", "--key-file", "key"),
        ("--ledger", "ledger", "--key-file", "key"),
        ("together", "cautions"),
    ),
}


def released(kind, version, into):
    """Make a release with its certificate, and everything that this can be checked with."""
    into.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(into)
        for name, table in kind.files.items():
            if isinstance(table, dict):
                pl.DataFrame(table).write_csv(name)
            else:
                Path(name).write_text("\n".join([*table, ""]))
        Path("key").write_bytes(b"a secret of at least 16 bytes")
        Path("spec.yaml").write_text(kind.spec)
        made = run(
            *("anonymize", kind.original, "--spec", "spec.yaml", "--out", kind.out, *kind.anonymized),
            *("--certificate", f"{version}.json", "--certificate-version", version),
            *("--salt", "salt", "--order-file", "order.json"),
        )
        assert made.exit == 0, made.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A plain release for each version of its certificate."""
    into = tmp_path_factory.mktemp("forged")
    for version in ("public", "internal"):
        released(KINDS["plain"], version, into / version)
    return into


def leaves(facts, path=()):
    """The paths of all leaves of nested facts; what is empty is one."""
    parts = facts.items() if isinstance(facts, dict) else enumerate(facts) if isinstance(facts, list) else ()
    inner = [leaf for name, part in parts for leaf in leaves(part, (*path, name))]
    return inner or [path]


def other(value):
    """Another value of the same kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1 if isinstance(value, int) else value * 0.9 + 0.01
    if isinstance(value, str):
        return ("0" if value[0] != "0" else "1") + value[1:] if len(value) == 64 else f"{value}x"
    return ["forged"] if isinstance(value, list) else {"forged": 1} if isinstance(value, dict) else 1


def forgeries(facts, listed):
    """What is forged at a time: one leaf, or all of a field that is listed as not checked."""
    of_field = {field: [path for path in leaves(facts) if path[0] == field] for field in facts}
    for field, paths in of_field.items():
        yield from [paths] if field in listed else ([path] for path in paths)


def forged(facts, paths):
    copy = deepcopy(facts)
    for path in paths:
        place = copy
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = other(place[path[-1]])
    return copy


def verified(certificate, kind=KINDS["plain"]):
    Path("forged.json").write_text(json.dumps(certificate))
    beside = (
        "--spec",
        "spec.yaml",
        "--original",
        kind.original,
        "--order-file",
        "order.json",
        "--salt",
        "salt",
    )
    return run("verify", kind.out, "--certificate", "forged.json", *beside, *kind.verified, "--json")


def not_checked(result):
    return {claim["claim"] for claim in json.loads(result.out)["claims"] if claim["holds"] is None}


CASES = [("plain", "public"), *((name, "internal") for name in KINDS)][: trials(2, None)]


@pytest.mark.parametrize(("name", "version"), CASES)
def test_every_field_is_checked_or_said_not_to_be(tmp_path, monkeypatch, name, version):
    kind = KINDS[name]
    released(kind, version, tmp_path / "made")
    monkeypatch.chdir(tmp_path / "made")
    facts = json.loads(Path(f"{version}.json").read_text())
    honest = verified(facts, kind)
    assert honest.exit == 0, honest.err
    listed = not_checked(honest)
    stated = {*STATED, *kind.unchecked, *(OF_THE_RUN if version == "internal" else ())}
    assert listed == {field for field in stated if facts[field] not in (None, [], {})} | {"signature"}
    unnoticed = []
    for paths in forgeries(facts, listed):
        result = verified(forged(facts, paths), kind)
        if result.exit == 0 and paths[0][0] not in not_checked(result):
            unnoticed.append(paths)
    assert unnoticed == []


@pytest.mark.parametrize("version", ["public", "internal"])
def test_a_certificate_of_other_promises_is_false(folder, monkeypatch, version):
    """Seen: k 400, l 50, other quasi-identifiers and a gap of 0 passed with everything at hand."""
    monkeypatch.chdir(folder / version)
    facts = json.loads(Path(f"{version}.json").read_text())
    lies = deepcopy(facts)
    for model, name, value in ((0, "k", 400), (1, "l", 50)):
        lies["models"][model]["parameters"][name] = value
        lies["models"][model] |= {"asked": value, "measured": value}
    lies |= {"quasi_identifiers": ["age"], "gap": 0.0, "bound": lies["loss"]["loss"]}
    result = verified(lies)
    assert result.exit == 1
    false = {claim["claim"] for claim in json.loads(result.out)["claims"] if claim["holds"] is False}
    assert {"k-anonymity", "l-diversity of illness", "quasi_identifiers"} <= false


def test_the_headline_says_what_the_certificate_alone_states(folder, monkeypatch):
    monkeypatch.chdir(folder / "public")
    shown = run(
        "verify",
        "release.csv",
        "--certificate",
        "public.json",
        "--spec",
        "spec.yaml",
        "--original",
        "people.csv",
        "--order-file",
        "order.json",
        "--salt",
        "salt",
    ).out
    assert "Stated by the certificate alone: version, " in " ".join(shown.replace("│", "").split())
    assert shown.count("k-anonymity") == 1 and shown.count("l-diversity of illness") == 1


def test_the_headline_says_that_people_were_not_counted(tmp_path, monkeypatch):
    """Seen: "Every promise holds", and k-anonymity twice, once "yes" and once "not checked"."""
    monkeypatch.chdir(tmp_path)
    visits = {"who": [f"p{i // 2}" for i in range(40)], "age": [20 + i // 2 for i in range(40)]}
    pl.DataFrame(visits).write_csv("people.csv")
    Path("spec.yaml").write_text(
        "attributes:\n  who: {role: person}\n  age: {role: quasi-identifier}\nprivacy: {k: 3}\n"
    )
    words = (
        "--spec",
        "spec.yaml",
        "--out",
        "release.csv",
        "--certificate",
        "c.json",
        "--order-file",
        "o.json",
    )
    assert run("anonymize", "people.csv", *words).exit == 0
    alone = run("verify", "release.csv", "--certificate", "c.json")
    assert alone.exit == 0 and "What was checked holds, but not everything was checked" in alone.out
    assert "Every promise holds" not in alone.out
    [promise] = [line for line in alone.out.splitlines() if line.startswith("│ k-anonymity")]
    assert "of records only" in promise
    whole = run(
        "verify",
        "release.csv",
        "--certificate",
        "c.json",
        "--spec",
        "spec.yaml",
        "--original",
        "people.csv",
        "--order-file",
        "o.json",
    )
    assert whole.exit == 0 and "What was checked holds" not in whole.out
