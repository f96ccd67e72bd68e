"""Options as keys of a file: a pydantic model with a field for each, checked as the option itself is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field, PlainValidator, create_model

from kohort.statement.options import Declared


def option_keys(base: type[BaseModel], options: Mapping[str, Declared]) -> Any:
    """A subclass of `base` with these options as keys; one that a file lacks has its default."""
    keys: dict[str, Any] = {key: _field(declared) for key, declared in options.items()}
    return create_model("OptionKeys", __base__=base, **keys)


def _field(declared: Declared) -> tuple[Any, Any]:
    written: Any = declared.written
    checked = Annotated[written, PlainValidator(declared.check_written)]
    return checked, Field(declared.default, description=declared.option.sentence)
