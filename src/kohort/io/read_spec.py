"""Read a release spec from a YAML file or a mapping; an error names the place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from kohort.errors import InputError, did_you_mean
from kohort.io.source_file import read_once
from kohort.io.spec import Spec
from kohort.io.spec_parts import (
    AttributeSpec,
    EventsSpec,
    HistorySpec,
    ItemsSpec,
    RecipientSpec,
    UtilitySpec,
)
from kohort.io.spec_privacy import PARTS, PrivacySpec
from kohort.io.yaml_text import Place, load_yaml


@dataclass(frozen=True)
class SpecFile:
    """A spec, the text that it was read from, and the SHA-256 of the file."""

    spec: Spec
    text: str
    sha256: str


def read_spec(path: str | Path) -> Spec:
    """The spec in a YAML file."""
    return read_spec_file(path).spec


def read_spec_file(path: str | Path) -> SpecFile:
    """The spec in a YAML file with its text and its hash, all three of the same bytes."""
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
    """The spec in a mapping with the keys of the YAML file."""
    return _validated(dict(content), "spec", {})


def _validated(content: Any, name: str, places: Mapping[tuple, Place]) -> Spec:
    if not isinstance(content, dict):
        raise InputError(f"{name}: a spec must be a mapping with the keys attributes and privacy.")
    try:
        return Spec.model_validate(content)
    except ValidationError as error:
        problems = [_Problem.of(found, places) for found in error.errors(include_url=False)]
        in_order = sorted(problems, key=lambda problem: problem.line or 0)
        raise InputError("\n".join(dict.fromkeys(f"{name}{problem}" for problem in in_order))) from None


@dataclass(frozen=True)
class _Problem:
    """One validation error: its line, where known, and in words what is wrong and what would be right."""

    line: int | None
    words: str

    @classmethod
    def of(cls, found: Any, places: Mapping[tuple, Place]) -> _Problem:
        where = _as_written(tuple(found["loc"]), places)
        place = next((places[where[:n]] for n in range(len(where), 0, -1) if where[:n] in places), None)
        return cls(None if place is None else place.line, _words(found, where))

    def __str__(self) -> str:
        return f": {self.words}" if self.line is None else f", line {self.line}: {self.words}"


def _words(found: Any, where: tuple) -> str:
    dotted = ".".join(str(part) for part in where) or "the spec"
    if found["type"] == "extra_forbidden":
        return f"unknown key {dotted!r}. {did_you_mean(str(where[-1]), _known_keys(where))}"
    message = found["msg"].removeprefix("Value error, ")
    return f"{dotted}: {_PLAIN_WORDS.get(found['type'], message)}"


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
    "string_type": "this must be text: put it in quotes.",
    "float_type": "this must be a number.",
    "bool_type": "this must be true or false.",
    "finite_number": "this must be a finite number.",
}


_OTHER_PARTS: dict[str, type[BaseModel]] = {"recipients": RecipientSpec, "utility": UtilitySpec}


def _known_keys(where: tuple) -> list[str]:
    """The keys that a mapping at this place of a spec may have."""
    part: type[BaseModel] = Spec
    if where[0] == "items":
        part = ItemsSpec
    elif where[0] in _OTHER_PARTS and len(where) > 1:
        part = _OTHER_PARTS[where[0]]
    elif where[0] == "history":
        part = HistorySpec
    elif where[0] == "attributes" and len(where) > 2:
        part = AttributeSpec
    elif where[0] == "events":
        part = AttributeSpec if where[1:2] == ("attributes",) and len(where) > 3 else EventsSpec
    elif where[0] == "privacy":
        part = PARTS.get(str(where[1]), PrivacySpec) if len(where) > 2 else PrivacySpec
    return list(part.model_fields)
