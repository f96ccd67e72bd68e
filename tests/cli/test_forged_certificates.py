"""Every single field of a certificate, forged: verify finds it false, or says that it was not checked."""

import json
from copy import deepcopy
from pathlib import Path

import polars as pl
import pytest

from cli.running import run

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
STATED = {
    "version",
    "algorithm",
    "parameters",
    "guarantee",
    "evidence",
}  # what the certificate alone says, in public
OF_THE_RUN = {"solver_bound", "cut_by_time", "order", "notes", "seconds"}
ALL = ("--spec", "spec.yaml", "--original", "people.csv", "--order-file", "order.json", "--salt", "salt")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A release with both certificates and everything that they can be checked with."""
    into = tmp_path_factory.mktemp("forged")
    people = {
        "name": [f"n{i}" for i in range(60)],
        "age": [20 + i % 40 for i in range(60)],
        "town": ["abc"[i % 3] for i in range(60)],
        "illness": ["xyzw"[i % 4] for i in range(60)],
        "diet": ["pq"[i % 7 % 2] for i in range(60)],
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(into)
        pl.DataFrame(people).write_csv("people.csv")
        Path("spec.yaml").write_text(SPEC)
        for version in ("public", "internal"):
            words = ("--certificate", f"{version}.json", "--certificate-version", version, "--salt", "salt")
            made = run(
                *("anonymize", "people.csv", "--spec", "spec.yaml", "--out", "release.csv"),
                *(*words, "--order-file", "order.json"),
            )
            assert made.exit == 0, made.err
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


def forged(facts, path):
    copy = deepcopy(facts)
    place = copy
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = other(place[path[-1]])
    return copy


def verified(certificate):
    Path("forged.json").write_text(json.dumps(certificate))
    return run("verify", "release.csv", "--certificate", "forged.json", *ALL, "--json")


def not_checked(result):
    return {claim["claim"] for claim in json.loads(result.out)["claims"] if claim["holds"] is None}


@pytest.mark.parametrize(
    ("version", "unchecked"),
    [("public", STATED), ("internal", STATED | OF_THE_RUN)],
    ids=["public", "internal"],
)
def test_every_field_is_checked_or_said_not_to_be(folder, monkeypatch, version, unchecked):
    monkeypatch.chdir(folder)
    facts = json.loads(Path(f"{version}.json").read_text())
    honest = verified(facts)
    assert honest.exit == 0, honest.err
    assert not_checked(honest) == unchecked | {"signature"}
    unnoticed = []
    for path in leaves(facts):
        result = verified(forged(facts, path))
        if result.exit == 0 and path[0] not in not_checked(result):
            unnoticed.append(path)
    assert unnoticed == []


@pytest.mark.parametrize("version", ["public", "internal"])
def test_a_certificate_of_other_promises_is_false(folder, monkeypatch, version):
    """Seen: k 400, l 50, other quasi-identifiers and a gap of 0 passed with everything at hand."""
    monkeypatch.chdir(folder)
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
    monkeypatch.chdir(folder)
    shown = run("verify", "release.csv", "--certificate", "public.json", *ALL).out
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
