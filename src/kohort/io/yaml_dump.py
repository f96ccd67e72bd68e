"""Parts of a spec as YAML text: a key and its value on one line, or spread over several."""

from __future__ import annotations

from typing import Any

import yaml

_NO_LIMIT = 1_000_000  # columns: yaml is to break no line


class _Inline(dict):
    """A mapping that is written on one line."""


class _Dumper(yaml.SafeDumper):
    """Writes one entry per line."""

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
    return _dump({key: [_Inline(item) for item in value] if isinstance(value, list) else _Inline(value)})


def spread(content: Any) -> str:
    """The content as YAML, an entry per line."""
    return _dump(content)


def _dump(content: Any) -> str:
    return yaml.dump(
        content,
        Dumper=_Dumper,
        allow_unicode=True,
        width=_NO_LIMIT,
        sort_keys=False,
        default_flow_style=False,
    )


def printable(text: str) -> str:
    """The text without characters that would end a comment or are not allowed in YAML."""
    return "".join(character if character.isprintable() else "?" for character in text)
