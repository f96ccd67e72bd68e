"""Random options: an algorithm with its parameters, a cost that it takes, and all the rest."""

from __future__ import annotations

from random import Random
from typing import Any

from kohort.algorithms import ALGORITHMS
from kohort.problem.costs import COSTS

__all__ = [
    "LARGEST",
    "ROUNDING_UP",
    "SCHEMES",
    "SEARCHES",
    "draw_algorithm",
    "draw_cost",
    "draw_parameters",
    "meets_alone",
    "needs_hierarchies",
    "publishes_nodes",
]

SCHEMES = ("bhs", "ghs", "gops", "ops", "gsps", "sps")
SEARCHES = ("optimal-recoding", "bottom-up", "top-down-search")
ROUNDING_UP = ("auto", "mondrian", "full-domain", "incognito", "progressive", "top-down")
OVER_INTERVALS = ("loss", "ncp", "tree")  # costs that free intervals and sets have
WEIGHTS = {  # how often each is drawn: slow ones less
    "auto": 4,
    "improve": 5,
    "k-anon": 5,
    "k-anon-cf": 8,
    "mondrian": 10,
    "agglomerative": 8,
    "sequential": 8,
    "hilbert": 8,
    "full-domain": 7,
    "incognito": 7,
    "progressive": 8,
    "top-down": 8,
    "forest": 8,
    "two-anonymity": 5,
    "three-anonymity": 4,
    "optimal": 4,
    "optimal-recoding": 5,
    "bottom-up": 4,
    "top-down-search": 4,
}
LARGEST = {  # records: what keeps a case within some tens of milliseconds
    "auto": 40,
    "improve": 40,
    "k-anon": 9,
    "optimal": 20,
    "three-anonymity": 20,
    "optimal-recoding": 8,
    "bottom-up": 8,
    "top-down-search": 8,
}
PARAMETERS: dict[str, dict[str, tuple]] = {
    "improve": {"start": ("prices", "mondrian", "k-anon-cf", "agglomerative")},
    "k-anon-cf": {"memory": (1e-6, 1.0), "records": (0.001, 10.0)},
    "mondrian": {"choose": ("cost", "range"), "strict": (False, True)},
    "agglomerative": {"distance": ("log", "added", "plain", "ratio"), "shed": (True, False)},
    "sequential": {
        "start": ("random", "hilbert"),
        "alpha": (0.01, 0.2, 1.0),
        "omega": (1.0, 1.5, 3.0),
        "passes": (1, 8),
        "polish": (False, True),
    },
    "hilbert": {"bits": (1, 4, 16), "spacing": ("tree", "even")},
    "two-anonymity": {"exact": (0, 20000)},
    "three-anonymity": {"exact": (0, 1500)},
    "bottom-up": dict.fromkeys(
        (
            "node_pruning",
            "applicator_pruning",
            "seeding",
            "modified_bfs",
            "node_rearrangement",
            "applicator_rearrangement",
            "useful_applicators",
        ),
        (True, False),
    ),
}
PARAMETERS["top-down-search"] = {
    name: values for name, values in PARAMETERS["bottom-up"].items() if name != "useful_applicators"
}


def needs_hierarchies(algorithm: str) -> bool:
    return algorithm in ("k-anon-cf", "full-domain", "incognito", "progressive", "top-down", "optimal")


def publishes_nodes(algorithm: str) -> bool:
    """Whether it refuses tight labels."""
    return algorithm in ("full-domain", "optimal", *SEARCHES)


def meets_alone(algorithm: str) -> bool:
    """Whether it promises k-anonymity and nothing else, and has no groups that could be united."""
    return algorithm in SEARCHES


def draw_algorithm(rng: Random) -> str:
    return rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]


def draw_cost(rng: Random, algorithm: str, *, free: bool = False) -> str:
    """One that the algorithm takes (and that free intervals have); rarely any."""
    if rng.random() < 0.01:
        return rng.choice(list(COSTS))
    known = [cost for cost in ALGORITHMS[algorithm].costs if not free or cost in OVER_INTERVALS]
    return rng.choice([*known, *["loss"] * 2])


def draw_parameters(rng: Random, algorithm: str) -> dict[str, Any]:
    known = PARAMETERS.get(algorithm, {})
    return {name: rng.choice(values) for name, values in known.items() if rng.random() < 0.5}
