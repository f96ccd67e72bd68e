"""The promises of a form as the `privacy` of a spec, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

KINDS = ("distinct", "frequency", "entropy")  # the recursive kind needs a c, which a spec may give
MODELS = {"diversity": "l", "alpha": "alpha", "closeness": "t"}
"""The promises about a sensitive column, and the parameter of each."""


class WrongPromise(Exception):
    """A number that no promise can have; the message says what would be right."""


def entries_of(privacy: dict[str, Any], model: str) -> list[dict[str, Any]]:
    """The entries of a model, also where there is only one."""
    found = privacy.get(model) or []
    return found if isinstance(found, list) else [found]


def privacy_of(form: dict[str, str], sensitive: list[str], before: dict[str, Any]) -> dict[str, Any]:
    """What a form promises; keys of the spec that the form does not have stay as they are."""
    k = _number(form.get("k", ""), "k", int)
    if k is None:
        raise WrongPromise("k is missing: type a whole number, at least 2.")
    if k < 2:
        raise WrongPromise(
            "k = 1 promises nothing: everybody may stand alone. Type a whole number, at least 2."
        )
    found = {"k": k} | {key: value for key, value in before.items() if key not in ("k", "m", *MODELS)}
    m = _number(form.get("m", ""), "m", int)
    if m is not None:
        found["m"] = m
    for model, parameter in MODELS.items():
        entries = [
            _entry(form, model, parameter, place, column, _of_column(before, model, column))
            for place, column in enumerate(sensitive)
        ]
        kept = [entry for entry in entries if entry is not None]
        if kept:
            found[model] = kept[0] if len(kept) == 1 else kept
    return found


def confidence_of(form: dict[str, str], before: dict[str, Any]) -> dict[str, Any] | None:
    """What a form promises of sensitive items, one in a line; None where none is named.

    >>> confidence_of({"sensitive-items": "test\\n", "limit": "0.2"}, {})
    {'sensitive': ['test'], 'limit': 0.2}
    """
    named = [line.strip() for line in form.get("sensitive-items", "").splitlines() if line.strip()]
    limit = _number(form.get("limit", ""), "The highest confidence", float)
    if not named and limit is None:
        return None
    if not named or limit is None:
        raise WrongPromise("Name the sensitive items and the highest confidence, or neither.")
    return {**before, "sensitive": list(dict.fromkeys(named)), "limit": limit}


def _of_column(privacy: dict[str, Any], model: str, column: str) -> dict[str, Any]:
    return next((e for e in entries_of(privacy, model) if e.get("attribute") == column), {})


def _entry(
    form: dict[str, str], model: str, parameter: str, place: int, column: str, before: dict[str, Any]
) -> dict[str, Any] | None:
    """The promise of one model about one column; None where its field is empty."""
    kind: Callable[[str], Any] = float
    value = _number(form.get(f"{model}-{place}", ""), parameter, kind)
    if value is None:
        return None
    whole = int(value) if parameter == "l" and value == int(value) else value
    entry = {**before, "attribute": column, parameter: whole}
    if model == "diversity":
        chosen = form.get(f"kind-{place}", "distinct")
        entry["kind"] = chosen if chosen in (*KINDS, before.get("kind")) else "distinct"
    return entry


def _number(text: str, name: str, kind: Callable[[str], Any]) -> Any:
    if not text.strip():
        return None
    try:
        return kind(text.strip().replace(",", "."))
    except ValueError:
        raise WrongPromise(f"{name} must be a number.") from None
