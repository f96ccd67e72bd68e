"""kohort risk: how likely people are found in a table, as it is and as it would be published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from kohort.cli.anonymize import release_file
from kohort.cli.commands import Dossier, Risk
from kohort.cli.console import Output, table
from kohort.cli.sources import secret_key, source_named
from kohort.errors import InputError
from kohort.io.data_files import read_data
from kohort.io.databases import DatabaseTable
from kohort.io.ledger_file import open_ledger, read_ledger
from kohort.io.read_spec import read_spec, with_files
from kohort.io.tables import read_table
from kohort.job.tie import TiedRelease
from kohort.release.job import release_of
from kohort.release.origin import Origin
from kohort.risk import attack_ledger
from kohort.statement import Statement


def risk(asked: Risk, output: Output) -> None:
    if asked.data is None or asked.spec is None:
        if asked.ledger is None or asked.data is not None or asked.spec is not None:
            raise InputError("Name a table and its spec (--spec), or a ledger alone (--ledger).")
        _attack(output, asked)
        return
    read, beside = read_spec(asked.spec, k=asked.k), asked.spec.parent
    source = source_named(asked.data, asked)
    if asked.ledger is not None:
        _attack_next(output, source, read, beside, asked)
        return
    with output.progress(time_limit=read.time_limit) as progress:
        known = None if asked.known is None else [name.strip() for name in asked.known.split(",")]
        attack = {"known": known, "threshold": asked.threshold, "targets": asked.targets}
        attack |= population_of(asked)
        request, origin = with_files(read, beside=beside), Origin(shape=read.shape)
        release = release_file(source, request, progress, events=asked.events, origin=origin, reading=asked)
        facts = release.risk(**attack, seed=asked.seed, progress=progress)
        if asked.utility:
            facts |= {"utility": release.utility(seed=asked.seed, progress=progress)}
    output.result(facts)
    output.notes(release.origin.sources[0])
    output.show(_figures(facts))
    output.say(*(f"- {sentence}" for sentence in _sentences(facts)))


def population_of(asked: Risk | Dossier) -> dict[str, Any]:
    """What is known of the population, as keywords of `Release.risk` and `Release.dossier`."""
    people = None
    if asked.population:
        header = asked.population_header
        people = read_table(asked.population, header=header, header_option="population-header").table
    return {"population": people, "sampling_fraction": asked.sampling_fraction}


def _figures(facts: dict[str, Any]) -> Table:
    rows = [
        (name, measure.replace("_", " "), *(f"{found[side][measure]:.2%}" for side in ("before", "after")))
        for name in ("prosecutor", "journalist", "marketer", "linkage")
        if (found := facts[name])
        for measure in ("maximum", "average", "over_threshold")
        if measure in found["after"]
    ]
    return table(["adversary", "measure", "before", "after"], rows, figures=["before", "after"])


def _sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences that say what each part means."""
    parts = [part for part in facts.values() if isinstance(part, dict)] + facts["attribute_disclosure"]
    measured = facts.get("utility", {})
    names = ("queries", "item_queries", "itemsets", "classification", "association")
    parts += [measured.get(name) for name in names]
    return [part["sentence"] for part in parts if part and "sentence" in part]


# -- the releases of a ledger ----------------------------------------------------------------------


def _attack(output: Output, asked: Risk) -> None:
    """Attack the releases of a ledger together, and say what came of it."""
    assert asked.ledger is not None
    found = read_ledger(asked.ledger, secret_key(asked.key_file))
    if not found.entries:
        raise InputError(f"The ledger {str(asked.ledger)!r} has no release yet.")
    facts = attack_ledger(found)
    output.result(facts)
    _show_attacks(output, {"releases": facts})


def _attack_next(
    output: Output, data: Path | DatabaseTable, spec: Statement, beside: Path, asked: Risk
) -> None:
    """Attack the ledger with a next release: before, made as if there were no others; after, by the spec."""
    assert asked.ledger is not None
    key = secret_key(asked.key_file)
    ledger = open_ledger(asked.ledger, key, spec.roles.only("person"))
    file = read_data(data, spec.shape, **asked.reading)
    facts: dict[str, Any] = {"kohort": "risk of releases together"}
    with output.progress(time_limit=spec.time_limit) as progress:
        afresh = {} if spec.again == "m-invariance" else {"before": "fresh"}  # whose ledger has no places
        for side, way in {**afresh, "after": spec.again}.items():
            request = with_files(spec, beside=beside, key=key, ledger=ledger, again=way)
            release = release_of([file], request, progress=progress, compared=True)
            assert isinstance(release.tied, TiedRelease)
            facts[side] = attack_ledger(release.tied.ledger)
    output.result(facts)
    made = {"made afresh": "before", "by the spec": "after"}
    _show_attacks(output, {name: facts[side] for name, side in made.items() if side in facts})


def _show_attacks(output: Output, sides: dict[str, dict[str, Any]]) -> None:
    """Show what attacks achieve on each side, and what the last one means."""
    last = list(sides.values())[-1]
    rows = []
    for name in last["attacks"]:
        for side, facts in sides.items():
            found = [facts["attacks"][name][figure] for figure in ("fewest", "below_k", "alone", "certain")]
            cells = ["-" if value is None else f"{value:,}" for value in found]
            rows.append((name.replace("_", " "), side, *cells))
    output.show(table(["attack", "on", "fewest candidates", "below k", "alone", "value certain"], rows))
    output.say(*(f"- {sentence}" for sentence in last["sentences"]))
