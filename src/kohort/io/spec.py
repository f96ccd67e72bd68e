"""The release spec: what each column is, what is promised and how to get there, as the YAML file says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationInfo, field_validator

from kohort.algorithms import EVERY_ALGORITHM, Algorithm, ItemsAlgorithm
from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.io.baskets import BASKETS, BasketShape
from kohort.io.option_keys import option_keys
from kohort.io.populations import population_files, read_populations
from kohort.io.spec_parts import (
    AttributeSpec,
    Decimal,
    EventsSpec,
    HistorySpec,
    ItemsSpec,
    Part,
    RecipientSpec,
    UtilitySpec,
    read_hierarchy,
)
from kohort.io.spec_privacy import PrivacySpec
from kohort.options import OPTIONS, Declared, options_of
from kohort.pipeline.approval import Analyses, read_context
from kohort.pipeline.events import Events
from kohort.pipeline.items import Items
from kohort.pipeline.request import Request
from kohort.problem.promises import KAnonymity
from kohort.problem.roles import Roles

OPTION_KEYS: dict[str, Declared] = {
    **{name: declared for name, declared in OPTIONS.items() if declared.option.in_spec},
    **options_of(Roles),
    **{f"items_{name}": declared for name, declared in options_of(Items).items()},
}
"""The keys of the spec that are a word, a number or a switch."""


_OptionKeys: Any = option_keys(Part, OPTION_KEYS)


class Spec(_OptionKeys):
    """A release spec as written, validated. Its other keys are those of `OPTION_KEYS`."""

    attributes: dict[str, AttributeSpec] = Field({}, description="the columns, each with a role")
    privacy: PrivacySpec = Field(description="what is promised")
    parameters: dict[str, Any] = Field({}, description="the parameters of the algorithm")
    weights: dict[str, Decimal] = Field({}, description="where detail matters more")
    history: HistorySpec | None = Field(
        None, description="of linked records: the column that says which one of a person's it is"
    )
    events: EventsSpec | None = Field(
        None, description="a table of events beside that of people: its key and its columns"
    )
    recipients: list[RecipientSpec] = Field(
        [], description="who gets the release: what they may know, controls, date of review"
    )
    context: dict[str, Any] = Field({}, description="answers to questions of context, for the dossier")
    utility: UtilitySpec | None = Field(
        None, description="the analyses that the release is made for, for the dossier"
    )
    items: ItemsSpec | None = Field(
        None, description="for files of nothing but baskets: their hierarchy and shape"
    )

    @field_validator("parameters")
    @classmethod
    def _known_parameters(cls, parameters: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "algorithm" in info.data:  # else the algorithm itself is wrong
            _algorithm(info.data["algorithm"], parameters)
        return parameters

    @field_validator("context")
    @classmethod
    def _known_questions(cls, context: dict[str, Any]) -> dict[str, str]:
        return read_context(context)

    @property
    def shape(self) -> BasketShape | None:
        """How the file holds its baskets, if it holds nothing else."""
        return None if self.items is None else self.items.shape()

    @property
    def columns(self) -> dict[str, AttributeSpec]:
        """The columns that have a role, those of the events among them."""
        of_events = {} if self.events is None else self.events.attributes
        if both := sorted(set(self.attributes) & set(of_events)):
            raise InputError(
                f"{', '.join(map(repr, both))} is given a role under 'attributes' and under 'events': give "
                "it one, in the table that has it."
            )
        return self.attributes | of_events

    @property
    def person(self) -> str | None:
        """The column that says who somebody is; None where no column has that role."""
        return next((name for name, part in self.columns.items() if part.role == "person"), None)

    def files(self, *, beside: str | Path = ".") -> list[Path]:
        """The files that the spec names: hierarchies and populations."""
        parts = [*self.columns.values(), *(part for part in (self.items, self.events) if part is not None)]
        trees = [Path(beside) / part.file.path for part in parts if part.file is not None]
        return trees + population_files(self.privacy.models(), beside=beside)

    def resolved(self, *, beside: str | Path = ".") -> Spec:
        """The same spec with its hierarchy files read, so that it means the same whenever it is used."""
        parts: dict[str, Any] = {
            "attributes": {name: a.resolved(name, beside=beside) for name, a in self.attributes.items()}
        }
        if self.items is not None:
            parts["items"] = self.items.resolved(BASKETS, beside=beside)
        if self.events is not None:
            parts["events"] = self._events_resolved(self.events, beside)
        return self.model_copy(update=parts)

    @staticmethod
    def _events_resolved(events: EventsSpec, beside: str | Path) -> EventsSpec:
        read = {name: a.resolved(name, beside=beside) for name, a in events.attributes.items()}
        return events.resolved("events", beside=beside).model_copy(update={"attributes": read})

    def overridden(self, **changes: Any) -> Spec:
        """The same spec with some option keys changed (those that are not None).

        `k` changes the privacy, and `person` names the column that says whose record it is.
        """
        changes = {name: value for name, value in changes.items() if value is not None}
        k, person = changes.pop("k", None), changes.pop("person", None)
        for name, value in changes.items():
            OPTION_KEYS[name].check_written(value, say=repr(name))
        if changes.get("algorithm", self.algorithm) != self.algorithm:
            changes["parameters"] = {}
        if k is not None:
            KAnonymity(k)
            changes["privacy"] = self.privacy.model_copy(update={"k": k})
        if person is not None:
            changes["attributes"] = self._attributes_with(person)
        return self.model_copy(update=changes)

    def _attributes_with(self, person: str) -> dict[str, AttributeSpec]:
        """The columns with this one as the person; the one that the spec names instead is dropped."""
        given = self.attributes.get(person)
        if given is not None and given.role not in ("identifier", "person"):
            raise InputError(
                f"Column {person!r} has two roles: {given.role} in the spec, and person. Give it one."
            )
        others = {
            name: _of_role("identifier") if part.role == "person" else part
            for name, part in self.attributes.items()
        }
        kept = given if given is not None and given.role == "person" else _of_role("person")
        return others | {person: kept}

    def request(self, *, beside: str | Path = ".", **outside: Any) -> Request:
        """The request that this spec makes; hierarchy files are read, relative to the folder `beside`.

        outside  what a spec does not hold: the key of pseudonyms, the engine
        """
        options = {name: getattr(self, name) for name in OPTION_KEYS if name in OPTIONS}
        options["algorithm"] = _algorithm(self.algorithm, self.parameters)
        return Request(
            **options,
            **outside,
            roles=self._roles(),
            models=read_populations(self.privacy.models(), beside=beside),
            km=self.privacy.km(),
            confidence=self.privacy.item_inference(),
            items=self._items(beside),
            hierarchies=self._hierarchies(beside),
            orders=self._per_column("listed_order"),
            on_missing=self._per_column("on_missing"),
            treatments=self._per_column("treatment"),  # words, and mappings that are perturbations
            slot=None if self.history is None else self.history.slot,
            events=self._events(),
            recipients=tuple(part.recipient() for part in self.recipients),
            context=self.context,
            utility=Analyses() if self.utility is None else self.utility.analyses(),
            joins=self._per_column("join"),
            weights=self._per_column("weight") | self.weights,
            schemes=self._per_column("scheme"),
            publish=self._per_column("publish"),
        )

    def _per_column(self, key: str) -> dict[str, Any]:
        """The values of this key, for the columns that have it."""
        found = {name: getattr(attribute, key) for name, attribute in self.columns.items()}
        return {name: value for name, value in found.items() if value is not None}

    def _events(self) -> Events | None:
        if self.events is None:
            return None
        return Events(self.events.key, self.events.columns, self.events.orphans)

    def _roles(self) -> Roles:
        baskets: dict[str, Any] = {} if self.items is None else {BASKETS: "items"}
        if self.events is not None and self.events.items is not None:
            baskets[self.events.items] = "items"
        return Roles(self._per_column("role") | baskets, self.others)

    def _hierarchies(self, beside: str | Path) -> dict[str, Any]:
        return {
            name: read_hierarchy(name, source, beside=beside)
            for name, source in self._per_column("hierarchy").items()
            if self.columns[name].role != "items"
        }

    def _items(self, beside: str | Path) -> Items | None:
        """The items column: one of the attributes, or the whole file."""
        self._refuse_wrong_items()
        found: list[tuple[str, Any]] = [(n, a) for n, a in self.columns.items() if a.role == "items"]
        found += [] if self.items is None else [(BASKETS, self.items)]
        if self.events is not None and self.events.items is not None:
            source = self.events.resolved(self.events.items, beside=beside).hierarchy
            return Items(
                self.events.items,
                source,
                suppress=self.events.suppress,
                algorithm=self.items_algorithm,
                weight=self.items_weight,
            )
        for column, part in found[:1]:
            source = part.resolved(column, beside=beside).hierarchy
            separator = part.separator if self.items is None else None
            return Items(
                column,
                source,
                separator,
                part.multiset,
                part.suppress,
                algorithm=self.items_algorithm,
                weight=self.items_weight,
            )
        return None

    def _refuse_wrong_items(self) -> None:
        for name, a in self.columns.items():
            if a.role != "items" and (a.separator is not None or a.multiset or a.suppress):
                raise InputError(
                    f"Column {name!r} has a separator, multiset or suppress, but not the role items."
                )
        if self.items is not None and self.formulas == "escape":
            raise UnsupportedError(
                "formulas: escape is for tables; a file of baskets is written as it is. Leave it out."
            )
        if self.items is not None and self.attributes:
            raise InputError(
                "'items' is for files that hold nothing but baskets. To publish a column of items, give it "
                "the role items."
            )
        if self.items is not None and self.events is not None:
            raise InputError("A file of baskets has no events beside it. Leave out 'items' or 'events'.")


def _of_role(role: str) -> AttributeSpec:
    return AttributeSpec.model_validate({"role": role})


def _algorithm(name: str, parameters: Mapping[str, Any]) -> Algorithm | ItemsAlgorithm:
    algorithm: Any = EVERY_ALGORITHM[name]
    known = [field.name for field in fields(algorithm)]
    for parameter in parameters:
        if parameter not in known:
            hint = did_you_mean(parameter, known) if known else "It takes none."
            raise InputError(f"The algorithm {name!r} has no parameter {parameter!r}. {hint}")
    return algorithm(**parameters)
