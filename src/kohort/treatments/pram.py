"""Post-randomization: every value of a column is drawn anew (PRAM; Gouweleeuw et al., 1998)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.problem.promises.exact import exact_number, plain, readable
from kohort.treatments.perturbation import Perturbation, read_exactly


@dataclass(frozen=True)
class Pram(Perturbation):
    """Post-randomization: every value is drawn anew, with chances that depend on the value.

    matrix : a number: the chance that a value stays, else it is drawn from the whole column, which keeps the
        expected frequencies (invariant PRAM); or per value a mapping from values to chances that add up to 1

    >>> Pram(0.8).describe()
    'every value stayed with the chance 0.8, and was else drawn from the whole column'
    """

    name: ClassVar[str] = "pram"
    matrix: Any

    def __post_init__(self) -> None:
        if isinstance(self.matrix, Mapping):
            object.__setattr__(self, "matrix", _checked_matrix(self.matrix))
        elif not isinstance(self.matrix, tuple):
            read_exactly(self, "matrix", "a chance from 0 to 1, or a mapping", lambda n: 0 <= n <= 1)

    @property
    def chances(self) -> dict[str, dict[str, Fraction]] | None:
        """Per value the chance of each value; None where the matrix is invariant."""
        if not isinstance(self.matrix, tuple):
            return None
        return {value: dict(row) for value, row in self.matrix}

    def describe(self) -> str:
        if self.chances is not None:
            return "every value was drawn anew, by the matrix of the spec"
        stays = readable(Fraction(self.matrix))
        return f"every value stayed with the chance {stays}, and was else drawn from the whole column"

    def to_spec(self) -> dict[str, Any]:
        if self.chances is None:
            return super().to_spec()
        rows = {
            value: {to: plain(chance) for to, chance in row.items()} for value, row in self.chances.items()
        }
        return {self.name: rows}

    def perturbed(self, column: Column, kind: pa.DataType, rng: np.random.Generator) -> pa.Array:
        """What is missing stays so; values keep the type that they came in: numbers stay numbers."""
        drawn = self._drawn_from_column if self.chances is None else self._drawn_by_matrix
        codes, texts = drawn(column, rng)
        array = pa.array(texts, pa.string())
        if column.kind in ("integer", "float"):
            array = array.cast(pa.int64() if column.kind == "integer" else pa.float64())
        return array.take(pa.array(np.where(codes < 0, len(texts) - 1, codes)))

    def _drawn_from_column(
        self, column: Column, rng: np.random.Generator
    ) -> tuple[np.ndarray, tuple[str | None, ...]]:
        there = np.flatnonzero(column.codes < len(column.texts) - column.has_null)
        given, drawn = column.codes[there], column.codes.copy()
        stays = rng.random(len(given)) < float(Fraction(self.matrix))
        drawn[there] = np.where(stays, given, given[rng.integers(0, max(len(given), 1), len(given))])
        return drawn, column.texts

    def _drawn_by_matrix(
        self, column: Column, rng: np.random.Generator
    ) -> tuple[np.ndarray, tuple[str | None, ...]]:
        """A code for each record, -1 where it is missing, and the texts of the codes."""
        chances = self.chances or {}
        texts = [text for text in column.texts if text is not None]
        if lacking := sum(text not in chances for text in texts):
            raise InputError(
                f"The PRAM matrix of {column.name!r} has no row for {lacking} of its values. Add a row "
                "for each."
            )
        place = {
            text: n
            for n, text in enumerate(dict.fromkeys([*texts, *(to for row in chances.values() for to in row)]))
        }
        found = np.full(len(column), -1)
        for code, text in enumerate(texts):
            row, records = chances[text], np.flatnonzero(column.codes == code)
            shares = np.array([float(chance) for chance in row.values()])
            found[records] = rng.choice([place[to] for to in row], len(records), p=shares / shares.sum())
        return found, (*place, None)

    def effect(self, before: Column, after: pa.Array) -> str:
        new = after.cast(pa.string()).to_pylist()
        changed = sum(before.texts[code] != text for code, text in zip(before.codes.tolist(), new))
        return f"{changed / len(before):.1%} of its values changed."


def _checked_matrix(matrix: Mapping[Any, Any]) -> tuple[tuple[str, tuple[tuple[str, Fraction], ...]], ...]:
    """The rows of a matrix as pairs; raises InputError where chances are none, or do not add up to 1."""
    rows: list[tuple[str, tuple[tuple[str, Fraction], ...]]] = []
    for value, row in matrix.items():
        if not isinstance(row, Mapping):
            raise InputError("Every row of a PRAM matrix is a mapping from values to chances.")
        chances = tuple(
            (
                str(to),
                exact_number("Pram", "matrix", chance, "made of chances from 0 to 1", lambda n: 0 <= n <= 1),
            )
            for to, chance in row.items()
        )
        total = sum((chance for _, chance in chances), Fraction(0))
        if total != 1:
            place = len(rows) + 1
            raise InputError(
                f"Row {place} of the PRAM matrix adds up to {readable(total)}, not to 1. Chances may be "
                "written as fractions, such as 1/3."
            )
        rows.append((str(value), chances))
    return tuple(rows)
