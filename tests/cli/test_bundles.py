"""Bundles of options: one that is added to a bundle is an option of every command that takes it."""

from __future__ import annotations

import inspect
import re

import pytest
import typer
from typer.testing import CliRunner

from cli.running import run
from kohort.cli import options
from kohort.cli.app import COMMANDS, command_named
from kohort.cli.commands import Key, Several
from kohort.cli.options import Asked, Job, Printing, Reading, argument, command, option, switch

ASKED = [
    kind
    for found in COMMANDS.values()
    for kind, _ in (found.commands.values() if isinstance(found, Several) else [found])
]


def names(kind):
    return list(kind.taken())


READING = [kind for kind in ASKED if {"data", "sheet"} <= set(names(kind))]


class Colours(Asked, bundle=True):
    """Two options."""

    red: int = option("How red.", 1)
    blue: str | None = option("How blue.")


class Paint(Colours):
    """Paint a wall."""

    wall: str = argument("Which wall.")
    fast: bool = switch("fast", "In a hurry.")


def test_the_options_of_a_bundle_stand_behind_those_of_the_command(monkeypatch):
    seen = []
    monkeypatch.setattr(options, "import_module", lambda name: Paints)

    class Paints:
        paint = staticmethod(lambda asked, output: seen.append(asked))

    paint = command(Paint, "paint", "walls")
    assert list(inspect.signature(paint).parameters) == ["wall", "fast", "red", "blue"]
    assert inspect.getdoc(paint) == "Paint a wall." and paint.__name__ == "paint"
    painting = typer.Typer()
    painting.command()(paint)
    result = CliRunner().invoke(painting, ["south", "--red", "3", "--fast"])
    assert result.exit_code == 0
    assert [vars(asked) for asked in seen] == [{"wall": "south", "red": 3, "blue": None, "fast": True}]
    assert CliRunner().invoke(painting, ["south", "--red", "very"]).exit_code == 2
    with pytest.raises(TypeError, match="green"):
        paint(wall="north", green=1)


def test_every_command_that_reads_a_table_takes_the_options_of_reading():
    assert len(READING) >= 8
    for kind in READING:
        own = {"header"} if "data_header" in names(kind) else set()
        assert set(names(Reading)) - own <= set(names(kind))


def test_every_command_with_a_result_prints_it_as_json_or_not_at_all():
    for kind in ASKED:
        assert "json" in names(kind) or kind is Key
        if {"data", "quiet"} & set(names(kind)):
            assert set(names(Printing)) <= set(names(kind))


def test_words_for_true_and_false_are_switches():
    assert Job(shuffle="True").changes == {"shuffle": True}
    assert Job(shuffle="false").changes == {"shuffle": False}
    assert Job(shuffle="auto", k=5).changes == {"shuffle": "auto", "k": 5}
    assert Job().changes == {} and Job().outside == {"engine": "local"}


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
    flags = {
        f"--{name.replace('_', '-')}" for name in inspect.signature(command_named("anonymize")).parameters
    }
    everyday = {"--spec", "--out", "--k", "--certificate", "--report", "--time-limit", "--help-all"}
    assert rows(few) == everyday | {"--help"}
    assert rows(every) == flags - {"--data"} | {"--help"}
    for group in ("Instead of what the spec says", "How the table is read", "What is printed"):
        assert group in every and group not in few


def rows(text):
    """The options that have a row of their own in a help."""
    return set(re.findall(r"^│ [* ]{0,4}(--[\w-]+)", text, re.MULTILINE))
