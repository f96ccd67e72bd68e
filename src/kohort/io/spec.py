"""The release spec: a YAML file that says what each column is, what is promised and how to get there."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    AllowInfNan,
    BaseModel,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from kohort.algorithms import (
    ALGORITHMS,
    ITEMS_ALGORITHMS,
    Algorithm,
    ItemsAlgorithm,
    algorithm_named,
    items_algorithm_named,
)
from kohort.algorithms.uniting.diversify import WEIGHT
from kohort.data.build_hierarchy import Builder, FileSource, from_spec
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, UnsupportedError, did_you_mean
from kohort.io.baskets import BASKETS, BasketShape
from kohort.io.hierarchies import read_source
from kohort.io.source_file import read_once
from kohort.io.yaml_text import Place, load_yaml
from kohort.pipeline.request import Items, Request
from kohort.problem.costs import cost_named
from kohort.problem.models import (
    AlphaDeassociation,
    ItemConfidence,
    KAnonymity,
    KmAnonymity,
    LDiversity,
    Model,
    TCloseness,
)
from kohort.problem.roles import ROLES, Roles

__all__ = ["Spec", "SpecFile", "parse_spec", "read_spec", "read_spec_file"]

Scheme = Literal["bhs", "ghs", "ops", "sps", "gsps", "gops"]


Switch = Annotated[bool, Strict()]  # nothing is converted: 'off' and "2" are texts
Whole = Annotated[int, Strict()]
Decimal = Annotated[float, Strict(), AllowInfNan(False)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)


class _ModelPart(_Part):
    @abstractmethod
    def model(self) -> Model:
        """The privacy model that this part asks for; raises what is wrong with its parameters."""


class AttributeSpec(_Part):
    """One column: its role, and what goes with it."""

    role: str
    hierarchy: Any = None
    order: Literal["natural"] | list[str | bool | int | float] | None = None
    scheme: Scheme | None = None
    weight: Decimal | None = None
    on_missing: Literal["error", "suppress"] | None = None
    treatment: Literal["drop", "pseudonym", "mask"] | None = None
    join: str | None = Field(None, min_length=1)
    separator: str | None = None
    multiset: Switch = False

    @field_validator("role")
    @classmethod
    def _known_role(cls, role: str) -> str:
        if role not in ROLES:
            raise ValueError(f"There is no role {role!r}. {did_you_mean(role, ROLES)}")
        return role

    @field_validator("hierarchy")
    @classmethod
    def _known_hierarchy(cls, value: Any) -> Any:
        return from_spec(value)


class ItemsSpec(_Part):
    """Baskets that are all there is in a file: one a line, or one item a row."""

    hierarchy: Any = None
    separator: str | None = None
    multiset: Switch = False
    id: str | None = None
    item: str | None = None

    @field_validator("hierarchy")
    @classmethod
    def _known_hierarchy(cls, value: Any) -> Any:
        return from_spec(value)

    def shape(self) -> BasketShape:
        return BasketShape(self.separator, self.id, self.item)


class DiversitySpec(_ModelPart):
    attribute: str
    l: Any  # noqa: E741
    kind: Any = "frequency"
    c: Any = None

    def model(self) -> Model:
        return LDiversity(self.attribute, self.l, kind=self.kind, c=self.c)


class AlphaSpec(_ModelPart):
    attribute: str
    alpha: Any
    values: list[str | bool | int | float] | None = None
    combine: Switch = True
    rounding: Any = "none"

    def model(self) -> Model:
        values = None if self.values is None else [_text(value) for value in self.values]
        return AlphaDeassociation(
            self.attribute, self.alpha, values=values, combine=self.combine, rounding=self.rounding
        )


class ClosenessSpec(_ModelPart):
    attribute: str
    t: Any
    distance: Any = "equal"

    def model(self) -> Model:
        return TCloseness(self.attribute, self.t, distance=self.distance)


class ConfidenceSpec(_Part):
    """Sensitive items, and how sure of one of them `m` known items may make anybody."""

    sensitive: list[str | bool | int | float]
    limit: Any

    def model(self, m: int) -> ItemConfidence:
        return ItemConfidence([_text(item) for item in self.sensitive], self.limit, m)


class PrivacySpec(_Part):
    """What is promised. `diversity`, `alpha` and `closeness` take one entry or a list."""

    k: Any = None
    diversity: list[DiversitySpec] = []
    alpha: list[AlphaSpec] = []
    closeness: list[ClosenessSpec] = []
    m: Any = None
    confidence: ConfidenceSpec | None = None

    @field_validator("diversity", "alpha", "closeness", mode="before")
    @classmethod
    def _one_or_many(cls, value: Any) -> Any:
        return value if isinstance(value, list) else [value]

    @field_validator("k")
    @classmethod
    def _whole_k(cls, k: Any) -> Any:
        if k is not None:
            KAnonymity(k)
        return k

    @field_validator("diversity", "alpha", "closeness")
    @classmethod
    def _sound(cls, parts: list[Any]) -> list[Any]:
        for part in parts:
            part.model()
        return parts

    @field_validator("m")
    @classmethod
    def _whole_m(cls, m: Any) -> Any:
        if m is not None:
            KmAnonymity(1, m)
        return m

    @field_validator("confidence")
    @classmethod
    def _sound_confidence(cls, part: ConfidenceSpec | None) -> ConfidenceSpec | None:
        if part is not None:
            part.model(1)
        return part

    def km(self) -> KmAnonymity | None:
        """What is promised of items."""
        if self.m is None:
            return None
        if self.k is None:
            raise InputError("privacy has an 'm' but no 'k': m known items must leave k records.")
        return KmAnonymity(self.k, self.m)

    def item_confidence(self) -> ItemConfidence | None:
        """What is promised of sensitive items."""
        if self.confidence is None:
            return None
        if self.m is None:
            raise InputError("privacy has 'confidence' but no 'm': say how many items others may know.")
        return self.confidence.model(self.m)

    def models(self) -> tuple[Model, ...]:
        k = () if self.k is None else (KAnonymity(self.k),)
        return (*k, *(part.model() for part in (*self.diversity, *self.alpha, *self.closeness)))


class Spec(_Part):
    """A release spec as written, validated."""

    attributes: dict[str, AttributeSpec] = {}
    privacy: PrivacySpec
    cost: str = "loss"
    algorithm: str = "auto"
    parameters: dict[str, Any] = {}
    suppression: Decimal = Field(0.0, ge=0, le=1)
    suppressed: Literal["star", "drop"] = "star"
    labels: Literal["hierarchy", "tight"] = "hierarchy"
    nulls: Literal["value", "star", "refuse"] = "value"
    formulas: Literal["keep", "escape"] = "keep"
    others: Literal["error", "keep", "drop"] = "error"
    weights: dict[str, Decimal] = {}
    scheme: Scheme | None = None
    diversify_weight: Decimal = Field(WEIGHT, ge=0, le=1)
    shuffle: Switch | Literal["auto"] = "auto"
    seed: Whole = Field(0, ge=0, lt=2**63)
    time_limit: Decimal | None = Field(None, gt=0, le=1_000_000_000)
    items: ItemsSpec | None = None
    items_algorithm: str = "auto"
    items_weight: Decimal = Field(0.5, ge=0, le=1)

    @field_validator("items_algorithm")
    @classmethod
    def _known_items_algorithm(cls, name: str) -> str:
        if name != "auto":
            items_algorithm_named(name)
        return name

    @field_validator("shuffle", mode="before")
    @classmethod
    def _auto_or_not(cls, shuffle: Any) -> Any:
        if not isinstance(shuffle, bool) and shuffle != "auto":
            raise ValueError("this must be auto, true or false.")
        return shuffle

    @field_validator("cost")
    @classmethod
    def _known_cost(cls, cost: str) -> str:
        cost_named(cost)
        return cost

    @field_validator("algorithm")
    @classmethod
    def _known_algorithm(cls, name: str) -> str:
        algorithm_named(name)
        return name

    @field_validator("parameters")
    @classmethod
    def _known_parameters(cls, parameters: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
        if "algorithm" in info.data:  # else the algorithm itself is wrong
            _algorithm(info.data["algorithm"], parameters)
        return parameters

    @property
    def shape(self) -> BasketShape | None:
        """How the file holds its baskets, if it holds nothing else."""
        return None if self.items is None else self.items.shape()

    def files(self, *, beside: str | Path = ".") -> list[Path]:
        """The hierarchy files that the spec names."""
        named = [part.hierarchy for part in self.attributes.values()]
        named += [] if self.items is None else [self.items.hierarchy]
        return [Path(beside) / source.path for source in named if isinstance(source, FileSource)]

    def resolved(self, *, beside: str | Path = ".") -> Spec:
        """The same spec with its hierarchy files read: used several times, it always means the same."""
        parts: dict[str, Any] = {
            "attributes": {name: _with_hierarchy(name, a, beside) for name, a in self.attributes.items()}
        }
        if self.items is not None:
            parts["items"] = _with_hierarchy(BASKETS, self.items, beside)
        return self.model_copy(update=parts)

    def overridden(self, **changes: Any) -> Spec:
        """The same spec with some keys changed (those that are not None); `k` changes the privacy."""
        changes = {name: value for name, value in changes.items() if value is not None}
        k = changes.pop("k", None)
        if "shuffle" in changes:
            changes["shuffle"] = _shuffle(changes["shuffle"])
        if "algorithm" in changes and changes["algorithm"] != self.algorithm:
            changes["parameters"] = {}
        if k is not None:
            KAnonymity(k)
            changes["privacy"] = self.privacy.model_copy(update={"k": k})
        for name, check in (("cost", cost_named), ("algorithm", algorithm_named)):
            if name in changes:
                check(changes[name])
        return self.model_copy(update=changes)

    def request(
        self, *, beside: str | Path = ".", key: bytes | None = None, engine: str = "local"
    ) -> Request:
        """The request that this spec makes; hierarchy files are read, relative to the folder `beside`."""
        columns = self.attributes
        items = self._items(beside)
        roles: dict[str, Any] = {name: a.role for name, a in columns.items()}
        if self.items is not None:
            roles[BASKETS] = "items"
        return Request(
            roles=Roles(roles, self.others),
            models=self.privacy.models(),
            km=self.privacy.km(),
            confidence=self.privacy.item_confidence(),
            items=items,
            hierarchies={
                name: _resolved(name, a.hierarchy, beside)
                for name, a in columns.items()
                if a.hierarchy is not None and a.role != "items"
            },
            orders={
                name: [_text(value) for value in a.order]
                for name, a in columns.items()
                if isinstance(a.order, list)
            },
            on_missing={name: a.on_missing for name, a in columns.items() if a.on_missing is not None},
            treatments={name: a.treatment for name, a in columns.items() if a.treatment is not None},
            joins={name: a.join for name, a in columns.items() if a.join is not None},
            key=key,
            weights={n: a.weight for n, a in columns.items() if a.weight is not None} | self.weights,
            cost=self.cost,
            algorithm=_algorithm(self.algorithm, self.parameters),
            engine=engine,
            suppression=self.suppression,
            suppressed=self.suppressed,
            labels=self.labels,
            nulls=self.nulls,
            formulas=self.formulas,
            diversify_weight=self.diversify_weight,
            shuffle=self.shuffle,
            seed=self.seed,
            time_limit=self.time_limit,
            scheme=self.scheme,
            schemes={name: a.scheme for name, a in columns.items() if a.scheme is not None},
        )

    def _items(self, beside: str | Path) -> Items | None:
        """The items column: one of the attributes, or the whole file."""
        named = {name: a for name, a in self.attributes.items() if a.role == "items"}
        for name, a in self.attributes.items():
            if name not in named and (a.separator is not None or a.multiset):
                raise InputError(f"Column {name!r} has a separator or multiset, but not the role items.")
        if self.items is not None and self.formulas == "escape":
            raise UnsupportedError("formulas: escape is for tables. A file of baskets is written as it is.")
        if self.items is not None and self.attributes:
            raise InputError(
                "'items' is for files that hold nothing but baskets. A column takes the role items."
            )
        found: list[tuple[str, AttributeSpec | ItemsSpec]] = [*named.items()]
        found += [] if self.items is None else [(BASKETS, self.items)]
        for column, part in found[:1]:
            source = None if part.hierarchy is None else _resolved(column, part.hierarchy, beside)
            separator = part.separator if self.items is None else None
            return Items(column, source, separator, part.multiset, self.items_algorithm, self.items_weight)
        return None


def _shuffle(word: str | bool) -> str | bool:
    """What the command line says of the order of the records."""
    known: dict[str, str | bool] = {"auto": "auto", "true": True, "false": False}
    if str(word).lower() not in known:
        raise InputError(f"'shuffle' must be auto, true or false. Got {word!r}.")
    return known[str(word).lower()]


_PRIVACY_PARTS: dict[str, type[BaseModel]] = {
    "diversity": DiversitySpec,
    "alpha": AlphaSpec,
    "closeness": ClosenessSpec,
    "confidence": ConfidenceSpec,
}


@dataclass(frozen=True)
class SpecFile:
    """A spec, the text that it was read from, and the SHA-256 of the file."""

    spec: Spec
    text: str
    sha256: str


def read_spec(path: str | Path) -> Spec:
    """Read a spec from a YAML file; an error names the place in the file."""
    return read_spec_file(path).spec


def read_spec_file(path: str | Path) -> SpecFile:
    """Read a spec with its text and its hash: all three of the same bytes."""
    path = Path(path)
    try:
        content, sha256 = read_once(path)
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"There is no spec {str(path)!r}. 'kohort init DATA' writes one.") from None
    except UnicodeDecodeError:
        raise InputError(f"The spec {str(path)!r} is not UTF-8 text. Save it as UTF-8.") from None
    except OSError as error:
        raise InputError(f"The spec {str(path)!r} cannot be read: {error.strerror}.") from None
    mapping, places = load_yaml(text, name=path.name)
    return SpecFile(_validated(mapping, path.name, places), text, sha256)


def parse_spec(content: Mapping[str, Any]) -> Spec:
    """A spec from a mapping with the keys of the YAML file."""
    return _validated(dict(content), "spec", {})


def _validated(content: Any, name: str, places: Mapping[tuple, Place]) -> Spec:
    if not isinstance(content, dict):
        raise InputError(f"{name}: a spec is a mapping with the keys attributes and privacy.")
    try:
        return Spec.model_validate(content)
    except ValidationError as error:
        problems = [_problem(found, name, places) for found in error.errors(include_url=False)]
        raise InputError("\n".join(dict.fromkeys(problems))) from None


def _problem(found: Any, name: str, places: Mapping[tuple, Place]) -> str:
    """One validation error in words: where it is, what is wrong, what would be right."""
    where = _as_written(tuple(found["loc"]), places)
    place = next((places[where[:n]] for n in range(len(where), 0, -1) if where[:n] in places), None)
    line = f", line {place.line}" if place else ""
    dotted = ".".join(str(part) for part in where) or "the spec"
    if found["type"] == "extra_forbidden":
        return f"{name}{line}: unknown key {dotted!r}. {did_you_mean(str(where[-1]), _known_keys(where))}"
    message = found["msg"].removeprefix("Value error, ")
    message = _PLAIN_WORDS.get(found["type"], message)
    return f"{name}{line}: {dotted}: {message}"


def _as_written(where: tuple, places: Mapping[tuple, Place]) -> tuple:
    """The path of a value in the file: a single model need not be in a list, and keys are texts there."""
    if where[2:3] == (0,) and where[:3] not in places:
        where = where[:2] + where[3:]
    if where[-1:] == ("[key]",):
        where = (*where[:-2], str(where[-2]))
    return where


_PLAIN_WORDS = {  # instead of pydantic's own
    "missing": "this key is missing.",
    "model_type": "this must be a mapping, such as {role: sensitive}.",
    "dict_type": "this must be a mapping.",
    "list_type": "this must be a list.",
    "string_type": "this must be a text: put it in quotes.",
    "float_parsing": "this must be a number.",
    "float_type": "this must be a number.",
    "int_parsing": "this must be a whole number.",
    "int_type": "this must be a whole number.",
    "bool_parsing": "this must be true or false.",
    "bool_type": "this must be true or false.",
    "finite_number": "this must be a finite number.",
}


def _known_keys(where: tuple) -> list[str]:
    part: type[BaseModel] = Spec
    if where[0] == "items":
        part = ItemsSpec
    elif where[0] == "attributes" and len(where) > 2:
        part = AttributeSpec
    elif where[0] == "privacy" and len(where) == 2:
        part = PrivacySpec
    elif where[0] == "privacy":
        part = _PRIVACY_PARTS.get(str(where[1]), PrivacySpec)
    return list(part.model_fields)


def _algorithm(name: str, parameters: Mapping[str, Any]) -> Algorithm | ItemsAlgorithm:
    algorithm = (ALGORITHMS | ITEMS_ALGORITHMS)[name]
    known = [field.name for field in fields(algorithm)]  # type: ignore[arg-type]
    for parameter in parameters:
        if parameter not in known:
            hint = did_you_mean(parameter, known) if known else "It takes none."
            raise InputError(f"The algorithm {name!r} has no parameter {parameter!r}. {hint}")
    return algorithm(**parameters)


def _with_hierarchy(name: str, part: _Part, beside: str | Path) -> _Part:
    source = part.hierarchy  # type: ignore[attr-defined]
    return part.model_copy(update={"hierarchy": None if source is None else _resolved(name, source, beside)})


def _resolved(name: str, source: Builder | FileSource | Hierarchy, beside: str | Path) -> Builder | Hierarchy:
    if not isinstance(source, FileSource):
        return source
    file = read_source(source, beside=beside)
    file.findings.raise_if_broken(name)
    assert file.hierarchy is not None
    return file.hierarchy


def _text(value: Any) -> str:
    """How a YAML scalar is spelled in the data: true and false, numbers as written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
