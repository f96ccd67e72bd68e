"""A release in a few sentences and figures, for the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from kohort.errors import counted
from kohort.report.sentences import (
    advice_of,
    beside_the_best,
    dropped_items,
    extent,
    factor_sentences,
    number,
    spec_to_add,
    together_sentences,
    traffic_light_of,
)

_FILES = ("signature", "original", "commitment", "sha256")
_CAUTIONS = 8  # columns without a promise in the terminal; a table may have a hundred sensitive columns


def release_panel(facts: dict[str, Any]) -> Panel:
    """A panel that shows the verdict on a release, its cost and how it was made."""
    light, table = traffic_light_of(facts), _models(facts)
    for name in ("loss", "ncp", "tree", "distortion", "discernibility", "items-ncp"):
        if name in facts["loss"]:
            table.add_row(name, "", number(facts["loss"][name]), "")
    shown = Group(*map(Text, release_sentences(facts)), *_cautions(facts), Text(), table)
    return Panel(shown, title=light.title, border_style=light.terminal_style, expand=False)


def _cautions(facts: dict[str, Any]) -> list[Text]:
    """The cautions and what to do about them, in the colour of the verdict."""
    if not (facts["holds"] and facts["cautions"]):  # what is broken comes first
        return []
    more = [caution for caution in facts["cautions"] if caution["kind"] == "no-promise"][_CAUTIONS:]
    shown = [caution for caution in facts["cautions"] if caution not in more]
    lines = ["", "Not protected:", *(f"- {caution['what']}" for caution in shown)]
    if more:
        lines.append(f"- And {len(more):,} more like these: the report and --json list them all.")
    lines += ["", "What to do:", *(f"- {advice}" for advice in advice_of(facts))]
    add = spec_to_add(facts)
    lines += [] if add is None else ["- Add to the spec:", *(f"  {line}" for line in add.splitlines())]
    return [Text(line, style="yellow") for line in lines]


def release_sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences for the person who signs: what was done, and what was found."""
    promises = "; ".join(model["promise"] for model in facts["models"])
    sentences = [
        f"Verified on the published table: {promises}.",
        _extent(facts),
        f"Information loss ({facts['cost']}): {number(facts['loss'][facts['cost']])}"
        f"{beside_the_best(facts)}.",
    ]
    unweighted = (facts["unweighted_loss"] or {}).get(facts["cost"])
    if unweighted is not None:
        alike = f"if all counted the same, it would be {number(unweighted)}"
        sentences.append(f"Records count by their weights there; {alike}.")
    seconds = dict(facts["seconds"])
    compiling = seconds.pop("compile", 0.0)
    apart = f" (and {compiling:.0f} s to compile, the first time only)" if compiling > 1 else ""
    sentences.append(f"Made by {facts['algorithm']} in {sum(seconds.values()):.1f} s{apart}.")
    if facts["together"] is not None:
        first, _, *others = together_sentences(facts["together"])
        sentences += [first, *others]
    return [*sentences, *factor_sentences(facts)]


def _extent(facts: dict[str, Any]) -> str:
    items, of_items = facts["items"], ""
    if items is not None:
        are = counted(items["items"], "item is", "items are")
        of_items = f"{are} published as {items['published_items']:,}.{dropped_items(items)}"
    if not facts["quasi_identifiers"]:
        return f"{counted(facts['records'], 'basket')}; their {of_items}"
    return extent(facts) + (f" The {of_items}" if items else "")


def verdict_panel(facts: dict[str, Any]) -> Panel:
    table = _models(facts)
    listed = {_promise(model) for model in facts["models"]}
    for claim in facts.get("claims", []):
        if claim["promise"] and claim["holds"] is None and claim["claim"] not in listed:
            table.add_row(claim["claim"], "", "", _mark(None))
    for check in facts["checks"]:
        table.add_row(check["check"], "", "", _mark(check["holds"]))
    lines: list[Any] = [Text(extent(facts)), *map(Text, not_checked_sentences(facts))]
    if facts["counterfeits"]:
        are = counted(facts["counterfeits"], "published record is", "published records are")
        lines.append(Text(f"{are} nobody's: counterfeits, as the checks say."))
    if facts.get("loss"):
        name = "loss" if "loss" in facts["loss"] else "ncp"
        lines.append(Text(f"Information loss ({name}): {number(facts['loss'][name])}."))
    lines += [*_cautions(facts), Text(), table]
    if facts.get("claims"):
        lines += _certified(facts["claims"])
    light = traffic_light_of(facts, green="Every promise holds")
    return Panel(Group(*lines), title=light.title, border_style=light.terminal_style, expand=False)


def checks_table(checks: list[dict[str, Any]]) -> Table:
    """Checks of all releases together, with what was found."""
    table = Table("over all releases", "holds", box=None, pad_edge=False)
    for check in checks:
        table.add_row(check["detail"], _mark(check["holds"]))
    return table


def not_checked_sentences(facts: dict[str, Any]) -> list[str]:
    """What could not be checked, and who says it; nothing where everything was."""
    missing = [check["check"] for check in facts["checks"] if check["holds"] is None]
    unknown = [claim["claim"] for claim in facts.get("claims", []) if claim["holds"] is None]
    missing += [name for name in unknown if name.startswith(_FILES)]
    stated = [name for name in unknown if not name.startswith(_FILES)]
    words = [f"Not checked: {', '.join(missing)}."] if missing else []
    return words + ([f"Stated by the certificate alone: {', '.join(stated)}."] if stated else [])


def _certified(claims: list[dict[str, Any]]) -> list[Any]:
    """How many claims of a certificate were found again, and those that are false; promises stand above."""
    right = sum(claim["holds"] is True for claim in claims)
    lines: list[Any] = [Text(f"\nOf what the certificate says, {counted(right, 'claim')} were found again.")]
    false = [claim for claim in claims if claim["holds"] is False]
    if false:
        table = Table("false", "certified", "found", box=None, pad_edge=False)
        for claim in false:
            table.add_row(claim["claim"], _short(claim["certified"]), _short(claim["found"]))
        lines.append(table)
    return lines


def _short(value: Any) -> str:
    if isinstance(value, (str, dict, list)):
        text = value if isinstance(value, str) else "…"
        return f"{text[:12]}…" if len(text) > 16 else text
    return "" if value is None else number(value)


def _models(facts: dict[str, Any]) -> Table:
    table = Table("what", "asked", "measured", "holds", box=None, pad_edge=False)
    for model in facts["models"]:
        asked, measured = number(model["asked"]), number(model["measured"])
        unsure = _promise(model) in facts.get("of_records_only", ())
        mark = "of records only" if unsure and model["holds"] else _mark(model["holds"])
        table.add_row(_promise(model), asked, measured, mark)
    return table


def _promise(model: dict[str, Any]) -> str:
    return f"{model['model']} of {model['attribute']}" if model["attribute"] else str(model["model"])


def _mark(holds: bool | None) -> str:
    return "not checked" if holds is None else ("yes" if holds else "[red]NO[/red]")
