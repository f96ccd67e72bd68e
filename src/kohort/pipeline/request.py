"""All that a user asks for, in one frozen object: the spec, the command line and Python all make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kohort.algorithms import Algorithm, ItemsAlgorithm
from kohort.algorithms.local.diversify import WEIGHT
from kohort.data.build_hierarchy import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.parameters import Seconds, Seed, Share, check_parameters
from kohort.problem.items import SENSITIVE_BESIDE_A_TABLE
from kohort.problem.models import ItemConfidence, KmAnonymity, Model
from kohort.problem.roles import Roles

__all__ = ["Items", "Request", "Treatment"]

Treatment = Literal["drop", "pseudonym", "mask"]


@dataclass(frozen=True)
class Items:
    """The set-valued column of a table, and how to publish it.

    column     its name
    hierarchy  over the items: a builder, a Hierarchy, or None: by frequency, five at a time
    separator  what separates the items where a cell is a text and no list
    multiset   whether an item that a basket has twice is another than one it has once
    algorithm  apriori-items, direct-items or optimal-items; auto is the first
    weight     beside quasi-identifiers: how much the loss of the items counts against theirs, 0 to 1
    """

    column: str
    hierarchy: Builder | Hierarchy | None = None
    separator: str | None = None
    multiset: bool = False
    algorithm: str | ItemsAlgorithm = "auto"
    weight: Share = 0.5

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of items")
        if self.separator is not None and len(self.separator) != 1:
            raise InputError(f"The 'separator' of items must be one character. Got {self.separator!r}.")


@dataclass(frozen=True)
class Request:
    """What is asked for.

    hierarchies  per quasi-identifier (or sensitive column) a builder, a Hierarchy, or None
    orders       per column the order of its values
    on_missing   per quasi-identifier: error, or suppress (values missing from its hierarchy become `*`)
    treatments   per identifier: drop, pseudonym or mask
    joins        per identifier with pseudonyms: a name; columns of the same name have the same pseudonyms
    key          the secret for pseudonyms; never written anywhere
    nulls        value: a missing value is a value of its own; star: it is published as `*`; refuse: an error
    suppressed   star: a withheld record is `*` in every quasi-identifier, or left out where that is not safe;
                 drop: it is left out
    labels       hierarchy: node labels; tight: the interval or set of values that a class really has
    formulas     whether texts that begin like a formula are written to CSV as they are (keep) or after an
                 apostrophe (escape)
    shuffle      auto: records are published in another order where the original one tells something; else
                 always or never
    diversify_weight  where groups are united to satisfy models: how much the cost counts against the models
    scheme, schemes  the generalization scheme of all quasi-identifiers, and those of single ones
    items, km    the set-valued column, and what is promised of it
    confidence   what is promised of its sensitive items
    """

    roles: Roles
    models: tuple[Model, ...]
    hierarchies: Mapping[str, Builder | Hierarchy | None] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_missing: Mapping[str, str] = field(default_factory=dict)
    treatments: Mapping[str, str] = field(default_factory=dict)
    joins: Mapping[str, str] = field(default_factory=dict)
    key: bytes | None = field(default=None, repr=False)
    weights: Mapping[str, float] = field(default_factory=dict)
    cost: str = "loss"
    algorithm: str | Algorithm | ItemsAlgorithm = "auto"
    engine: str = "local"
    suppression: Share = 0.0
    suppressed: Literal["star", "drop"] = "star"
    labels: Literal["hierarchy", "tight"] = "hierarchy"
    nulls: Literal["value", "star", "refuse"] = "value"
    formulas: Literal["keep", "escape"] = "keep"
    diversify_weight: Share = WEIGHT
    shuffle: bool | Literal["auto"] = "auto"
    seed: Seed = 0
    time_limit: Seconds | None = None
    scheme: str | None = None
    schemes: Mapping[str, str] = field(default_factory=dict)
    items: Items | None = None
    km: KmAnonymity | None = None
    confidence: ItemConfidence | None = None

    def __post_init__(self) -> None:
        for model in self.models:
            if not isinstance(model, Model):
                raise InputError(
                    f"'privacy' lists models such as KAnonymity(10). Got {type(model).__name__}."
                )
        check_parameters(self, say="{name!r}")
        for column, choice in self.on_missing.items():
            _one_of(f"on_missing of {column}", choice, ("error", "suppress"))
        for column, treatment in self.treatments.items():
            _one_of(f"treatment of {column}", treatment, get_args(Treatment))
        for column in self.joins:
            if self.treatments.get(column) != "pseudonym":
                raise InputError(
                    f"A join is given for {column!r}, which is not published as pseudonyms. "
                    "Give it the treatment pseudonym, or leave out the join."
                )
        for column in self.orders:
            if self.roles.of.get(column) not in ("quasi-identifier", "sensitive"):
                raise InputError(
                    f"An order is given for {column!r}, which is neither a quasi-identifier nor sensitive."
                )
        quasi = self.roles.having("quasi-identifier")
        for column, source in self.hierarchies.items():
            if source is not None and self.roles.of.get(column) not in ("quasi-identifier", "sensitive"):
                raise InputError(
                    f"A hierarchy is given for {column!r}, which is neither a quasi-identifier nor sensitive."
                )
        self._check_items()
        for column in self.schemes:
            if column not in quasi:
                raise InputError(f"A scheme is given for {column!r}, which is not a quasi-identifier.")
        for column in self.weights:
            if column not in quasi:
                raise InputError(f"A weight is given for {column!r}, which is not a quasi-identifier.")

    @property
    def algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    def _check_items(self) -> None:
        named = self.roles.having("items")
        if len(named) > 1:
            raise UnsupportedError(
                f"{len(named)} columns have the role items; one is possible. Put all items into one column, "
                "or drop the others with the role identifier."
            )
        if named and self.km is None:
            raise InputError(
                f"Column {named[0]!r} has the role items, but nothing is promised of it. Say how many items "
                "others may know, such as privacy: {k: 5, m: 2}, or drop it with the role identifier."
            )
        if self.km is not None and not named:
            raise InputError("'m' is about a column of items, and no column has the role items.")
        if self.confidence is not None:
            self._check_confidence()
        if named and self.suppression > 0:
            raise UnsupportedError("A table with items cannot withhold records. Set suppression: 0.")

    def _check_confidence(self) -> None:
        if self.items is None:
            raise InputError("'confidence' is about a column of items, and no column has the role items.")
        if self.roles.having("quasi-identifier"):
            raise UnsupportedError(SENSITIVE_BESIDE_A_TABLE)
        if self.items.multiset:
            raise UnsupportedError("Sensitive items (confidence) do not go together with multiset: true.")


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"'{name}' must be {' or '.join(allowed)}. Got {value!r}.")
