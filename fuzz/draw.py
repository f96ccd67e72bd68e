"""A random case from a seed and a number: the same two always give the same case."""

from __future__ import annotations

from random import Random
from typing import Any

from by_definition.original_columns import OriginalColumn
from fuzz.case import Case, PlainColumn, python_values
from fuzz.draw_columns import KINDS, draw_column, draw_sensitive
from fuzz.draw_hierarchies import draw_hierarchy, draw_paths
from fuzz.draw_items import draw_baskets, draw_items_beside
from fuzz.draw_models import draw_k, draw_model
from fuzz.draw_options import (
    LARGEST,
    ROUNDING_UP,
    SCHEMES,
    SEARCHES,
    draw_algorithm,
    draw_cost,
    draw_parameters,
    meets_alone,
    needs_hierarchies,
    publishes_nodes,
)
from fuzz.frames import FILE_KINDS, FRAME_KINDS
from fuzz.spec import has_spec

__all__ = ["draw_case"]

FILE_SHARE = 0.01
ITEMS_SHARE = 0.09
PERSON_SHARE = 0.15
WEIGHT_SHARE = 0.06
_ANY = {"integer": 0, "string": "bee", "date": "2024-02-29"}


def draw_case(seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    rng = Random(f"{seed}:{number}")
    if rng.random() < ITEMS_SHARE / 2:
        return draw_baskets(rng)
    return _table_case(rng)


def _table_case(rng: Random) -> Case:
    algorithm = draw_algorithm(rng)
    n = min(_draw_n(rng), LARGEST.get(algorithm, 300))
    file = rng.choice(FILE_KINDS) if rng.random() < FILE_SHARE else None
    required = needs_hierarchies(algorithm) or rng.random() < 0.3
    case = Case(columns={}, quasi={}, privacy=[], frame=file or rng.choice(FRAME_KINDS))
    most = 3 if algorithm in SEARCHES else 5
    for number in range(min(rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5]), most)):
        _add_quasi(rng, case, f"q{number}", n, required, file)
    _tie_rows(rng, case, n)
    _add_others(rng, case, n)
    case.privacy = [{"model": "k-anonymity", "k": _k_for(rng, algorithm, n)}]
    case.options = _options(rng, case, algorithm)
    _add_models(rng, case)
    if algorithm in ("auto", "mondrian") and rng.random() < 0.25 and file is None:
        draw_items_beside(rng, case)
    if rng.random() < PERSON_SHARE:
        _add_person(rng, case)
    if rng.random() < WEIGHT_SHARE and case.items is None:
        _add_weight(rng, case)
    if rng.random() < 0.06 and has_spec(case) and case.person is None and case.weight is None:
        _say_it_by_spec(rng, case)
    names = list(case.columns)
    rng.shuffle(names)
    case.columns = {name: case.columns[name] for name in names}
    return case


def _say_it_by_spec(rng: Random, case: Case) -> None:
    """Hand the wishes over as a spec; only there sensitive columns have hierarchies."""
    case.by_spec = True
    for name in case.sensitive:
        original = OriginalColumn(python_values(case.columns[name]))
        if case.columns[name].kind not in ("string", "boolean") or not original.distinct or original.has_null:
            continue
        case.trees[name] = draw_paths(rng, original.distinct, null=False)
        t = rng.choice(["1/4", "1/2", "3/4"])
        asked = {"model": "t-closeness", "attribute": name, "t": t, "distance": "hierarchical"}
        if case.n <= 20 and case.algorithm not in SEARCHES:
            case.privacy.append(asked)


def _draw_n(rng: Random) -> int:
    luck = rng.random()
    if luck < 0.35:
        return rng.randint(2, 7)
    if luck < 0.75:
        return rng.randint(6, 20)
    if luck < 0.95:
        return rng.randint(21, 40)
    return rng.randint(41, 300)


def _add_quasi(rng: Random, case: Case, name: str, n: int, required: bool, file: str | None) -> None:
    known = [kind for kind in KINDS if file is None or kind in ("integer", "plain", "date", "codes")]
    kind = rng.choices(known, [KINDS[kind] for kind in known])[0]
    column = draw_column(rng, n, kind)
    if file is not None:  # whether an empty cell of a text file is missing is tested elsewhere
        known = [value for value in column.values if value is not None] or [_ANY[column.kind]]
        column.values = [known[0] if value is None else value for value in column.values]
    case.columns[name] = column
    original = OriginalColumn(python_values(column))
    case.quasi[name] = draw_hierarchy(rng, kind, original, required=required)


def _tie_rows(rng: Random, case: Case, n: int) -> None:
    """Make some tables repeat rows, or consist of a single distinct one."""
    luck = rng.random()
    if luck > 0.12:
        return
    rows = 1 if luck < 0.02 else max(1, n // rng.choice([2, 3, 4]))
    for name in case.quasi:
        column = case.columns[name]
        column.values = [column.values[record % rows] for record in range(n)]


def _add_others(rng: Random, case: Case, n: int) -> None:
    for number in range(rng.choice([0, 1, 1, 1, 2])):
        case.columns[f"s{number}"] = draw_sensitive(rng, n)
        case.sensitive.append(f"s{number}")
    case.columns["row"] = PlainColumn("integer", list(range(n)))
    case.insensitive.append("row")
    if rng.random() < 0.1:
        case.columns["name"] = PlainColumn("string", [f"p{record}" for record in range(n)])
        case.identifiers.append("name")
    if rng.random() < 0.15:
        rest = case.columns["rest"] = draw_column(rng, n, rng.choice(list(KINDS)))
        if case.frame == "xlsx":  # which has no empty texts
            rest.values = [None if value == "" else value for value in rest.values]
        case.insensitive.append("rest")


def _add_person(rng: Random, case: Case) -> None:
    """Give people several records each, where the judge knows all that is asked in terms of people."""
    if case.items is not None or any(m.get("distance", "equal") != "equal" for m in case.privacy):
        return
    n_people = rng.randint(max(1, case.n // 4), case.n)
    whose = [rng.randrange(n_people) for _ in range(case.n)]
    case.columns["person"] = PlainColumn("string", [f"person {number}" for number in whose])
    case.person = "person"


def _add_weight(rng: Random, case: Case) -> None:
    """Let records stand for unequal numbers of people."""
    weights = rng.choice([[1], [1, 2], [0.5, 1, 4], [1, 1, 1, 1000], [0.001, 1e6]])
    case.columns["weight"] = PlainColumn("float", [float(rng.choice(weights)) for _ in range(case.n)])
    case.weight = "weight"


def _k_for(rng: Random, algorithm: str, n: int) -> int:
    own = {"two-anonymity": 2, "three-anonymity": 3}.get(algorithm)
    return draw_k(rng, n) if own is None or rng.random() < 0.03 else own


def _options(rng: Random, case: Case, algorithm: str) -> dict[str, Any]:
    options: dict[str, Any] = {"algorithm": algorithm, "cost": draw_cost(rng, algorithm), "shuffle": False}
    if rng.random() < 0.2 and (parameters := draw_parameters(rng, algorithm)):
        options["parameters"] = parameters
    if rng.random() < (0.03 if publishes_nodes(algorithm) else 0.3):
        options["labels"] = "tight"
    if options.get("labels") == "tight" or None in case.quasi.values():
        options["cost"] = draw_cost(rng, algorithm, free=True)
    if rng.random() < 0.3:
        options["suppression"] = rng.choice([0.05, 0.1, 0.25, 0.34, 0.5, 0.9])
        options["suppressed"] = rng.choice(["star", "drop"])
    if rng.random() < 0.2:
        options["nulls"] = rng.choice(["star"] * 6 + ["refuse"])
    if rng.random() < 0.2:
        options["weights"] = {
            name: rng.choice([0, 0.5, 1, 3, 1e6]) for name in case.quasi if rng.random() < 0.6
        }
    if rng.random() < 0.3:
        options["seed"] = rng.choice([1, 2, 3, 2**31, 2**40])
    if rng.random() < 0.25:
        options["shuffle"] = rng.choice([True, "auto"])
    if rng.random() < 0.06:
        options["time_limit"] = rng.choice([1e-9, 0.001, 0.2])
    if rng.random() < 0.05:
        options["diversify_weight"] = rng.choice([0, 0.5, 1])
    options |= _orders(rng, case) | _schemes(rng, case, algorithm)
    if rng.random() < 0.05:
        _lose_leaves(rng, case, options)
    return options


def _orders(rng: Random, case: Case) -> dict[str, Any]:
    texts = [name for name in (*case.quasi, *case.sensitive) if case.columns[name].kind == "string"]
    if not texts or rng.random() > 0.1:
        return {}
    name = rng.choice(texts)
    known = sorted({value for value in case.columns[name].values if value is not None})
    order = [*known, "unused"] if rng.random() < 0.3 else known
    rng.shuffle(order)
    return {"orders": {name: order}}


def _schemes(rng: Random, case: Case, algorithm: str) -> dict[str, Any]:
    if algorithm not in SEARCHES or rng.random() < 0.3:
        return {}
    found: dict[str, Any] = {"labels": "hierarchy"}
    if algorithm != "optimal-recoding":  # these look at all sets of values, whatever that takes
        found["time_limit"] = 0.2
    if rng.random() < 0.1:
        found["suppression"] = 1
    if rng.random() < 0.6:
        found["scheme"] = rng.choice(SCHEMES if None not in case.quasi.values() else ("ops", "sps"))
    else:
        found["scheme"] = {
            name: rng.choice(("ops", "sps") if source is None else SCHEMES)
            for name, source in case.quasi.items()
        }
    return found


def _lose_leaves(rng: Random, case: Case, options: dict[str, Any]) -> None:
    """Take a leaf out of a hierarchy: an error, or a value that is always published as `*`."""
    trees = [name for name, source in case.quasi.items() if isinstance(source, dict) and "paths" in source]
    if trees and len(paths := case.quasi[rng.choice(trees)]["paths"]) > 1:
        del paths[rng.randrange(len(paths))]
        options["on_missing"] = rng.choice(["suppress", "suppress", "error"])


def _add_models(rng: Random, case: Case) -> None:
    if not case.sensitive or rng.random() < (0.97 if meets_alone(case.algorithm) else 0.35):
        return
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        name = rng.choice(case.sensitive)
        values = python_values(case.columns[name])
        order = case.options.get("orders", {}).get(name)
        ordered = OriginalColumn(values, order).ordered
        ceiling = case.algorithm in ROUNDING_UP
        case.privacy.append(draw_model(rng, name, values, ordered=ordered, ceiling=ceiling))
