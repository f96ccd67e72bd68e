"""What a steward says for those who must approve a release: recipients, context and analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any, Literal, get_args

from kohort.errors import InputError, did_you_mean
from kohort.parameters import shown

QUESTIONS = {
    "purpose": "What is the data released for, and what benefit is expected?",
    "legal_basis": "On which legal basis was the data collected, and on which is it released?",
    "source": "How, when and by whom was the data collected?",
    "people": "Who are the people in the data, and are some of them vulnerable?",
    "consent": "What were these people told, and what did they agree to?",
    "reasonable_means": "Which other data and which means might somebody use to find people in the release?",
    "motives": "Who might want to find people in the release, and why?",
    "harm": "What harm would follow if somebody were found?",
    "earlier_releases": "Which data about the same people has been released before?",
    "responsible": "Who decides on the release, and who answers for it?",
    "expert": "Who made the determination, and with which knowledge and experience?",
    "incident": "What happens if somebody is found, and whom can people turn to?",
    "monitoring": "How is it noticed that the circumstances have changed?",
    "retention": "How long is the release available, and can it be withdrawn?",
}
"""Questions of context that only the steward can answer, by their key in the spec."""

Labels = Literal["midpoint", "spread"]


@dataclass(frozen=True)
class Recipient:
    """Somebody who gets the release.

    knows     the quasi-identifiers that they may know of people; None: all of them
    controls  what keeps them from misusing it, such as a contract, each in a few words
    review    the date by which the release to them is to be looked at again
    """

    name: str = ""
    knows: tuple[str, ...] | None = None
    controls: tuple[str, ...] = ()
    review: date | None = None
    purpose: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip():
            raise InputError("A recipient has no name: say who gets the release, or that it is public.")
        for field in ("knows", "controls"):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, _texts(self.name, field, value))
        object.__setattr__(self, "review", _date(self.name, self.review))
        if self.purpose is not None and not isinstance(self.purpose, str):
            raise InputError(f"The purpose of the recipient {self.name!r} must be text.")

    def to_dict(self) -> dict[str, Any]:
        knows, review = self.knows and list(self.knows), self.review and self.review.isoformat()
        said = {"name": self.name, "purpose": self.purpose, "knows": knows}
        return said | {"controls": list(self.controls), "review": review}


def check_recipients(recipients: Sequence[Recipient], quasi_identifiers: Sequence[str]) -> None:
    """Refuse two recipients of the same name, and knowledge of columns that are no quasi-identifiers."""
    if len({recipient.name for recipient in recipients}) < len(recipients):
        raise InputError("Two recipients have the same name: give each one a name of its own.")
    for recipient in recipients:
        for column in recipient.knows or ():
            if column not in quasi_identifiers:
                raise InputError(
                    f"The recipient {recipient.name!r} knows {column!r}, which is not a quasi-identifier. "
                    f"{did_you_mean(column, quasi_identifiers)}"
                )


def _texts(name: str, field: str, value: Any) -> tuple[str, ...]:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    if not listed or not all(isinstance(text, str) and text for text in value):
        raise InputError(f"{field!r} of the recipient {name!r} must be a list of texts. Got {shown(value)}.")
    return tuple(value)


def _date(name: str, value: Any) -> date | None:
    if value is None or type(value) is date:
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise InputError(
            f"'review' of the recipient {name!r} must be a date such as 2027-06-30. Got {shown(value)}."
        ) from None


@dataclass(frozen=True)
class Analyses:
    """Analyses that the release is made for, and how labels are read in them.

    models  formulas such as `income ~ age + sex`
    labels  midpoint, or spread: see `kohort.utility.model_overlap`
    """

    models: tuple[str, ...] = ()
    labels: Labels = "midpoint"

    def __post_init__(self) -> None:
        given = self.models
        listed = isinstance(given, Sequence) and not isinstance(given, str)
        if not listed or not all(isinstance(text, str) for text in given):
            raise InputError(
                f"'models' under 'utility' must be a list such as ['income ~ age + sex']. Got {shown(given)}."
            )
        object.__setattr__(self, "models", tuple(given))
        if self.labels not in get_args(Labels):
            raise InputError(
                f"'labels' under 'utility' must be midpoint or spread. Got {shown(self.labels)}."
            )


def read_context(given: Mapping[str, Any]) -> dict[str, str]:
    """The answers to questions of context; an unknown question is refused."""
    if not isinstance(given, Mapping):
        raise InputError(
            f"'context' must answer questions by their key, such as purpose. Got {shown(given)}."
        )
    for key, answer in given.items():
        if key not in QUESTIONS:
            raise InputError(
                f"There is no question {key!r} under 'context'. {did_you_mean(str(key), QUESTIONS)}"
            )
        if not isinstance(answer, str) or not answer.strip():
            raise InputError(
                f"The answer to {key!r} under 'context' must be text; leave it out to leave it blank."
            )
    return {key: given[key].strip() for key in QUESTIONS if key in given}
