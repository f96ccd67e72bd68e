"""Hierarchies by description: the `hierarchy:` of a release spec as a builder or a file to read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.auto import Auto, Choice, auto
from kohort.data.hierarchies.categories import Code, Flat, Groups, Mask, code, flat, groups, mask
from kohort.data.hierarchies.dates import Dates, dates
from kohort.data.hierarchies.intervals import Intervals, Quantiles, intervals, quantiles
from kohort.data.hierarchies.orders import ByFrequency, Order, by_frequency, order
from kohort.errors import InputError, did_you_mean

__all__ = [
    "Auto",
    "Builder",
    "ByFrequency",
    "Choice",
    "Code",
    "Dates",
    "FileSource",
    "Flat",
    "Groups",
    "Intervals",
    "Mask",
    "Order",
    "Quantiles",
    "auto",
    "by_frequency",
    "code",
    "dates",
    "flat",
    "from_spec",
    "groups",
    "intervals",
    "mask",
    "order",
    "quantiles",
]

_KINDS = ("auto", "leaf-first", "pairs", "tree")


@dataclass(frozen=True)
class FileSource:
    """A hierarchy that is in a file; `kohort.io.hierarchies` reads it."""

    path: str
    kind: str = "auto"
    delimiter: str | None = None
    encoding: str | None = None
    header: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, Path)) or not str(self.path):
            raise InputError(f"A hierarchy file must be a path. Got {self.path!r}.")
        object.__setattr__(self, "path", str(self.path))
        for name, kind in (("delimiter", str), ("encoding", str), ("header", bool)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise InputError(
                    f"The '{name}' of a hierarchy file must be a {kind.__name__}. Got {value!r}."
                )
        if self.kind not in _KINDS:
            raise InputError(
                f"Unknown kind of hierarchy file {self.kind!r}. {did_you_mean(str(self.kind), _KINDS)}"
            )

    def to_spec(self) -> str | dict[str, Any]:
        options = {
            name: getattr(self, name) for name in ("delimiter", "encoding", "header") if getattr(self, name)
        }
        if self.kind == "auto" and not options:
            return self.path
        if self.kind in ("pairs", "tree"):
            return {self.kind: self.path, **options}
        return {"file": self.path, **options}


def from_spec(value: Any) -> Builder | FileSource | None:
    """The builder or file that a `hierarchy:` names; None where there is to be no hierarchy.

    >>> from_spec({"intervals": [5, 10]}), from_spec("education.csv").path, from_spec("none")
    (Intervals(widths=(5, 10), origin=0, top=None, bottom=None), 'education.csv', None)
    """
    if value is None:
        return None
    if isinstance(value, str):
        return _from_word(value)
    if isinstance(value, Mapping):
        return _from_mapping(dict(value))
    raise InputError(f"A hierarchy must be a file, a word (none, flat, auto) or a mapping. Got {value!r}.")


def _from_word(word: str) -> Builder | FileSource | None:
    if word == "none":
        return None
    if word in ("flat", "auto"):
        return Flat() if word == "flat" else Auto()
    if word in _FORMS:
        raise InputError(f"The hierarchy {word!r} needs its parameter, such as {_FORMS[word].example}.")
    return FileSource(word)


def _from_mapping(spec: dict[Any, Any]) -> Builder | FileSource:
    known = {key for name, form in _FORMS.items() for key in (name, *form.options)}
    for key in spec:
        if key not in known:
            raise InputError(f"Unknown key {key!r} in a hierarchy. {did_you_mean(str(key), known)}")
    name = next((name for name in _FORMS if name in spec), None)
    if name is None:
        raise InputError(f"A hierarchy must name the way it is built: {', '.join(_FORMS)}.")
    form = _FORMS[name]
    for key in spec:
        if key != name and key not in form.options:
            raise InputError(
                f"A hierarchy by {name!r} does not take {key!r}. Options: "
                f"{', '.join(form.options) or 'none'}."
            )
    return form.make(spec.pop(name), **spec)


def _order(values: Any = "natural", fanout: Any = 4) -> Order:
    values = "natural" if values == "id" else values
    return Order(values, fanout)


def _tree(value: Any, **options: Any) -> Groups | FileSource:
    """A tree in the spec itself, with or without its root, or in a file."""
    if not isinstance(value, Mapping):
        return FileSource(value, kind="tree", **options)
    if options:
        raise InputError(f"A tree that is written out does not take {', '.join(options)}.")
    if len(value) == 1:
        [(root, below)] = value.items()
        return Groups(below, root=str(root))
    return Groups(value)


def _switch(builder: Callable[[], Builder], name: str) -> Callable[[Any], Builder]:
    def make(value: Any) -> Builder:
        if value is not True:
            raise InputError(f"The hierarchy {name!r} is switched on by {name}: true. Got {value!r}.")
        return builder()

    return make


@dataclass(frozen=True)
class _Form:
    """One way to write a hierarchy: its main key makes it, with these options."""

    make: Callable[..., Builder | FileSource]
    options: tuple[str, ...]
    example: str


_FILE_OPTIONS = ("delimiter", "encoding", "header")

_FORMS = {
    "intervals": _Form(Intervals, ("origin", "top", "bottom"), "{intervals: [5, 10, 20]}"),
    "quantiles": _Form(Quantiles, ("depth",), "{quantiles: 3}"),
    "mask": _Form(Mask, ("char",), "{mask: right}"),
    "code": _Form(Code, (), "{code: icd10}"),
    "date": _Form(Dates, (), "{date: [month, quarter, year]}"),
    "groups": _Form(Groups, (), "{groups: {Europe: [France, Spain]}}"),
    "tree": _Form(_tree, ("encoding",), "{tree: countries.yaml}"),
    "pairs": _Form(lambda path, **o: FileSource(path, "pairs", **o), _FILE_OPTIONS, "{pairs: products.csv}"),
    "file": _Form(lambda path, **o: FileSource(path, **o), _FILE_OPTIONS, "{file: education.csv}"),
    "order": _Form(_order, ("fanout",), "{order: natural, fanout: 4}"),
    "fanout": _Form(lambda fanout: Order(fanout=fanout), (), "{fanout: 5, order: frequency}"),
    "frequency": _Form(ByFrequency, (), "{frequency: 3}"),
    "flat": _Form(_switch(Flat, "flat"), (), "{flat: true}"),
    "auto": _Form(_switch(Auto, "auto"), (), "{auto: true}"),
}
