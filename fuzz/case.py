"""A case: a small table and everything that is asked of it, in words that JSON can hold."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import date, datetime
from fractions import Fraction
from typing import Any

__all__ = ["Case", "PlainColumn", "python_values"]

OF_TEXT = {"date": date.fromisoformat, "datetime": datetime.fromisoformat}


@dataclass
class PlainColumn:
    """Values of one kind (integer, float, boolean, string, date, datetime, items); None is missing.

    Dates and times are ISO texts here, so that a case can be written down.
    """

    kind: str
    values: list


@dataclass
class Case:
    """One problem.

    quasi      per quasi-identifier what its hierarchy is: None, a word or mapping as in a spec, or
               {"paths": [...]}, {"csv": [...]} with one path per leaf
    privacy    models by their spec names and parameters
    items      column, hierarchy, separator, multiset, algorithm, weight; or None
    options    the other arguments of `ko.anonymize`
    frame      what kind of table it is handed over as
    trees      per sensitive column the paths of its hierarchy; only a spec can say that
    person     the column that says whose record it is; None: every record is another person's
    weight     the column that says how much each record counts; None: all alike
    by_spec    whether the wishes are handed over as a spec instead of arguments
    """

    columns: dict[str, PlainColumn]
    quasi: dict[str, Any]
    privacy: list[dict[str, Any]]
    sensitive: list[str] = field(default_factory=list)
    insensitive: list[str] = field(default_factory=list)
    identifiers: list[str] = field(default_factory=list)
    items: dict[str, Any] | None = None
    options: dict[str, Any] = field(default_factory=dict)
    frame: str = "pyarrow"
    trees: dict[str, list] = field(default_factory=dict)
    by_spec: bool = False
    person: str | None = None
    weight: str | None = None

    @property
    def n(self) -> int:
        return len(next(iter(self.columns.values())).values)

    @property
    def masses(self) -> list[Fraction]:
        """How much each record counts."""
        if self.weight is None:
            return [Fraction(1)] * self.n
        return [Fraction(value) for value in self.columns[self.weight].values]

    @property
    def algorithm(self) -> str:
        return self.options.get("algorithm", "auto")

    def model(self, name: str) -> dict[str, Any] | None:
        """The first model of this name."""
        return next((model for model in self.privacy if model["model"] == name), None)

    @property
    def k(self) -> int:
        """The size that classes must have."""
        asked = [m["k"] for m in self.privacy if m["model"] in ("k-anonymity", "km-anonymity")]
        return max(asked, default=1)

    def to_json(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Case:
        found = json.loads(text)
        found["columns"] = {name: PlainColumn(**column) for name, column in found["columns"].items()}
        return cls(**found)

    def copy(self) -> Case:
        return Case.from_json(self.to_json())


def python_values(column: PlainColumn) -> list:
    """The values as Python has them."""
    read = OF_TEXT.get(column.kind)
    return column.values if read is None else [None if v is None else read(v) for v in column.values]
