"""Read dataclasses from the mappings of a YAML file; all that is wrong is told at once, with its line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from typing import Annotated, Any, get_args, get_origin

from kohort.errors import InputError, did_you_mean
from kohort.parameters import annotations_of, fits, shown, wanted

Where = tuple[Any, ...]


@dataclass(frozen=True)
class As:
    """How a file writes the value of a field, for Annotated: `read` returns it, or raises InputError."""

    read: Callable[[Any], Any]


@dataclass
class Reader:
    """Reads the parts of one file, and collects what is wrong with them.

    name   the name of the file
    lines  the line of each key or item, by its path
    """

    name: str
    lines: Mapping[Where, int]
    problems: list[tuple[int, str]] = field(default_factory=list)

    def part(
        self,
        kind: Any,
        content: Any,
        where: Where,
        *,
        checked: bool = True,
        without: Iterable[str] = (),
        **more: Any,
    ) -> Any:
        """A dataclass with these fields; None where something is wrong.

        checked  whether each value is compared with the annotation of its field; otherwise the class does so
        without  fields that the file does not hold
        more     their values
        """
        known = {name: of for name, of in annotations_of(kind).items() if name not in without}
        if not self.is_mapping(content, where, known):
            return None
        before, values = len(self.problems), {}
        for key, annotation in known.items():
            if content.get(key) is not None:
                kept = annotation if checked else _written(annotation)
                values[key] = self.value(content[key], kept, (*where, key))
        for each in fields(kind):
            is_required = each.default is MISSING and each.default_factory is MISSING
            if is_required and each.name in known and content.get(each.name) is None:
                self.refuse((*where, each.name), "this key is missing.")
        if len(self.problems) > before:
            return None
        return self.told(where, lambda: kind(**values, **more))

    def is_mapping(self, content: Any, where: Where, known: Iterable[str] | None = None) -> bool:
        """Whether this is a mapping with keys that are texts; each one that is not `known` is refused."""
        if not isinstance(content, Mapping):
            self.refuse(where, "this must be a mapping, such as {role: sensitive}.")
            return False
        for key in content:
            if not isinstance(key, str):
                self.refuse((*where, str(key)), "this must be text: put it in quotes.")
            elif known is not None and key not in known:
                dotted = ".".join(map(str, (*where, key)))
                self._add((*where, key), f"unknown key {dotted!r}. {did_you_mean(key, known)}")
        return True

    def parts(self, content: Any, where: Where, read: Callable[[Any, Where], Any]) -> dict[str, Any]:
        """The parts of a mapping from names."""
        if not self.is_mapping(content, where):
            return {}
        found = {name: read(part, (*where, name)) for name, part in content.items() if isinstance(name, str)}
        return {name: part for name, part in found.items() if part is not None}

    def entries(self, content: Any, where: Where, read: Callable[[Any, Where], Any]) -> tuple[Any, ...]:
        """The entries of a list."""
        if not isinstance(content, list):
            self.refuse(where, "this must be a list.")
            return ()
        found = [read(part, (*where, number)) for number, part in enumerate(content)]
        return tuple(part for part in found if part is not None)

    def value(self, given: Any, annotation: Any, where: Where) -> Any:
        """The value, if it is what an annotation says."""
        for mark in getattr(annotation, "__metadata__", ()):
            if isinstance(mark, As):
                return self.told(where, partial(mark.read, given))
        if not fits(given, annotation):
            self.refuse(where, f"this must be {wanted(annotation)}. Got {shown(given)}.")
        return given

    def told(self, where: Where, make: Callable[[], Any]) -> Any:
        """What is made; None where an InputError says what is wrong."""
        try:
            return make()
        except InputError as error:
            self.refuse(where, str(error))
            return None

    def refuse(self, where: Where, words: str) -> None:
        """Note what is wrong at this place."""
        self._add(where, f"{'.'.join(map(str, where))}: {words}")

    def _add(self, where: Where, words: str) -> None:
        line = next((self.lines[where[:n]] for n in range(len(where), 0, -1) if where[:n] in self.lines), 0)
        place = f", line {line}" if line else ""
        self.problems.append((line, f"{self.name}{place}: {words}"))

    def raise_problems(self) -> None:
        """Raise InputError that tells all that is wrong, in the order of the lines."""
        if self.problems:
            in_order = sorted(self.problems, key=lambda problem: problem[0])
            raise InputError("\n".join(dict.fromkeys(words for _, words in in_order)))


def _written(annotation: Any) -> Any:
    """How a file writes the field of a class that checks itself: lists of texts, text and switches."""
    if any(get_origin(choice) is Sequence for choice in (annotation, *get_args(annotation))):
        return Annotated[Any, As(texts_of)]
    return annotation if annotation in (str, bool) else Any


def texts_of(given: Any) -> tuple[str, ...]:
    """The values of a list as texts, as the data spells them."""
    if not isinstance(given, list) or not all(isinstance(value, (str, bool, int, float)) for value in given):
        raise InputError(f"this must be a list of values. Got {shown(given)}.")
    return tuple(as_text(value) for value in given)


def as_text(value: Any) -> str:
    """A YAML scalar as the data spells it: true and false in lower case, numbers as they are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)
