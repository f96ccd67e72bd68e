"""Random baskets: items alone, or a column of them beside quasi-identifiers."""

from __future__ import annotations

from random import Random
from typing import Any

from fuzz.case import Case, PlainColumn
from fuzz.draw_hierarchies import draw_paths
from fuzz.frames import FRAME_KINDS

__all__ = ["draw_baskets", "draw_items_beside"]

ALGORITHMS = (
    "apriori-items",
    "direct-items",
    "optimal-items",
    "local-items",
    "improve-items",
    "vertical-items",
    "auto",
)


def draw_baskets(rng: Random) -> Case:
    """Nothing but baskets."""
    n = rng.choice([rng.randint(2, 8), rng.randint(5, 30)])
    items, baskets = _baskets(rng, n)
    column, separator = _column(rng, baskets)
    case = Case(
        columns={"items": column, "row": PlainColumn("integer", list(range(n)))},
        quasi={},
        privacy=[_km(rng, n)],
        insensitive=["row"],
        items={"column": "items", "hierarchy": _hierarchy(rng, items), "separator": separator},
        options={"algorithm": rng.choice(ALGORITHMS), "shuffle": rng.random() < 0.1},
        frame=rng.choice([kind for kind in FRAME_KINDS if kind != "polars-categorical"]),
    )
    if rng.random() < 0.2:
        case.items["suppress"] = True
    if rng.random() < 0.1:
        case.items["multiset"] = True
    elif rng.random() < 0.4:
        case.privacy.append(_confidence(rng, items, case.privacy[0]["m"]))
    if rng.random() < 0.05:
        case.options["time_limit"] = 1e-9
    return case


def draw_items_beside(rng: Random, case: Case) -> None:
    """Add a column of items to a table."""
    items, baskets = _baskets(rng, case.n)
    column, separator = _column(rng, baskets)
    case.columns["items"] = column
    case.items = {"column": "items", "hierarchy": _hierarchy(rng, items), "separator": separator}
    if rng.random() < 0.3:
        case.items["weight"] = rng.choice([0, 0.2, 0.9, 1])
    if rng.random() < 0.5:
        case.items["algorithm"] = rng.choice(ALGORITHMS)
    if rng.random() < 0.15:
        case.items["suppress"] = True
    model = case.privacy[0]
    case.privacy[0] = {"model": "km-anonymity", "k": model["k"], "m": rng.choice([1, 2, 2, 3])}
    case.options.pop("suppression", None)
    case.options.pop("suppressed", None)


def _baskets(rng: Random, n: int) -> tuple[list[str], list]:
    items = [f"i{number}" for number in range(rng.choice([1, 2, 3, 4, 5, 6, 8]))]
    share = rng.choice([0.15, 0.3, 0.5, 0.8])
    baskets: list = [[item for item in items if rng.random() < share] for _ in range(n)]
    if rng.random() < 0.15:
        baskets[rng.randrange(n)] = None
    if rng.random() < 0.1:
        baskets[0] = [items[0], items[0]]
    if rng.random() < 0.1:
        baskets = [list(baskets[0] or [items[0]]) for _ in range(n)]
    return items, baskets


def _column(rng: Random, baskets: list) -> tuple[PlainColumn, str | None]:
    if rng.random() < 0.7:
        return PlainColumn("items", baskets), None
    separator = rng.choice([";", ",", " ", "|"])
    return PlainColumn("string", [None if b is None else separator.join(b) for b in baskets]), separator


def _km(rng: Random, n: int) -> dict[str, Any]:
    k = rng.choice([1, 2, 2, 2, 3, 3, 4, max(1, n // 2), n, n + 1 if rng.random() < 0.2 else 2])
    return {"model": "km-anonymity", "k": k, "m": rng.choice([1, 2, 2, 3, 5])}


def _hierarchy(rng: Random, items: list[str]) -> Any:
    luck = rng.random()
    if luck < 0.6:
        return {"paths": [path for path in draw_paths(rng, items) if path[0] is not None]}
    if luck < 0.7:
        return None
    return {"order": rng.choice(["natural", "frequency", "cooccurrence"]), "fanout": rng.choice([2, 3])}


def _confidence(rng: Random, items: list[str], m: int) -> dict[str, Any]:
    sensitive = rng.sample(items, rng.randint(1, max(1, len(items) // 2)))
    limit = rng.choice(["1/2", "2/3", "0.8", "0.9", "1"])
    if rng.random() < 0.4:
        return {"model": "rho-uncertainty", "sensitive": sensitive, "rho": limit, "m": m}
    return {"model": "item-confidence", "sensitive": sensitive, "limit": limit, "m": m}
