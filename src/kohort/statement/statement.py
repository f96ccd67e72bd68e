"""Everything that is asked of a release, in one frozen object that spec, command line and Python make."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, Literal

from kohort.algorithms import Algorithm, ItemsAlgorithm
from kohort.data.ledger import Ledger
from kohort.errors import InputError
from kohort.parameters import Option, Share, check_parameters
from kohort.problem.promises import AlphaDeassociation, ItemInference, KAnonymity, KmAnonymity, Model
from kohort.problem.roles import Role, Roles
from kohort.statement.approval import Analyses, Recipient
from kohort.statement.columns import Column, EventsAsked, columns_of
from kohort.statement.items import OF_ITEMS, BasketShape, Items
from kohort.statement.options import OPTIONS, Options, options_of
from kohort.statement.privacy import Promise, in_order, with_k
from kohort.statement.rules import refuse_what_does_not_go_together
from kohort.treatments import Perturbation

_OF_ITEMS = options_of(Items)


def _given(columns: Mapping[str, Column], key: str, default: Any = None) -> dict[str, Any]:
    """The values of this key, for the columns that have it."""
    found = {name: getattr(column, key) for name, column in columns.items()}
    return {name: value for name, value in found.items() if value not in (None, "", (), default)}


def _by_column(key: str, default: Any = None) -> cached_property[dict[str, Any]]:
    """A view of what is given by column, where it is not the default."""
    return cached_property(lambda asked: _given(asked.columns, key, default))


@dataclass(frozen=True, kw_only=True)
class Statement(Options):
    """What is asked of a release: its options, its columns and its promises.

    columns      what each column is; those of the events are among them
    promises     the privacy models that every class keeps, then what is promised of items
    shape        how a file that holds nothing but baskets holds them; None: a table
    slot         of linked records: the column that says which one of a person's records it is; None: they
                 are an unordered bag
    events       the table of events that is published beside the table of people, if there is one
    recipients   who gets the release, for the dossier
    context      the steward's answers to questions of context, for the dossier
    utility      the analyses that the release is made for, for the dossier
    key          the secret for pseudonyms; never written anywhere
    ledger       what earlier releases said of the same people, under `key`; None: it is published once

    The properties are views of these: what follows from the columns, by column.
    """

    columns: Mapping[str, Column] = field(default_factory=dict)
    others: Annotated[Literal["error", "keep", "drop"], Option("columns that are not named")] = "error"
    promises: tuple[Any, ...] = ()
    items_algorithm: Annotated[str | ItemsAlgorithm, _OF_ITEMS["algorithm"].option] = "auto"
    items_weight: Annotated[Share, _OF_ITEMS["weight"].option] = 0.5
    shape: BasketShape | None = None
    slot: str | None = None
    events: EventsAsked = field(default_factory=EventsAsked)
    recipients: tuple[Recipient, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    utility: Analyses = field(default_factory=Analyses)
    key: bytes | None = field(default=None, repr=False)
    ledger: Ledger | None = field(default=None, repr=False)
    algorithm: str | Algorithm | ItemsAlgorithm = OPTIONS["algorithm"].default  # a narrower type

    def __post_init__(self) -> None:
        for promise in self.promises:
            if not isinstance(promise, Promise):
                raise InputError(
                    f"'privacy' lists models such as KAnonymity(10). Got {type(promise).__name__}."
                )
        check_parameters(self, say="{name!r}")
        for name, declared in (*OPTIONS.items(), *STATED.items()):
            declared.check(getattr(self, name))
        refuse_what_does_not_go_together(self)

    @classmethod
    def of(
        cls, *, columns: Mapping[str, Column] | Roles, promises: Iterable[Any] = (), **more: Any
    ) -> Statement:
        """The statement, with what its promises imply for its options; columns may be said by roles alone."""
        if isinstance(columns, Roles):
            more["others"], columns = columns.others, columns_of(columns.of)
        ordered = in_order(tuple(promises))
        if any(isinstance(promise, Model) and promise.by_sampling for promise in ordered):
            # a promise draws records: the others are left out, and the order must not tell of them
            more |= {"suppression": 1.0, "suppressed": "drop", "shuffle": True}
        return cls(columns=columns, promises=ordered, **more)

    def overridden(self, *, k: int | None = None, **changes: Any) -> Statement:
        """The same statement with some options changed, those that are not None; `k` changes the promises."""
        changes = {name: value for name, value in changes.items() if value is not None}
        if changes.get("algorithm") == self.algorithm_name:
            del changes["algorithm"]  # it keeps its parameters
        return self.promising(self.promises if k is None else with_k(self.promises, k), **changes)

    def promising(self, promises: Iterable[Any], **changes: Any) -> Statement:
        """The same statement with other promises."""
        return replace(self, promises=in_order(tuple(promises)), **changes)

    def with_columns(self, **given: Mapping[str, Any]) -> Statement:
        """The same statement with something else said of some columns, such as `weight={"age": 2}`."""
        columns = dict(self.columns)
        for key, of in given.items():
            columns |= {name: replace(columns[name], **{key: value}) for name, value in of.items()}
        return replace(self, columns=columns)

    # -- the columns, by what is asked of them ---------------------------------------------------------

    @cached_property
    def roles(self) -> Roles:
        """The role of each column; the key of events and the slot of a history have one by themselves."""
        of: dict[str, Role] = _given(self.columns, "role")
        if self.slot is not None:
            of |= {self.slot: "insensitive"}
        if self.events:  # of items, the joined table has one record per person
            of |= {self.events.key: "identifier" if "items" in of.values() else "person"}
        return Roles(of, self.others)

    @cached_property
    def treatments(self) -> dict[str, str]:
        """The treatment of each column that has one, by its word; links are published as pseudonyms."""
        found = _given(self.columns, "how")
        household = self.roles.only("household")
        if household is not None:  # who finds one member finds all: that is seen, and protected
            found = {household: "pseudonym", **found}
        return {**found, self.events.key: "pseudonym"} if self.events else found

    @cached_property
    def perturbations(self) -> dict[str, Perturbation]:
        """The treatments with a size: noise, rank swapping, PRAM, limits or rounding."""
        return {
            n: how for n, how in _given(self.columns, "treatment").items() if isinstance(how, Perturbation)
        }

    @cached_property
    def hierarchies(self) -> dict[str, Any]:
        """The hierarchies of quasi-identifiers and sensitive columns, or how to build them."""
        of_others = _given(self.columns, "hierarchy")
        return {n: source for n, source in of_others.items() if self.columns[n].role != "items"}

    @cached_property
    def orders(self) -> dict[str, list[str]]:
        """The values of columns in an order that is not the natural one."""
        return {name: list(order) for name, order in _given(self.columns, "order").items()}

    on_missing = _by_column("on_missing", "error")
    publish = _by_column("publish", "interval")  # what classes publish of columns of numbers: mean or median
    weights = _by_column("weight", 1)
    joins = _by_column("join")  # the columns of one name have the same pseudonyms
    schemes = _by_column("scheme")  # of single columns, instead of `scheme`

    @cached_property
    def items(self) -> Items:
        """The set-valued column, if there is one, and how to publish it."""
        if (name := self.roles.only("items")) is None:
            return Items("")
        how = {key: getattr(self.columns[name], key) for key in OF_ITEMS}
        return Items(name, **how, algorithm=self.items_algorithm, weight=self.items_weight)

    @property
    def linked_by(self) -> str | None:
        """The column whose pseudonyms link the published records of a person or, if there are households,
        of a household; None: they are not linked."""
        if (household := self.roles.only("household")) is not None:
            return household
        person = self.roles.only("person")
        return person if person is not None and self.treatments.get(person) == "pseudonym" else None

    @property
    def linked(self) -> bool:
        """Whether the published records of a person or household are seen together."""
        return self.linked_by is not None

    @property
    def fresh_key(self) -> str | None:
        """The column whose pseudonyms need no secret of the user's: they link records and nothing else."""
        return self.events.key or self.linked_by

    # -- the promises ----------------------------------------------------------------------------------

    @cached_property
    def models(self) -> tuple[Model, ...]:
        """The promises of classes."""
        return tuple(promise for promise in self.promises if isinstance(promise, Model))

    @property
    def km(self) -> KmAnonymity | None:
        """What is promised of items."""
        return next((each for each in self.promises if isinstance(each, KmAnonymity)), None)

    @property
    def confidence(self) -> ItemInference | None:
        """What is promised of sensitive items."""
        return next((each for each in self.promises if isinstance(each, ItemInference)), None)

    @cached_property
    def table_models(self) -> tuple[Model, ...]:
        """The models of the quasi-identifiers: classes must be large enough for the promise about items.

        Where values of a column are protected over known items, no class may imply one by itself.
        """
        if not self.km:
            return self.models
        k = max([self.km.k, *(model.k for model in self.models if isinstance(model, KAnonymity))])
        others = [model for model in self.models if not isinstance(model, KAnonymity)]
        if self.confidence and self.confidence.attribute:
            others.append(AlphaDeassociation(self.confidence.attribute, self.confidence.asked))
        return (KAnonymity(k), *others)

    @property
    def k(self) -> int:
        """The smallest class that the models of the quasi-identifiers allow; 1 where no k is asked for."""
        return max((model.needed_k for model in self.table_models), default=1)

    @property
    def asked_k(self) -> int | None:
        """The k that is asked for by itself, not one that another promise needs."""
        return next((promise.k for promise in self.promises if promise.spec_key in ("k", "known", "m")), None)

    # -- the options -----------------------------------------------------------------------------------

    @property
    def algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    @property
    def has_scheme(self) -> bool:
        """Whether it is said how values may be merged, of all columns or of single ones."""
        return self.scheme is not None or bool(self.schemes)

    @property
    def kept_by_maps(self) -> dict[str, Any]:
        """The options that the maps of a release keep, by name."""
        return {name: getattr(self, name) for name, declared in OPTIONS.items() if declared.option.in_maps}

    @property
    def may_drop(self) -> bool:
        """Whether records may be left out: asked for, or because they may not be published as `*`."""
        return self.suppressed == "drop" or self.suppression > 0 or self.sample < 1


STATED = {name: declared for name, declared in options_of(Statement).items() if name not in OPTIONS}
"""The options of a statement that Python says in other words: `others`, and those of `Items`."""
OPTION_KEYS = {name: declared for name, declared in OPTIONS.items() if declared.option.in_spec} | STATED
"""The keys of the spec that are a word, a number or a switch."""
