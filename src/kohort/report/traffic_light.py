"""The traffic light of a verdict, the same on the terminal, on the page and in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class TrafficLight:
    """Green: all promises hold. Amber: they hold, and leave something unprotected. Red: one is broken."""

    colour: Literal["green", "amber", "red"]
    title: str

    @property
    def terminal_style(self) -> str:
        """The name of the colour for the terminal."""
        return "yellow" if self.colour == "amber" else self.colour


def traffic_light_of(facts: dict[str, Any], *, green: str = "Safe to publish as promised") -> TrafficLight:
    """The traffic light of these facts; `green` is its title if there is nothing to add."""
    if not facts["holds"]:
        found = [*facts["models"], *facts["checks"]]
        only = bool(facts.get("claims")) and all(one["holds"] is not False for one in found)
        return TrafficLight("red", "The certificate is false" if only else "The promise does not hold")
    if facts.get("unmeasured"):
        return TrafficLight("amber", "What was checked holds, but not everything was checked")
    if facts["cautions"]:
        return TrafficLight("amber", "Every promise holds, but not everything is protected")
    return TrafficLight("green", green)


def advice_of(facts: dict[str, Any]) -> list[str]:
    """The advice of the cautions, each sentence once."""
    return list(dict.fromkeys(caution["advice"] for caution in facts["cautions"]))


def spec_to_add(facts: dict[str, Any]) -> str | None:
    """All that the cautions suggest to add to the spec, as YAML; None if they suggest nothing."""
    import yaml

    merged: dict[str, dict[str, list[Any]]] = {}
    for caution in facts["cautions"]:
        for section, keys in (caution["add"] or {}).items():
            for key, entries in keys.items():
                merged.setdefault(section, {}).setdefault(key, []).extend(entries)
    if not merged:
        return None
    return yaml.safe_dump(merged, sort_keys=False, default_flow_style=None, allow_unicode=True, width=10_000)
