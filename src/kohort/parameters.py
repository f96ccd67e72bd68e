"""Checks that parameters of algorithms, builders and options have the type that their annotation declares.

A frozen dataclass calls `check_parameters(self)` when it is made. Nothing is converted but the scalars of
NumPy: "2" is not a number, 'off' is neither true nor false, and NaN is within no limits.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from kohort.errors import InputError

__all__ = [
    "Option",
    "Seconds",
    "Seed",
    "Share",
    "Within",
    "annotations_of",
    "check_option",
    "check_parameters",
    "fits",
    "shown",
    "wanted",
]

_LONGEST = 60  # characters of a value that a message shows


@dataclass(frozen=True)
class Within:
    """Limits of a number, for Annotated: from `least` (or above `above`) to `most`.

    >>> fits(0.5, Annotated[float, Within(above=0, most=1)]), fits("2", int), fits(True, int)
    (True, False, False)
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None

    def has(self, number: Any) -> bool:
        return (
            (self.least is None or number >= self.least)
            and (self.above is None or number > self.above)
            and (self.most is None or number <= self.most)
        )

    def __str__(self) -> str:
        first = f"above {_plain(self.above)}" if self.above is not None else f"from {_plain(self.least)}"
        if self.least is None and self.above is None:
            return f"up to {_plain(self.most)}"
        if self.most is None:
            return first if self.above is not None else f"of at least {_plain(self.least)}"
        return (
            f"{first}, at most {_plain(self.most)}"
            if self.above is not None
            else f"{first} to {_plain(self.most)}"
        )


@dataclass(frozen=True)
class Option:
    """What an option of a release is for and where it can be given, for Annotated.

    sentence  what it decides, as the documentation says it
    flag      the help of its flag on the command line; None: it has no flag
    in_spec   whether the spec has a key for it
    in_maps   whether the maps of a release keep it
    check     raises InputError for a text that is an unknown name
    """

    sentence: str
    flag: str | None = None
    in_spec: bool = True
    in_maps: bool = False
    check: Callable[[str], Any] | None = None


Share = Annotated[float, Within(0, 1)]
Seed = Annotated[int, Within(0, 2**63 - 1)]
Seconds = Annotated[float, Within(above=0, most=1_000_000_000)]


def check_parameters(instance: Any, *, say: str = "The {name!r} parameter of {owner}") -> None:
    """Raise InputError for the first field of a dataclass whose value is not what its annotation says.

    `say` begins the message. The owner is the spec name of an algorithm, else the name of the class.
    """
    kind: Any = type(instance)
    owner = getattr(kind, "name", kind.__name__)
    for name, annotation in annotations_of(kind).items():
        given = getattr(instance, name)
        value = _of_python(given)  # JSON could not hold a scalar of NumPy
        if value is not given:
            object.__setattr__(instance, name, value)
        if not fits(value, annotation):
            raise _refusal(say.format(name=name, owner=owner), value, annotation)


def check_option(name: str, value: Any, annotation: Any) -> None:
    """Raise InputError for an option of a function whose value is not what the annotation says."""
    if not fits(_of_python(value), annotation):
        raise _refusal(repr(name), value, annotation)


def _of_python(value: Any) -> Any:
    """The value itself, or for a scalar of NumPy the number or text of Python."""
    numpy = sys.modules.get("numpy")  # where it is not imported, nothing is a scalar of NumPy
    return value.item() if numpy is not None and isinstance(value, numpy.generic) else value


def _refusal(what: str, value: Any, annotation: Any) -> InputError:
    return InputError(f"{what} must be {wanted(annotation)}. Got {shown(value)}.")


@cache
def annotations_of(kind: Any) -> dict[str, Any]:
    """The annotation of each field of a dataclass, with everything that Annotated adds."""
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def fits(value: Any, annotation: Any) -> bool:
    """Whether a value is what an annotation says, without any conversion."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        inner, *limits = arguments
        within = [limit for limit in limits if isinstance(limit, Within)]
        return fits(value, inner) and all(limit.has(value) for limit in within if value is not None)
    if origin in (Union, types.UnionType):
        return any(fits(value, choice) for choice in arguments)
    if origin is Literal:
        return any(type(value) is type(word) and value == word for word in arguments)
    if origin is not None and issubclass(origin, Mapping):
        return isinstance(value, Mapping) and all(
            fits(key, arguments[0]) and fits(item, arguments[1]) for key, item in value.items()
        )
    if origin is not None and issubclass(origin, (Sequence, AbstractSet)):
        listed = isinstance(value, origin) and not isinstance(value, (str, bytes))
        return listed and all(fits(item, arguments[0]) for item in value)
    return _is_a(value, annotation)


def _is_a(value: Any, kind: Any) -> bool:
    if kind is Any:
        return True
    if getattr(kind, "_is_protocol", False):
        methods = [name for name, member in vars(kind).items() if callable(member) and name[0] != "_"]
        return not isinstance(value, type) and all(hasattr(value, name) for name in methods)
    if kind in (int, float) and isinstance(value, bool):
        return False
    if kind is float:
        return isinstance(value, (int, float)) and _is_finite(value)
    return isinstance(value, types.NoneType if kind is None else kind)


def _is_finite(value: float) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def wanted(annotation: Any) -> str:
    """An annotation in words.

    >>> wanted(Annotated[int, Within(1, 16)]), wanted(bool | None), wanted(Literal["a", "b"])
    ('a whole number from 1 to 16', 'true or false, or left out', 'a or b')
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        limits = [str(limit) for limit in arguments[1:] if isinstance(limit, Within)]
        return " ".join([wanted(arguments[0]), *limits])
    if origin in (Union, types.UnionType):
        some = [wanted(choice) for choice in arguments if choice is not types.NoneType]
        return " or ".join(some) + (", or left out" if types.NoneType in arguments else "")
    if origin is Literal:
        *some, last = map(str, arguments)
        return f"{', '.join(some)} or {last}" if some else last
    if origin is not None and issubclass(origin, Mapping):
        return f"a mapping from {_several(arguments[0])} to {_several(arguments[1])}"
    if origin is not None and issubclass(origin, (Sequence, AbstractSet)):
        return f"a list of {_several(arguments[0])}"
    return _WORDS.get(annotation, f"a {getattr(annotation, '__name__', annotation)}")


_WORDS: dict[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "text",
    bytes: "bytes",
}


def _several(annotation: Any) -> str:
    words = {str: "text values", int: "whole numbers", float: "numbers"}
    return words.get(annotation) or wanted(annotation)


def shown(value: Any) -> str:
    """A parameter's value for a message, with its type where that is not plain to see.

    >>> shown("2"), shown(3), shown([3])
    ("'2' (text)", '3', '[3] (list)')
    """
    if isinstance(value, int) and abs(value) >= 10**_LONGEST:
        return f"a whole number of over {_LONGEST} digits"  # Python refuses to write out the longest
    text = repr(value)
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    if isinstance(value, str):
        return f"{text} (text)"
    return text if value is None or type(value) in (bool, int, float) else f"{text} ({type(value).__name__})"


def _plain(number: float | None) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
