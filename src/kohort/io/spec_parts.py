"""The parts of a release spec that describe columns: what a column is, and what baskets look like."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    AfterValidator,
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    field_validator,
    model_validator,
)

from kohort.data.hierarchies.build_hierarchy import Builder, FileSource, from_spec
from kohort.data.hierarchy import Hierarchy
from kohort.errors import did_you_mean
from kohort.io.baskets import BasketShape
from kohort.io.hierarchies import read_source
from kohort.options import Scheme
from kohort.pipeline.approval import Analyses, Recipient
from kohort.pipeline.request import Treatment
from kohort.problem.roles import ROLES
from kohort.treatments import perturbation_of

Switch = Annotated[bool, Strict()]  # nothing is converted: 'off' and "2" are texts
Decimal = Annotated[float, Strict(), AllowInfNan(False)]
Scalar = str | bool | int | float
Source = Annotated[Any, AfterValidator(lambda source: None if source == "none" else from_spec(source))]


def _known_treatment(given: Any) -> Any:
    """A word as it is; a mapping such as {noise: 0.1} as the perturbation that it means."""
    words = get_args(Treatment)
    if given is None or (isinstance(given, str) and given in words):
        return given
    if isinstance(given, str):
        raise ValueError(
            f"this must be {', '.join(words)}, or a mapping such as {{noise: 0.1}}, {{swap: 0.05}}, "
            "{pram: 0.8}, {limits: [0, 90]} or {round: 5}."
        )
    return perturbation_of(given, "this column")


class Part(BaseModel):
    """A mapping in the spec: unknown keys are refused, and it never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class _WithHierarchy(Part):
    hierarchy: Source = None

    @property
    def file(self) -> FileSource | None:
        """The hierarchy, where it is a file."""
        return self.hierarchy if isinstance(self.hierarchy, FileSource) else None

    def resolved(self: _P, column: str, *, beside: str | Path) -> _P:
        """The same part with its hierarchy file read."""
        if self.hierarchy is None:
            return self
        return self.model_copy(update={"hierarchy": read_hierarchy(column, self.hierarchy, beside=beside)})


_P = TypeVar("_P", bound=_WithHierarchy)


class AttributeSpec(_WithHierarchy):
    """One column: its role, and what goes with it."""

    role: str
    order: Literal["natural"] | list[Scalar] | None = None
    scheme: Scheme | None = None
    weight: Decimal | None = None
    publish: Literal["interval", "mean", "median"] | None = None
    on_missing: Literal["error", "suppress"] | None = None
    treatment: Annotated[Treatment | Any, AfterValidator(_known_treatment)] = None
    join: str | None = Field(None, min_length=1)
    separator: str | None = None
    multiset: Switch = False
    suppress: Switch = False

    @field_validator("role")
    @classmethod
    def _known_role(cls, role: str) -> str:
        if role not in ROLES:
            raise ValueError(f"There is no role {role!r}. {did_you_mean(role, ROLES)}")
        return role

    @property
    def listed_order(self) -> list[str] | None:
        """The order of the values, where it is another than the natural one."""
        return [as_text(value) for value in self.order] if isinstance(self.order, list) else None


class ItemsSpec(_WithHierarchy):
    """Baskets that are all there is in a file: one basket to a line, or one item to a row."""

    separator: str | None = None
    multiset: Switch = False
    suppress: Switch = False
    id: str | None = None
    item: str | None = None

    def shape(self) -> BasketShape:
        """How the file holds its baskets."""
        return BasketShape(self.separator, self.id, self.item)


class EventsSpec(_WithHierarchy):
    """A table of events beside that of people: its key and its columns, or the column that holds items."""

    key: str = Field(min_length=1)
    attributes: dict[str, AttributeSpec] = {}
    items: str | None = Field(None, min_length=1)
    suppress: Switch = False
    orphans: Literal["error", "drop"] = "error"

    @model_validator(mode="after")
    def _linked_records_or_items(self) -> EventsSpec:
        if bool(self.attributes) == (self.items is not None):
            raise ValueError(
                "name the attributes of the events, or the column of items among them, not both."
            )
        if self.hierarchy is not None and self.items is None:
            raise ValueError("the hierarchy is that of items: name their column, or leave it out.")
        if self.suppress and self.items is None:
            raise ValueError("suppress is about items: name their column, or leave it out.")
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the events that have a role."""
        return tuple(self.attributes) if self.items is None else (self.items,)


class HistorySpec(Part):
    """How the linked records of a person are told apart."""

    slot: str = Field(min_length=1)


class RecipientSpec(Part):
    """Somebody who gets the release."""

    name: Any = None
    purpose: str | None = None
    knows: list[str] | None = None
    controls: list[str] = []
    review: Any = None

    def recipient(self) -> Recipient:
        """The recipient; raises InputError if something about it is wrong."""
        return Recipient(self.name, self.knows, self.controls, self.review, self.purpose)  # type: ignore[arg-type]

    @model_validator(mode="after")
    def _sound(self) -> RecipientSpec:
        self.recipient()
        return self


class UtilitySpec(Part):
    """The analyses that the release is made for."""

    models: list[str] = []
    labels: Literal["midpoint", "spread"] = "midpoint"

    def analyses(self) -> Analyses:
        """The analyses as a request holds them."""
        return Analyses(tuple(self.models), self.labels)


def read_hierarchy(
    column: str, source: Builder | FileSource | Hierarchy, *, beside: str | Path
) -> Builder | Hierarchy:
    """The source, or where it names a file the hierarchy in it; paths start at the folder `beside`."""
    if not isinstance(source, FileSource):
        return source
    file = read_source(source, beside=beside)
    file.findings.raise_if_broken(column)
    assert file.source is not None
    return file.source


def as_text(value: Scalar) -> str:
    """A YAML scalar as the data spells it: true and false in lower case, numbers as they are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
