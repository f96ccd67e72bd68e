"""Bundles of options: one that is added to a bundle is an option of every command that takes it."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass, fields
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from cli.running import run
from kohort.cli.anonymize import anonymize as anonymize_command
from kohort.cli.app import COMMANDS as NAMES
from kohort.cli.app import command_named
from kohort.cli.bundles import Job, Printing, Reading, command
from kohort.cli.hierarchy import hierarchy

COMMANDS = [made for made in map(command_named, NAMES) if not isinstance(made, typer.Typer)]
COMMANDS += [info.callback for info in hierarchy.registered_commands]
READING = [
    function for function in COMMANDS if {"data", "sheet"} <= set(inspect.signature(function).parameters)
]


@dataclass(frozen=True)
class Colours:
    """Two options."""

    red: Annotated[int, typer.Option(help="How red.")] = 1
    blue: Annotated[str | None, typer.Option(help="How blue.")] = None


def test_a_bundle_is_spread_where_it_stands():
    seen = []

    @command
    def paint(wall: Annotated[str, typer.Argument()], *, colours: Colours, fast: bool = False) -> None:
        """Paint a wall."""
        seen.append((wall, colours, fast))

    assert list(inspect.signature(paint).parameters) == ["wall", "red", "blue", "fast"]
    paint("north", blue="sky")
    assert seen == [("north", Colours(blue="sky"), False)]
    painting = typer.Typer()
    painting.command()(paint)
    result = CliRunner().invoke(painting, ["south", "--red", "3", "--fast"])
    assert result.exit_code == 0
    assert seen[1] == ("south", Colours(red=3), True)
    assert CliRunner().invoke(painting, ["south", "--red", "very"]).exit_code == 2


def test_a_bundle_takes_no_unknown_option():
    @command
    def paint(colours: Colours) -> None: ...

    with pytest.raises(TypeError, match="green"):
        paint(green=1)


def test_every_command_that_reads_a_table_takes_the_options_of_reading():
    assert len(READING) >= 8
    for function in READING:
        taken = set(inspect.signature(function).parameters)
        own = {"header"} if "data_header" in taken else set()
        assert {field.name for field in fields(Reading)} - own <= taken


def test_every_command_with_a_result_prints_it_as_json_or_not_at_all():
    for function in COMMANDS:
        if function.__name__ not in ("key", "algorithms", "models"):
            assert {field.name for field in fields(Printing)} <= set(inspect.signature(function).parameters)


def test_words_for_true_and_false_are_switches():
    assert Job(shuffle="True").changes()["shuffle"] is True
    assert Job(shuffle="false").changes()["shuffle"] is False
    assert Job(shuffle="auto", k=5).changes() | {"algorithm": None} == Job(shuffle="auto", k=5).changes()
    assert Job(time_limit=3.0).typed()["time-limit"] == 3.0
    assert Job().outside() == {"engine": "local"}


@pytest.mark.parametrize(
    "words", [(), ("anonymize",), ("algorithms",), ("hierarchy",), ("hierarchy", "show")]
)
def test_help_fits_80_columns_and_names_no_value_of_a_switch(words, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERMINAL_WIDTH", "80")
    shown = run(*words, "--help").out
    assert "--help" in shown and "bool" not in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_help_shows_the_options_of_every_day_and_help_all_every_option_in_groups():
    few, every = run("anonymize", "--help").out, run("anonymize", "--help-all").out
    flags = {f"--{name.replace('_', '-')}" for name in inspect.signature(anonymize_command).parameters}
    everyday = {"--spec", "--out", "--k", "--certificate", "--report", "--time-limit", "--help-all"}
    assert rows(few) == everyday | {"--help"}
    assert rows(every) == flags - {"--data"} | {"--help"}
    for group in ("Instead of what the spec says", "How the table is read", "What is printed"):
        assert group in every and group not in few


def rows(text):
    """The options that have a row of their own in a help."""
    return set(re.findall(r"^│ [* ]{0,4}(--[\w-]+)", text, re.MULTILINE))
