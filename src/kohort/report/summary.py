"""The summary of a release: what a person asks first, as text, HTML or plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kohort.display import Display, Figures
from kohort.errors import counted
from kohort.report.columns import attribute_facts, published_values
from kohort.report.public_facts import public_certificate
from kohort.report.sentences import beside_the_best, extent, number, percent, traffic_light_of

if TYPE_CHECKING:
    from kohort.release.release import Release

_OF_COLUMN = ("name", "values", "published_values", "unchanged", "starred", "loss")


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What came of a release, without any value of the data.

    facts    those of the certificate that may be shown to everybody
    columns  of each quasi-identifier: its different values before (`values`) and after (`published_values`),
             the shares of its cells that are `unchanged` or `*` (`starred`), and its `loss`
    """

    facts: dict[str, Any]
    columns: list[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        return {**self.facts, "columns": self.columns}

    def __str__(self) -> str:
        return self._display.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return self._display.html()

    @property
    def _display(self) -> Display:
        light = traffic_light_of(self.facts)
        cautions = [f"Not protected: {caution['what']}" for caution in self.facts["cautions"]]
        notes = [f"Note: {note}" for note in self.facts["notes"]]
        columns = [_columns(self.columns)] if self.columns else []
        extended = extent(self.facts) if self.facts["quasi_identifiers"] else ""
        records = extended or f"{counted(self.facts['records'], 'basket')}."
        parts: list[str | Figures]
        parts = [records, *cautions, _promises(self.facts), _cost(self.facts), *columns, *notes]
        return Display(light.title, parts, light.colour)


def summary_of(release: Release) -> Summary:
    columns = [attribute_facts(values) for values in published_values(release.sides)]
    return Summary(
        public_certificate(release.facts()),
        [{name: column[name] for name in _OF_COLUMN} for column in columns],
    )


def _promises(facts: dict[str, Any]) -> Figures:
    rows = [
        [m["promise"], number(m["asked"]), number(m["measured"]), "yes" if m["holds"] else "NO"]
        for m in facts["models"]
    ]
    return Figures(["promised", "asked", "measured", "holds"], rows, left=["promised"])


def _cost(facts: dict[str, Any]) -> str:
    name, known = facts["cost"], beside_the_best(facts)
    items = facts["loss"].get("items-ncp")
    of_items = "" if items is None else f"; of the items (ncp): {number(items)}"
    return f"Cost ({name}): {number(facts['loss'][name])}{known}{of_items}. Made by {facts['algorithm']}."


def _columns(columns: list[dict[str, Any]]) -> Figures:
    rows = []
    for c in columns:
        values, shares = (c["values"], c["published_values"]), (c["unchanged"], c["starred"])
        rows.append([c["name"], *map(number, values), *map(percent, shares), f"{c['loss']:.3f}"])
    return Figures(["column", "values", "published", "unchanged", "*", "loss"], rows, left=["column"])
