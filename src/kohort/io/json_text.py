"""Read JSON: an error names the line, an object that has a key twice is refused, documents are checked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from kohort.errors import InputError
from kohort.io.source_file import bytes_of

if TYPE_CHECKING:
    from pydantic import BaseModel

Document = TypeVar("Document", bound="BaseModel")

DEEPEST = 100  # nested objects and lists
_TEXT_OR_BRACKET = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')


def read_document(path: str | Path, kind: type[Document], what: str, hint: str) -> tuple[Document, bytes]:
    """A JSON file, checked, and its bytes; errors show none of its values."""
    from pydantic import ValidationError

    content = bytes_of(path, f"The {what.partition(' ')[2]}")
    try:
        return kind.model_validate(decode_json(content, name=Path(path).name)), content
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{str(path)!r} is not {what}: {place}: {first['msg']}. {hint}") from None
    except InputError as error:
        raise InputError(f"{str(path)!r} is not {what}: it is not JSON in UTF-8. {error}") from None


def decode_json(content: bytes, *, name: str) -> Any:
    """The content of bytes that are JSON in UTF-8."""
    try:
        return parse_json(content.decode("utf-8-sig"), name=name)
    except UnicodeDecodeError:
        raise InputError(f"{name} is not JSON: it is not text in UTF-8.") from None


def parse_json(text: str, *, name: str, first_line: int = 1) -> Any:
    """The content of a text; messages name the line, counted from `first_line`, and show nothing of it."""
    deep = _line_too_deep(text)
    if deep is not None:
        raise InputError(f"{name}, line {deep + first_line - 1}: it is nested more than {DEEPEST} deep.")
    where = name if "\n" in text else f"{name}, line {first_line}"

    def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):  # which of the two counts would be a guess
            raise InputError(f"{where}: an object has the same key twice.")
        return found

    try:
        return json.loads(text, object_pairs_hook=without_doubles)
    except json.JSONDecodeError as error:
        line = error.lineno + first_line - 1
        raise InputError(f"{name}, line {line}: this is not valid JSON.") from None
    except InputError:
        raise
    except ValueError:  # a whole number of thousands of digits
        raise InputError(f"{where}: there is a number with too many digits.") from None


def _line_too_deep(text: str) -> int | None:
    """The line where nesting passes DEEPEST; None where it never does. Brackets inside texts do not count."""
    depth = 0
    for found in _TEXT_OR_BRACKET.finditer(text):
        bracket = found.group()
        if bracket in "[{":
            depth += 1
            if depth > DEEPEST:
                return text.count("\n", 0, found.start()) + 1
        elif bracket in "]}":
            depth -= 1
    return None
