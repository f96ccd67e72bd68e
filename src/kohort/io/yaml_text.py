"""Refuse YAML that is nested too deep or repeats too much by aliases, before anything is built from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import yaml

from kohort.errors import InputError

DEEPEST = 100  # nested mappings and lists
MOST_REPEATED = 100_000  # values that aliases may repeat

Refusal = Callable[[int, str], Exception]


def refuse_endless(text: str, refuse: Refusal, *, loader: Any = yaml.SafeLoader) -> None:
    """Raise what `refuse` makes of a line and a reason, where a text is nested too deep or repeats too much.

    Only the events of the parser are looked at, one after another: nothing is built and nothing repeated.
    """
    around: list[
        tuple[str | None, int]
    ] = []  # of each open mapping or list its anchor, and the values so far
    sizes: dict[str | None, int | None] = {}  # values below each anchor; None while it is open
    repeated = 0  # values that aliases stood for
    event: Any  # what PyYAML's stubs say of its marks differs from version to version
    for event in yaml.parse(text, Loader=loader):
        line, anchor, size = event.start_mark.line + 1, getattr(event, "anchor", None), 1
        if isinstance(event, yaml.CollectionStartEvent):
            if len(around) == DEEPEST:
                raise refuse(line, f"it is nested more than {DEEPEST} deep")
            around.append((anchor, 1))
            sizes[anchor] = None
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, size = around.pop()
        elif isinstance(event, yaml.AliasEvent):
            below = sizes.get(anchor, 0)  # an unknown one is refused when the text is read
            if below is None:
                raise refuse(line, f"the alias *{anchor} contains itself")
            repeated += below
            if repeated > MOST_REPEATED:
                reason = f"its aliases stand for more than {MOST_REPEATED:,} values. Write them out"
                raise refuse(line, reason)
            anchor, size = None, below
        elif not isinstance(event, yaml.ScalarEvent):
            continue
        if anchor is not None:
            sizes[anchor] = size
        if around:
            around[-1] = around[-1][0], around[-1][1] + size


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


def load_yaml(text: str, *, name: str) -> tuple[Any, dict[tuple, int]]:
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


def _places(node: yaml.Node, path: tuple, name: str) -> Iterator[tuple[tuple, int]]:
    yield path, node.start_mark.line + 1
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
        yield (*path, key.value), key.start_mark.line + 1
        for where, line in _places(value, (*path, key.value), name):
            if where != (*path, key.value):
                yield where, line


_NO_LIMIT = 1_000_000  # columns: yaml is to break no line


class _Inline(dict):
    """A mapping that is written on one line."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _write_inline(dumper: _Dumper, value: _Inline) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", value.items(), flow_style=True)


def _write_text(dumper: _Dumper, value: str) -> yaml.Node:
    # in its other styles, yaml breaks lines at some characters and does not read them back
    style = None if value.isprintable() else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(_Inline, _write_inline)
_Dumper.add_representer(str, _write_text)


def dumped(key: str, value: Any) -> str:
    """The text `key: value` as YAML on one line, with quotes where they are needed."""
    return spread({key: [_Inline(item) for item in value] if isinstance(value, list) else _Inline(value)})


def spread(content: Any) -> str:
    """The content as YAML, an entry per line."""
    how: Any = {"allow_unicode": True, "width": _NO_LIMIT, "sort_keys": False, "default_flow_style": False}
    return yaml.dump(content, Dumper=_Dumper, **how)


def printable(text: str) -> str:
    """The text without characters that would end a comment or are not allowed in YAML."""
    return "".join(character if character.isprintable() else "?" for character in text)
