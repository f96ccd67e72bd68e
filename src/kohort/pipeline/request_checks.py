"""What some promises and treatments do not go together with, and what follows from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kohort.data.hierarchies.build_hierarchy import Auto, ByFrequency, Mask, Order, Quantiles
from kohort.errors import InputError, UnsupportedError
from kohort.problem.roles import Role

if TYPE_CHECKING:
    from kohort.pipeline.request import Request

_FROM_THE_DATA = (Auto, ByFrequency, Mask, Order, Quantiles)
"""Builders whose labels of a value depend on the other values: a mask is as long as the longest one."""
_NOT_GENERALIZED: tuple[Role, ...] = ("sensitive", "insensitive", "items", "weight", "household", "person")


def refuse_what_does_not_go_together(request: Request) -> None:
    """Raise UnsupportedError for promises and treatments beside others that they do not go together with."""
    _check_table_models(request)
    if request.counterfeits and request.again != "m-invariance":
        raise InputError(
            f"'counterfeits' are for again: m-invariance, and this release is made with {request.again}, "
            "which publishes none. Set counterfeits: 0, or again: m-invariance."
        )
    sampled = [model.name for model in request.models if model.by_sampling]
    if sampled:
        _check_sampling(request, sampled)
    if request.perturbations and (request.linked_by is not None or request.events is not None):
        raise UnsupportedError(
            "Columns of linked records cannot be perturbed one record at a time: the records of a person "
            "would tell what they have in common. Leave the treatments out."
        )


def settled_by_sampling(request: Request) -> dict[str, Any]:
    """Where a promise draws records, the others are left out, and the order must not tell of them."""
    if not any(model.by_sampling for model in request.models):
        return {}
    return {"suppression": 1.0, "suppressed": "drop", "shuffle": True}


def _check_table_models(request: Request) -> None:
    named = [model.name for model in request.models if model.of_table]
    if not named:
        return
    if request.suppression > 0:
        raise UnsupportedError(
            f"{named[0]} is a promise about a whole table, of which no record may be withheld. Set "
            "suppression: 0."
        )
    if request.roles.only("person") is not None or request.roles.only("household") is not None:
        raise UnsupportedError(
            f"{named[0]} counts records, not people. Leave out the role person, if everybody has one record, "
            "or ask for another model."
        )
    if request.labels != "hierarchy" or request.scheme is not None or request.schemes:
        raise UnsupportedError(
            f"{named[0]} is kept by searches over the levels of hierarchies. Leave out 'scheme', and set "
            "labels: hierarchy."
        )


def _check_sampling(request: Request, sampled: list[str]) -> None:
    others = [m.name for m in request.models if not (m.by_sampling or m.only_counts)]
    if others or len(sampled) > 1 or request.km is not None:
        raise UnsupportedError(f"{sampled[0]} goes together with k alone. Leave out the other promises.")
    named = [column for role in _NOT_GENERALIZED for column in request.roles.having(role)]
    if named or request.roles.others == "keep" or request.events is not None:
        told = f" Not so: {', '.join(map(repr, named))}." if named else ""
        raise UnsupportedError(
            f"Under {sampled[0]} every published column counts, whatever others know: give every column the "
            f"role quasi-identifier, with a hierarchy, or drop it with the role identifier.{told}"
        )
    if request.labels == "tight" or set(request.publish.values()) - {"interval"}:
        raise UnsupportedError(
            f"Under {sampled[0]} labels must not depend on the data. Set labels: hierarchy, and leave out "
            "'publish'."
        )
    for column, source in request.hierarchies.items():
        if isinstance(source, _FROM_THE_DATA):
            raise UnsupportedError(
                f"The hierarchy of {column!r} is built from the data, and {sampled[0]} needs one that does "
                "not depend on them: a file, intervals, date, groups or code."
            )
