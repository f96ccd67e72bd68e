"""The public version of a dossier: facts that show no value of the data, named one by one.

Left out are values, what is known of single sets of columns of the original, the names of coefficients, and
how it was made. A fact that is new is not public until it is named here.
"""

from __future__ import annotations

from typing import Any

from kohort.pipeline.public import public_version, two_digits
from kohort.report.public_facts import public_certificate, public_risk

__all__ = ["public_dossier"]

_KEPT = ("context", "reviews", "limits", "human", "numbers", "intruders", "sensitive")
_ATTRIBUTE = ("name", "loss")
_SWEEP = ("columns", "sets", "examined", "complete_up_to", "threshold", "counted")
_SIDE = ("by_size", "average_by_column", "smallest_class", "singled_out_by")
_RECIPIENT = ("name", "purpose", "knows", "controls", "review")


def public_dossier(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of an internal dossier that everybody may see."""
    return {
        **{name: facts[name] for name in _KEPT},
        **public_certificate(public_version(facts)),
        "kohort": facts["kohort"],
        "report": "public",
        "about": facts["about"] | {"original": None},
        "making": {},
        "roles": facts["roles"],
        "scheme": None,
        "items": None,
        "linked": facts["linked"],
        "attributes": [two_digits(_some(attribute, _ATTRIBUTE)) for attribute in facts["attributes"]],
        "risk": public_risk(facts["risk"]),
        "knowledge": facts["knowledge"] and _knowledge(facts["knowledge"]),
        "criteria": facts["criteria"] and _criteria(facts["criteria"]),
        "recipients": [_recipient(recipient) for recipient in facts["recipients"]],
        "utility": dict.fromkeys(("queries", "itemsets", "classification", "association")),
        "analyses": [],
        "means": [],
    }


def _some(facts: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: facts[name] for name in names}


def _knowledge(found: dict[str, Any]) -> dict[str, Any]:
    """The sweep over the release alone."""
    return _some(found, _SWEEP) | {"after": _some(found["after"], _SIDE)}


def _criteria(found: dict[str, Any]) -> dict[str, Any]:
    """The attacks without the values that were guessed."""
    guessed = [
        {name: value for name, value in entry.items() if name != "by_value"} for entry in found["inference"]
    ]
    return two_digits(found | {"inference": guessed})


def _recipient(found: dict[str, Any]) -> dict[str, Any]:
    """A recipient and the risk of the release, without that of the original."""
    more = {name: found[name] for name in ("known", "after", "limits") if name in found}
    return _some(found, _RECIPIENT) | more
