"""Everything that a user asks of a release, in one frozen object that spec, command line and Python build."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from kohort.algorithms import Algorithm, ItemsAlgorithm
from kohort.data.hierarchies.build_hierarchy import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.data.ledger import Ledger
from kohort.errors import InputError, UnsupportedError
from kohort.options import OPTIONS, Options
from kohort.parameters import check_parameters
from kohort.pipeline.approval import Analyses, Recipient, check_recipients, read_context
from kohort.pipeline.events import Events
from kohort.pipeline.items import Items
from kohort.pipeline.request_checks import refuse_what_does_not_go_together, settled_by_sampling
from kohort.pipeline.with_ledger import refuse_with_ledger
from kohort.problem.promises import (
    AlphaDeassociation,
    ItemInference,
    KAnonymity,
    KmAnonymity,
    Model,
)
from kohort.problem.roles import Role, Roles
from kohort.treatments import PERTURBATIONS, Perturbation, perturbation_of

Treatment = Literal["drop", "pseudonym", "mask", "keep", "shift"]
"""The treatments that are a word; others are a `Perturbation`, with its size."""
TREATMENTS: dict[str, tuple[str, ...]] = {
    "identifier": ("drop", "pseudonym", "mask"),
    "person": ("drop", "pseudonym"),
    "household": ("pseudonym",),
    "weight": ("drop", "keep"),
    "sensitive": ("keep", *PERTURBATIONS),
    "insensitive": ("keep", "shift", *PERTURBATIONS),
}
"""The treatments of the columns that have a role, the default first."""


@dataclass(frozen=True, kw_only=True)
class Request(Options):
    """What is asked of a release: its options, its columns and its promises.

    roles        the role of each column
    models       the privacy models that every class keeps
    hierarchies  per quasi-identifier (or sensitive column) a builder, a Hierarchy, or None
    orders       per column the order of its values
    on_missing   per quasi-identifier: error, or suppress (values missing from its hierarchy become `*`)
    treatments   per identifier: drop, pseudonym or mask; per person: drop or pseudonym, which links its
                 records; per weight: drop or keep; per insensitive column: keep, or shift, for dates
    perturbations  per sensitive or insensitive column: noise, rank swapping, PRAM, limits or rounding
    slot         of linked records: the column that says which one of a person's records it is; None: they
                 are an unordered bag
    joins        per identifier with pseudonyms: a name; columns of the same name have the same pseudonyms
    key          the secret for pseudonyms; never written anywhere
    weights      per quasi-identifier how much its detail is worth
    publish      per quasi-identifier of numbers what classes publish of it: interval, mean or median
    schemes      per quasi-identifier a generalization scheme of its own, instead of `scheme`
    items, km    the set-valued column, and what is promised of it
    confidence   what is promised of its sensitive items
    events       the table of events that is published beside the table of people; None: there is one table
    recipients   who gets the release, for the dossier
    context      the steward's answers to questions of context, for the dossier
    utility      the analyses that the release is made for, for the dossier
    ledger       what earlier releases said of the same people, under `key`; None: it is published once
    """

    roles: Roles
    models: tuple[Model, ...]
    hierarchies: Mapping[str, Builder | Hierarchy | None] = field(default_factory=dict)
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    on_missing: Mapping[str, str] = field(default_factory=dict)
    treatments: Mapping[str, str] = field(default_factory=dict)
    perturbations: Mapping[str, Perturbation] = field(default_factory=dict)
    slot: str | None = None
    joins: Mapping[str, str] = field(default_factory=dict)
    key: bytes | None = field(default=None, repr=False)
    weights: Mapping[str, float] = field(default_factory=dict)
    schemes: Mapping[str, str] = field(default_factory=dict)
    publish: Mapping[str, str] = field(default_factory=dict)
    items: Items | None = None
    km: KmAnonymity | None = None
    confidence: ItemInference | None = None
    events: Events | None = None
    recipients: tuple[Recipient, ...] = ()
    context: Mapping[str, str] = field(default_factory=dict)
    utility: Analyses = field(default_factory=Analyses)
    ledger: Ledger | None = field(default=None, repr=False)
    algorithm: str | Algorithm | ItemsAlgorithm = OPTIONS["algorithm"].default  # a narrower type

    def __post_init__(self) -> None:
        for model in self.models:
            if not isinstance(model, Model):
                raise InputError(
                    f"'privacy' lists models such as KAnonymity(10). Got {type(model).__name__}."
                )
        self._settle_perturbations()
        household = self.roles.only("household")
        if household is not None:  # who finds one member finds all: that is seen, and protected
            object.__setattr__(self, "treatments", {household: "pseudonym", **self.treatments})
        if self.events is not None:
            self._settle_key(self.events.key)
        check_parameters(self, say="{name!r}")
        for name, declared in OPTIONS.items():
            declared.check(getattr(self, name))
        self._check_identifiers()
        self._check_columns()
        self._check_items()
        self._check_people()
        self._check_linked()
        object.__setattr__(self, "context", read_context(self.context))
        check_recipients(self.recipients, self.roles.having("quasi-identifier"))
        refuse_what_does_not_go_together(self)
        for name, value in settled_by_sampling(self).items():
            object.__setattr__(self, name, value)
        if self.ledger is not None:
            refuse_with_ledger(self)

    @property
    def algorithm_name(self) -> str:
        return self.algorithm if isinstance(self.algorithm, str) else self.algorithm.name

    @property
    def linked_by(self) -> str | None:
        """The column whose pseudonyms link the published records of a person or, if there are households,
        of a household; None: they are not linked."""
        if (household := self.roles.only("household")) is not None:
            return household
        person = self.roles.only("person")
        return person if person is not None and self.treatments.get(person) == "pseudonym" else None

    @property
    def fresh_key(self) -> str | None:
        """The column whose pseudonyms need no secret of the user's: they link records and nothing else."""
        return self.linked_by if self.events is None else self.events.key

    def _settle_key(self, key: str) -> None:
        """Give the key of two tables its role and treatment: a pseudonym, which links their records."""
        if self.roles.of.get(key, "person") not in ("person", "identifier"):
            raise InputError(
                f"{key!r} is the key of the events and has the role {self.roles.of[key]}. Give it the role "
                "person, or none."
            )
        if self.treatments.get(key, "pseudonym") != "pseudonym":
            raise InputError(
                f"{key!r} is the key of the events, which links the two tables: it is published as a "
                "pseudonym. Leave its treatment out."
            )
        if self.roles.only("household") is not None:
            raise UnsupportedError("Two tables are linked by person, not by household. Leave that role out.")
        # of items, the joined table has one record per person, so records are people
        role: Role = "person" if self.items is None else "identifier"
        object.__setattr__(self, "roles", Roles({**self.roles.of, key: role}, self.roles.others))
        object.__setattr__(self, "treatments", {**self.treatments, key: "pseudonym"})

    @property
    def kept_by_maps(self) -> dict[str, Any]:
        """The options that the maps of a release keep, by name."""
        return {name: getattr(self, name) for name, declared in OPTIONS.items() if declared.option.in_maps}

    def _settle_perturbations(self) -> None:
        """Name each perturbation among the treatments, by its word."""
        given = {name: how for name, how in self.treatments.items() if not isinstance(how, str)}
        made = {name: perturbation_of(how, name) for name, how in {**given, **self.perturbations}.items()}
        words = {name: how for name, how in self.treatments.items() if isinstance(how, str)}
        object.__setattr__(self, "perturbations", made)
        object.__setattr__(self, "treatments", words | {name: how.name for name, how in made.items()})

    def _check_identifiers(self) -> None:
        for column, treatment in self.treatments.items():
            if treatment in PERTURBATIONS and column not in self.perturbations:
                raise InputError(
                    f"The treatment {treatment} of {column!r} needs its size, such as {{noise: 0.1}}, "
                    "{swap: 0.05}, {pram: 0.8}, {limits: [0, 90]} or {round: 5}."
                )
            _one_of(f"treatment of {column}", treatment, (*get_args(Treatment), *PERTURBATIONS))
        for column in self.joins:
            if self.treatments.get(column) != "pseudonym":
                raise InputError(
                    f"A join is given for {column!r}, which is not published as pseudonyms. "
                    "Give it the treatment pseudonym, or leave out the join."
                )

    def _check_columns(self) -> None:
        for column, choice in self.on_missing.items():
            _one_of(f"on_missing of {column}", choice, ("error", "suppress"))
        for column, choice in self.publish.items():
            _one_of(f"publish of {column}", choice, ("interval", "mean", "median"))
        if self.linked_by is not None and set(self.publish.values()) - {"interval"}:
            raise UnsupportedError("Linked records publish intervals. Leave out 'publish'.")
        described = ("quasi-identifier", "sensitive")
        trees = [column for column, source in self.hierarchies.items() if source is not None]
        self._refuse_others("An order", self.orders, described)
        self._refuse_others("A hierarchy", trees, described)
        self._refuse_others("A scheme", self.schemes, ("quasi-identifier",))
        self._refuse_others("What to publish", self.publish, ("quasi-identifier",))
        self._refuse_others("A weight", self.weights, ("quasi-identifier",))

    def _refuse_others(self, what: str, columns: Iterable[str], roles: Sequence[str]) -> None:
        """Refuse what is given for a column that has none of the roles."""
        wrong = "neither a quasi-identifier nor sensitive" if len(roles) > 1 else "not a quasi-identifier"
        for column in columns:
            if self.roles.of.get(column) not in roles:
                raise InputError(f"{what} is given for {column!r}, which is {wrong}.")

    @property
    def table_models(self) -> tuple[Model, ...]:
        """The models of the quasi-identifiers: classes must be large enough for the promise about items.

        Where values of a column are protected over known items, no class may imply one by itself.
        """
        if self.km is None:
            return self.models
        k = max([self.km.k, *(model.k for model in self.models if isinstance(model, KAnonymity))])
        others = [model for model in self.models if not isinstance(model, KAnonymity)]
        if self.confidence is not None and self.confidence.attribute is not None:
            others.append(AlphaDeassociation(self.confidence.attribute, self.confidence.asked))
        return (KAnonymity(k), *others)

    @property
    def k(self) -> int:
        """The smallest class that the models of the quasi-identifiers allow; 1 where no k is asked for."""
        return max((model.needed_k for model in self.table_models), default=1)

    @property
    def may_drop(self) -> bool:
        """Whether records may be left out: asked for, or because they may not be published as `*`."""
        return self.suppressed == "drop" or self.suppression > 0 or self.sample < 1

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
            assert self.confidence is not None
            key = self.confidence.spec_key
            raise InputError(f"{key!r} is about a column of items, but no column has the role items.")
        assert self.confidence is not None
        column = self.confidence.attribute
        if column is not None and self.roles.of.get(column) != "sensitive":
            raise InputError(
                f"'confidence' protects the values of {column!r}, which is not a sensitive column. Give it "
                "the role sensitive."
            )

    def _check_people(self) -> None:
        if self.roles.only("household") is not None:
            self._check_household()
        if self.roles.only("weight") is not None and not self.roles.having("quasi-identifier"):
            raise UnsupportedError("Weights of records are for tables with quasi-identifiers.")
        if self.roles.only("person") is not None and self.items is not None:
            raise UnsupportedError(
                "A table with a column of items counts records, not people. Leave out the role person, if "
                "everybody has one record; publish the items as events beside a table of people (see "
                "'events'); or drop them with the role identifier."
            )

    def _check_household(self) -> None:
        if self.treatments.get(self.roles.only("person") or "") == "pseudonym":
            raise UnsupportedError(
                "Records are linked by household, and cannot be linked by person as well. Leave out the "
                "treatment pseudonym of the person, or give the household the role identifier."
            )
        if self.slot is not None:
            raise UnsupportedError(
                "The records of a household are an unordered bag: they have no slots. Leave out the history."
            )
        if self.items is not None:
            raise UnsupportedError(
                "A table with a column of items counts records, not households. Give the household the role "
                "identifier, or drop the items with it."
            )

    def _check_linked(self) -> None:
        for column, treatment in self.treatments.items():
            if treatment == "shift" and self.linked_by is None:
                raise InputError(
                    f"The treatment shift of {column!r} moves all dates of a person alike, and is for linked "
                    "records: give the column with the role person the treatment pseudonym."
                )
            if treatment == "shift" and column == self.slot:
                raise InputError(f"The slot {column!r} is published as it is, and cannot be shifted.")
        if self.slot is not None:
            self._check_slot(self.slot)
        if self.linked_by is None:
            return
        if self.scheme is not None or self.schemes:
            raise UnsupportedError(
                "Linked records are published in groups of people, which no scheme does. Leave 'scheme' out."
            )
        for model in self.models:
            if model.compares_with_whole_table or not model.survives_unions:
                raise UnsupportedError(
                    f"{model.name} as asked is not possible for linked records: {_why_not_linked(model)}. "
                    "Ask for another model, or do not link the records (leave out the treatment pseudonym of "
                    "the person)."
                )

    def _check_slot(self, slot: str) -> None:
        if self.linked_by is None:
            raise InputError(
                "'history' is about linked records, and the records of a person are not linked: give the "
                "column with the role person the treatment pseudonym."
            )
        role = self.roles.of.get(slot, "insensitive")
        if role != "insensitive":
            raise InputError(
                f"The slot {slot!r} has the role {role}, but slots are published as they are: give it the "
                "role insensitive."
            )
        named = Roles({**self.roles.of, slot: "insensitive"}, self.roles.others)
        object.__setattr__(self, "roles", named)


def _why_not_linked(model: Model) -> str:
    if model.compares_with_whole_table:
        return "classes are made among people with the same slots, and it compares them with everybody"
    return "classes that look alike are united, and with rounding: ceiling a union may break the promise"


def _one_of(name: str, value: Any, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"'{name}' must be {' or '.join(allowed)}. Got {value!r}.")
