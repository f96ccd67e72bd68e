"""Columns that are published other than generalized: a class for each way, in `TREATMENTS` by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kohort.errors import InputError, did_you_mean
from kohort.parameters import shown
from kohort.treatments.identifiers import Mask, Mean, Median, Pseudonym, Shift, refuse_no_numbers
from kohort.treatments.numbers import Limits, Noise, Pram, RankSwap, Rounding
from kohort.treatments.treatment import Part, Perturbation, Scope, Secret, Treatment, generator_of

__all__ = [
    "PERTURBATIONS",
    "TREATMENTS",
    "Limits",
    "Noise",
    "Part",
    "Perturbation",
    "Pram",
    "RankSwap",
    "Rounding",
    "Scope",
    "Secret",
    "Treatment",
    "generator_of",
    "perturbation_of",
    "refuse_no_numbers",
    "treatments_of",
]

if TYPE_CHECKING:
    from kohort.statement import Statement

PERTURBATIONS: dict[str, type[Perturbation]] = {
    kind.name: kind for kind in (Noise, RankSwap, Pram, Limits, Rounding)
}
"""The treatments that have a size, by their key under `treatment` in the spec."""
_OTHERS: tuple[type[Treatment], ...] = (Pseudonym, Mask, Shift, Mean, Median)
TREATMENTS: dict[str, type[Treatment]] = {**PERTURBATIONS, **{kind.name: kind for kind in _OTHERS}}


def perturbation_of(given: Any, column: str) -> Perturbation:
    """The perturbation that a spec writes as a mapping, such as {noise: 0.1}."""
    if isinstance(given, Perturbation):
        return given
    if not isinstance(given, Mapping) or len(given) != 1:
        raise InputError(
            f"The treatment of {column!r} must be a word, or a mapping such as {{noise: 0.1}}. "
            f"Got {shown(given)}."
        )
    [(name, value)] = given.items()
    if name not in PERTURBATIONS:
        raise InputError(
            f"There is no treatment {name!r} of {column!r}. {did_you_mean(str(name), PERTURBATIONS)}"
        )
    return PERTURBATIONS[name].read(value, column)


def treatments_of(request: Statement) -> dict[str, Treatment]:
    """The treatment of each column that is published neither generalized nor as it is."""
    words = {**request.publish, **request.treatments}  # also interval, keep and drop, which are none
    return {name: TREATMENTS[word].asked(request, name) for name, word in words.items() if word in TREATMENTS}
