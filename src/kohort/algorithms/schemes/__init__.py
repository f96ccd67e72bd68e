"""Searches for the best recoding under a generalization scheme."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kohort.algorithms.alpha_k.top_down import TopDown
from kohort.algorithms.auto import Auto
from kohort.algorithms.schemes.bottom_up import BottomUp
from kohort.algorithms.schemes.optimal_recoding import OptimalRecoding
from kohort.algorithms.schemes.top_down_search import TopDownSearch
from kohort.errors import InputError, UnsupportedError

__all__ = ["SEARCHES", "BottomUp", "OptimalRecoding", "TopDownSearch", "for_scheme"]

SEARCHES = (OptimalRecoding, BottomUp, TopDownSearch)


def for_scheme(algorithm: Any, scheme: str | None, schemes: Mapping[str, str]) -> Any:
    """The search that a scheme is asked of: `auto` is optimal-recoding, `top-down` is top-down-search.

    `schemes` are those of single columns; the others have `scheme`, or the default of their domain.
    """
    if isinstance(algorithm, Auto):
        algorithm = OptimalRecoding()
    if isinstance(algorithm, TopDown):
        algorithm = TopDownSearch()
    if not isinstance(algorithm, SEARCHES):
        names = ", ".join(search.name for search in SEARCHES)
        raise UnsupportedError(
            f"{algorithm.name} has no schemes. Leave 'scheme' out, or choose one of {names}."
        )
    if algorithm.scheme is not None:
        raise InputError("'scheme' is given twice: as a key of its own and as a parameter of the algorithm.")
    return replace(
        algorithm, scheme=dict(schemes) | ({} if scheme is None else {"*": scheme}) if schemes else scheme
    )
