"""The part of a release spec that says what is promised.

The keys of an entry, such as `{attribute: diagnosis, l: 3}`, are the fields of the model's own class, and it
stands under the `spec_key` of that class: a new privacy model needs nothing here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Annotated, Any, ClassVar, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BeforeValidator, create_model, field_validator

from kohort.errors import InputError
from kohort.io.spec_parts import Part, Scalar, Switch, as_text
from kohort.problem.promises import (
    MODELS,
    ItemConfidence,
    ItemInference,
    KAnonymity,
    KmAnonymity,
    KnownColumns,
    Model,
    RhoUncertainty,
)

MODEL_KEYS: dict[str, type[Model]] = {
    model.spec_key: model for model in MODELS.values() if model not in (KAnonymity, KnownColumns)
}
"""The models that take one entry or a list of entries, by their key; `k` and `known` are numbers."""


class ModelPart(Part):
    """What the spec says of one privacy model: the fields of its class."""

    of: ClassVar[Any]

    def model(self, **others: Any) -> Any:
        """The privacy model that is asked for; raises InputError if its parameters are wrong."""
        return type(self).of(**dict(self), **others)

    def __reduce__(self) -> Any:
        return _restored, (type(self).of.spec_key, dict(self))  # pickle would not find a class that is made


def _restored(key: str, content: dict[str, Any]) -> ModelPart:
    return PARTS[key].model_construct(**content)


def _part_of(model: Any, *, without: Sequence[str] = ()) -> type[ModelPart]:
    """The class of the entries of a privacy model: it has the fields of the model's class."""
    hints = get_type_hints(model)
    keys: dict[str, Any] = {
        field.name: (_written(hints[field.name]), ... if field.default is MISSING else field.default)
        for field in fields(model)
        if field.name not in without
    }
    name = f"{model.spec_key.capitalize()}Spec"
    part: Any = create_model(name, __base__=ModelPart, __module__=__name__, **keys)
    part.of = model
    return part


def _written(annotation: Any) -> Any:
    """How YAML writes a parameter of a model; what is no text, switch or list, the model checks itself."""
    choices = (annotation, *get_args(annotation))
    if any(get_origin(choice) is Sequence for choice in choices):
        texts: Any = Annotated[list[Scalar], AfterValidator(_as_texts)]
        return texts | None if type(None) in choices else texts
    return {str: str, bool: Switch}.get(annotation, Any)


def _as_texts(values: list[Scalar]) -> list[str]:
    return [as_text(value) for value in values]


PARTS: dict[str, type[ModelPart]] = {
    **{key: _part_of(model) for key, model in MODEL_KEYS.items()},
    ItemConfidence.spec_key: _part_of(ItemConfidence, without=["m"]),  # `m` is a key of its own
    RhoUncertainty.spec_key: _part_of(RhoUncertainty, without=["m"]),
}
"""The class of the entries under each key of `privacy` that has any."""


def _one_or_many(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _sound(parts: list[ModelPart]) -> list[ModelPart]:
    for part in parts:
        part.model()
    return parts


def _entries(part: type[ModelPart]) -> Any:
    return Annotated[list[part], BeforeValidator(_one_or_many), AfterValidator(_sound)]  # type: ignore[valid-type]


_entry_keys: dict[str, Any] = {key: (_entries(PARTS[key]), []) for key in MODEL_KEYS}
_ModelKeys: Any = create_model("_ModelKeys", __base__=Part, **_entry_keys)
_Confidence: Any = PARTS["confidence"]
_Uncertainty: Any = PARTS["uncertainty"]


class PrivacySpec(_ModelKeys):
    """What is promised. The keys of `MODEL_KEYS` take one entry or a list."""

    k: Any = None
    m: Any = None
    known: Any = None
    confidence: _Confidence | None = None
    uncertainty: _Uncertainty | None = None

    @field_validator("k")
    @classmethod
    def _whole_k(cls, k: Any) -> Any:
        if k is not None:
            KAnonymity(k)
        return k

    @field_validator("known")
    @classmethod
    def _whole_known(cls, known: Any) -> Any:
        if known is not None:
            KnownColumns(1, known)
        return known

    @field_validator("m")
    @classmethod
    def _whole_m(cls, m: Any) -> Any:
        if m is not None:
            KmAnonymity(1, m)
        return m

    @field_validator("confidence", "uncertainty")
    @classmethod
    def _sound_inference(cls, part: ModelPart | None) -> ModelPart | None:
        if part is not None:
            part.model(m=1)
        return part

    def km(self) -> KmAnonymity | None:
        """The promise about items; None where there is none."""
        if self.m is None:
            return None
        if self.k is None:
            raise InputError(
                "privacy has an 'm' but no 'k': add the number of records that must match m known items."
            )
        return KmAnonymity(self.k, self.m)

    def item_inference(self) -> ItemInference | None:
        """The promise about sensitive items; None where there is none."""
        given = [part for part in (self.confidence, self.uncertainty) if part is not None]
        if not given:
            return None
        if len(given) > 1:
            raise InputError(
                "privacy has both 'confidence' and 'uncertainty': one promise about sensitive items is "
                "possible. Keep 'uncertainty', which also bounds what known sensitive items tell, or "
                "'confidence'."
            )
        if self.m is None:
            key = type(given[0]).of.spec_key
            raise InputError(f"privacy has {key!r} but no 'm': add the number of items that others may know.")
        return given[0].model(m=self.m)

    def models(self) -> tuple[Model, ...]:
        """The privacy models of every class, k first; `known` says over how many columns k is promised."""
        if self.known is not None and self.k is None:
            raise InputError("privacy has 'known' but no 'k': add the number of records that must fit.")
        if self.known is not None and self.m is not None:
            raise InputError("'known' does not go together with items: leave out 'known' or 'm'.")
        k: tuple[Model, ...] = () if self.k is None else (KAnonymity(self.k),)
        if self.known is not None:
            k = (KnownColumns(self.k, self.known),)
        return (*k, *(part.model() for key in MODEL_KEYS for part in getattr(self, key)))
