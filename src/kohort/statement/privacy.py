"""What is promised, as a spec writes it under `privacy`.

The keys of an entry, such as `{attribute: diagnosis, l: 3}`, are the fields of the model's own class, and it
stands under the `spec_key` of that class: a new privacy model needs nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kohort.errors import InputError
from kohort.problem.promises import (
    MODELS,
    ItemConfidence,
    ItemInference,
    KAnonymity,
    KmAnonymity,
    KnownColumns,
    Model,
    Promise,
    RhoUncertainty,
)
from kohort.statement.reader import Reader

MODEL_KEYS: dict[str, type[Model]] = {
    model.spec_key: model for model in MODELS.values() if model not in (KAnonymity, KnownColumns)
}
"""The models that take one entry or a list of entries, by their key; `k` and `known` are numbers."""
_INFERENCE: dict[str, Any] = {kind.spec_key: kind for kind in (ItemConfidence, RhoUncertainty)}
_NUMBERS: dict[str, Callable[[Any], Any]] = {
    "k": KAnonymity,
    "m": lambda m: KmAnonymity(1, m),
    "known": lambda known: KnownColumns(1, known),
}
PRIVACY_KEYS: dict[str, Any] = {**dict.fromkeys(_NUMBERS), **MODEL_KEYS, **_INFERENCE}
"""The keys of `privacy`, and the class of their entries where they have any."""


@dataclass(frozen=True)
class Privacy:
    """What a spec says under `privacy`; what does not go together is refused when the promises are made.

    numbers  `k`, `m` and `known`, those that are given
    models   the promises of classes beside these
    items    the promises about sensitive items, of one known item
    """

    numbers: Mapping[str, int]
    models: tuple[Model, ...]
    items: tuple[Any, ...]

    def promises(self) -> tuple[Promise, ...]:
        """All promises, k first."""
        k, m, known = (self.numbers.get(name) for name in _NUMBERS)
        if m is not None and k is None:
            raise InputError(
                "privacy has an 'm' but no 'k': add the number of records that must match m known items."
            )
        if len(self.items) > 1:
            raise InputError(
                "privacy has both 'confidence' and 'uncertainty': one promise about sensitive items is "
                "possible. Keep 'uncertainty', which also bounds what known sensitive items tell, or "
                "'confidence'."
            )
        for item in self.items if m is None else ():
            raise InputError(
                f"privacy has {item.spec_key!r} but no 'm': add the number of items that others may know."
            )
        if known is not None and k is None:
            raise InputError("privacy has 'known' but no 'k': add the number of records that must fit.")
        if known is not None and m is not None:
            raise InputError("'known' does not go together with items: leave out 'known' or 'm'.")
        first: list[Promise] = []
        if k is not None:
            first.append(KAnonymity(k) if known is None else KnownColumns(k, known))
        about_items = [] if k is None or m is None else [KmAnonymity(k, m)]
        return (*first, *self.models, *about_items, *(replace(item, m=m) for item in self.items))


def read_privacy(reader: Reader, content: Any) -> Privacy:
    """What stands under `privacy`."""
    where = ("privacy",)
    if not reader.is_mapping(content, where, PRIVACY_KEYS):
        return Privacy({}, (), ())
    numbers = {name: content[name] for name in _NUMBERS if content.get(name) is not None}
    for name, number in numbers.items():
        reader.told((*where, name), partial(_NUMBERS[name], number))
    models: list[Any] = []
    for key, kind in MODEL_KEYS.items():
        given, read = content.get(key, []), partial(reader.part, kind, checked=False)
        listed = isinstance(given, list)
        models += reader.entries(given, (*where, key), read) if listed else [read(given, (*where, key))]
    items = [
        reader.part(kind, content[key], (*where, key), checked=False, without=["m"], m=1)
        for key, kind in _INFERENCE.items()
        if content.get(key) is not None
    ]
    return Privacy(numbers, tuple(models), tuple(items))


def with_k(promises: tuple[Promise, ...], k: int) -> tuple[Promise, ...]:
    """The same promises with another k; k-anonymity where none of them has one."""
    changed: list[Promise] = [
        replace(promise, k=k) if isinstance(promise, (KAnonymity, KnownColumns, KmAnonymity)) else promise
        for promise in promises
    ]
    KAnonymity(k)
    has_k = any(isinstance(promise, (KAnonymity, KnownColumns)) for promise in changed)
    return tuple(changed) if has_k else (KAnonymity(k), *changed)


def in_order(promises: tuple[Any, ...]) -> tuple[Promise, ...]:
    """The promises of classes, then those of items; a class of promise is asked for once about items."""
    kinds = (KmAnonymity, ItemInference)
    return (
        *(promise for promise in promises if not isinstance(promise, kinds)),
        *(promise for kind in kinds for promise in promises if isinstance(promise, kind)),
    )
