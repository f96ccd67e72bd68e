"""What cannot be asked of a release that is tied to earlier ones by a ledger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kohort.errors import InputError, UnsupportedError
from kohort.problem.promises import RiskLimit

if TYPE_CHECKING:
    from kohort.pipeline.request import Request


def refuse_with_ledger(request: Request) -> None:
    """Raise for what a ledger does not go together with."""
    assert request.ledger is not None
    if request.roles.only("person") is None:
        raise InputError(
            "A ledger ties releases of the same people together: give the column that says who somebody is "
            "the role person."
        )
    if request.key is None:
        raise InputError(
            "A ledger needs a secret key: give a key file (--key-file, or key= in Python) or set the "
            "environment variable KOHORT_KEY."
        )
    for there, what in (
        (request.linked_by is not None, "linked records or households"),
        (request.items is not None, "a column of items"),
        (request.events is not None, "a table of events"),
        (request.scheme is not None or bool(request.schemes), "a scheme"),
        (request.sample < 1, "a sample of the records"),
        (bool(request.perturbations), "treatments that change values"),
        (bool(set(request.publish.values()) - {"interval"}), "means or medians"),
    ):
        if there:
            raise UnsupportedError(
                f"A ledger does not go together with {what}: the promise over several releases is about one "
                "record for each person, in groups. Leave one of them out."
            )
    _refuse_models(request)


def _refuse_models(request: Request) -> None:
    for model in request.models:
        if isinstance(model, RiskLimit):
            raise UnsupportedError(
                "A limit on the risk is not possible with a ledger, which counts the candidates that all "
                f"releases leave. Ask for k: {model.least_class} instead."
            )
        alone = model.of_table or model.by_sampling or not model.survives_unions
        if model.compares_with_whole_table or alone:
            raise UnsupportedError(
                f"{model.name} as asked is not possible with a ledger: what it allows changes with the whole "
                "table, or from one union of classes to the next. Ask for another model."
            )
    sensitive = request.roles.having("sensitive")
    if request.again == "m-invariance" and len(sensitive) != 1:
        raise UnsupportedError(
            f"m-invariance protects the values of one sensitive column, and {len(sensitive)} have that role. "
            "Name one, or set again: history-keeping."
        )
