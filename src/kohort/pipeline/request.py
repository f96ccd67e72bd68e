"""Everything that a user asks of a release, in one frozen object that spec, command line and Python build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, get_args

from kohort.algorithms import Algorithm, ItemsAlgorithm, items_algorithm_named
from kohort.data.build_hierarchy import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError
from kohort.options import OPTIONS, Options, options_of
from kohort.parameters import Option, Share, check_parameters
from kohort.problem.items import SENSITIVE_BESIDE_A_TABLE
from kohort.problem.models import ItemConfidence, KAnonymity, KmAnonymity, Model
from kohort.problem.roles import Roles

__all__ = ["Items", "Request", "Treatment"]

Treatment = Literal["drop", "pseudonym", "mask"]


def _known_items_algorithm(algorithm: Any) -> None:
    if isinstance(algorithm, str) and algorithm != "auto":
        items_algorithm_named(algorithm)


@dataclass(frozen=True)
class Items:
    """The set-valued column of a table, and how to publish it.

    column     its name
    hierarchy  over the items: a builder, a Hierarchy, or None for one by frequency, five items to a node
    separator  the character between the items, where a cell is a text and no list
    multiset   whether an item that a basket has twice is another than one it has once
    algorithm  the name of an algorithm for items, such as local-items; auto is apriori-items
    weight     beside quasi-identifiers: how much the loss of the items counts against theirs, 0 to 1
    """

    column: str
    hierarchy: Builder | Hierarchy | None = None
    separator: str | None = None
    multiset: bool = False
    algorithm: Annotated[
        str | ItemsAlgorithm, Option("how to search for the items", check=_known_items_algorithm)
    ] = "auto"
    weight: Annotated[Share, Option("beside quasi-identifiers: how much the loss of the items counts")] = 0.5

    def __post_init__(self) -> None:
        check_parameters(self, say="The {name!r} of items")
        if self.separator is not None and len(self.separator) != 1:
            raise InputError(f"The 'separator' of items must be one character. Got {self.separator!r}.")
        for name, declared in options_of(Items).items():
            declared.check(getattr(self, name))


@dataclass(frozen=True, kw_only=True)
class Request(Options):
    """What is asked of a release: its options, its columns and its promises.

    roles        the role of each column
    models       the privacy models that every class keeps
    hierarchies  per quasi-identifier (or sensitive column) a builder, a Hierarchy, or None
    orders       per column the order of its values
    on_missing   per quasi-identifier: error, or suppress (values missing from its hierarchy become `*`)
    treatments   per identifier: drop, pseudonym or mask
    joins        per identifier with pseudonyms: a name; columns of the same name have the same pseudonyms
    key          the secret for pseudonyms; never written anywhere
    weights      per quasi-identifier how much its detail is worth
    schemes      per quasi-identifier a generalization scheme of its own, instead of `scheme`
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
    schemes: Mapping[str, str] = field(default_factory=dict)
    items: Items | None = None
    km: KmAnonymity | None = None
    confidence: ItemConfidence | None = None
    algorithm: str | Algorithm | ItemsAlgorithm = OPTIONS["algorithm"].default  # a narrower type

    def __post_init__(self) -> None:
        for model in self.models:
            if not isinstance(model, Model):
                raise InputError(
                    f"'privacy' lists models such as KAnonymity(10). Got {type(model).__name__}."
                )
        check_parameters(self, say="{name!r}")
        for name, declared in OPTIONS.items():
            declared.check(getattr(self, name))
        self._check_identifiers()
        self._check_columns()
        self._check_items()

    @property
    def algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    @property
    def kept_by_maps(self) -> dict[str, Any]:
        """The options that the maps of a release keep, by name."""
        return {name: getattr(self, name) for name, declared in OPTIONS.items() if declared.option.in_maps}

    def _check_identifiers(self) -> None:
        for column, treatment in self.treatments.items():
            _one_of(f"treatment of {column}", treatment, get_args(Treatment))
        for column in self.joins:
            if self.treatments.get(column) != "pseudonym":
                raise InputError(
                    f"A join is given for {column!r}, which is not published as pseudonyms. "
                    "Give it the treatment pseudonym, or leave out the join."
                )

    def _check_columns(self) -> None:
        for column, choice in self.on_missing.items():
            _one_of(f"on_missing of {column}", choice, ("error", "suppress"))
        described = ("quasi-identifier", "sensitive")
        trees = [column for column, source in self.hierarchies.items() if source is not None]
        self._refuse_others("An order", self.orders, described)
        self._refuse_others("A hierarchy", trees, described)
        self._refuse_others("A scheme", self.schemes, ("quasi-identifier",))
        self._refuse_others("A weight", self.weights, ("quasi-identifier",))

    def _refuse_others(self, what: str, columns: Iterable[str], roles: Sequence[str]) -> None:
        """Refuse what is given for a column that has none of the roles."""
        wrong = "neither a quasi-identifier nor sensitive" if len(roles) > 1 else "not a quasi-identifier"
        for column in columns:
            if self.roles.of.get(column) not in roles:
                raise InputError(f"{what} is given for {column!r}, which is {wrong}.")

    @property
    def table_models(self) -> tuple[Model, ...]:
        """The models of the quasi-identifiers: classes must be large enough for the promise about items."""
        if self.km is None:
            return self.models
        k = max([self.km.k, *(model.k for model in self.models if isinstance(model, KAnonymity))])
        return (KAnonymity(k), *(model for model in self.models if not isinstance(model, KAnonymity)))

    @property
    def k(self) -> int:
        """The smallest class that the models of the quasi-identifiers allow; 1 where no k is asked for."""
        return max((model.k for model in self.table_models if isinstance(model, KAnonymity)), default=1)

    @property
    def may_drop(self) -> bool:
        """Whether records may be left out: asked for, or because they may not be published as `*`."""
        return self.suppressed == "drop" or self.suppression > 0

    def _check_items(self) -> None:
        named = self.roles.having("items")
        if len(named) > 1:
            raise UnsupportedError(
                f"{len(named)} columns have the role items; one is possible. Put all items into one column, "
                "or drop the others with the role identifier."
            )
        if named and self.km is None:
            raise InputError(
                f"Column {named[0]!r} has the role items, but nothing is promised about it. Say how many "
                f"items others may know, such as privacy: {{k: 5, m: 2}}, or drop it with the role "
                "identifier."
            )
        if self.km is not None and not named:
            raise InputError("'m' is about a column of items, but no column has the role items.")
        if self.confidence is not None:
            self._check_confidence()
        if named and self.suppression > 0:
            raise UnsupportedError("A table with items cannot withhold records. Set suppression: 0.")

    def _check_confidence(self) -> None:
        if self.items is None:
            raise InputError("'confidence' is about a column of items, but no column has the role items.")
        if self.roles.having("quasi-identifier"):
            raise UnsupportedError(SENSITIVE_BESIDE_A_TABLE)
        if self.items.multiset:
            raise UnsupportedError("Sensitive items (confidence) do not go together with multiset: true.")


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"'{name}' must be {' or '.join(allowed)}. Got {value!r}.")
