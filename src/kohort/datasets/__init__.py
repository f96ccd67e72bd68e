"""Tables to try Kohort on: two real ones, made-up records and baskets of any size, hard ones from proofs.

Attribution and licences are in README.md beside this file.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.datasets.baskets import generate_baskets
    from kohort.datasets.builtin import example_spec, load_adult, load_health
    from kohort.datasets.hard import generate_look_alikes, generate_triangles
    from kohort.datasets.hospital import generate_admissions, generate_hospital

__all__ = [
    "example_spec",
    "generate_admissions",
    "generate_baskets",
    "generate_hospital",
    "generate_look_alikes",
    "generate_triangles",
    "load_adult",
    "load_health",
]

_MODULE_OF = {
    "example_spec": "kohort.datasets.builtin",
    "generate_admissions": "kohort.datasets.hospital",
    "generate_baskets": "kohort.datasets.baskets",
    "generate_hospital": "kohort.datasets.hospital",
    "generate_look_alikes": "kohort.datasets.hard",
    "generate_triangles": "kohort.datasets.hard",
    "load_adult": "kohort.datasets.builtin",
    "load_health": "kohort.datasets.builtin",
}


def __getattr__(name: str) -> Any:
    """Import a function when it is first asked for: NumPy and Arrow cost time to load."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return __all__
