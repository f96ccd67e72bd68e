"""YAML with the line of every key, so that an error can name the place; keys used twice are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from kohort.errors import InputError
from kohort.io.yaml_events import refuse_endless


class Place(NamedTuple):
    line: int


class _Loader(yaml.SafeLoader):
    """Scalars as YAML 1.2 has them: NO, on, 010 and 2024-01-31 are texts, as they are in people's data."""

    yaml_implicit_resolvers: dict = {}

    def construct_object(self, node: Any, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep=deep)
        except (ValueError, KeyError, AttributeError, TypeError):  # such as !!int x, or 10,000 digits
            problem = "a value is not of the type that it is said to be, or has too many digits"
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark) from None


for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(0|[1-9][0-9]*)", "-+0123456789"),
    (
        "float",
        r"[-+]?((0|[1-9][0-9]*)?\.[0-9]+|[1-9][0-9]*\.|(0|[1-9][0-9]*)(\.[0-9]*)?[eE][-+]?[0-9]+)",
        "-+0123456789.",
    ),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first))


def load_yaml(text: str, *, name: str) -> tuple[Any, dict[tuple, Place]]:
    """The content of a YAML text, and the line of each key or item by its path."""

    def refuse(line: int, reason: str) -> InputError:
        return InputError(f"{name}, line {line}: {reason}.")

    try:
        refuse_endless(text, refuse, loader=_Loader)
        node = yaml.compose(text, Loader=_Loader)
        content = yaml.load(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f", line {mark.line + 1}" if mark else ""
        raise InputError(f"{name}{line}: this is not valid YAML: {error.problem}.") from None
    except yaml.YAMLError:
        raise InputError(f"{name}: this is not valid YAML.") from None
    return content, dict(_places(node, (), name)) if node is not None else {}


def _places(node: yaml.Node, path: tuple, name: str) -> Iterator[tuple[tuple, Place]]:
    yield path, Place(node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from _places(item, (*path, number), name)
    if not isinstance(node, yaml.MappingNode):
        return
    seen = set()
    for key, value in node.value:
        if key.value in seen:
            raise InputError(f"{name}, line {key.start_mark.line + 1}: the key {key.value!r} is used twice.")
        seen.add(key.value)
        yield (*path, key.value), Place(key.start_mark.line + 1)
        for where, place in _places(value, (*path, key.value), name):
            if where != (*path, key.value):
                yield where, place
