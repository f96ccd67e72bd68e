"""What becomes of withheld records: `*` where that is safe, else they are left out, or nothing is published.

A person whom no published class fits is known to be among the withheld records. So these are published, as
`*` with their sensitive values, only if together they keep every promise that a class keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.domain import STAR
from kohort.errors import InfeasibleError
from kohort.problem.promises import MODELS, Model, context_of
from kohort.problem.sensitive import SensitiveAttribute
from kohort.problem.units import Units
from kohort.verification import Verdict


def starred(columns: Sequence[pa.Array | None]) -> np.ndarray:
    """Per record whether it is `*` in every one of these published columns."""
    parts = [pc.equal(column.cast(pa.string()), STAR) for column in columns if column is not None]
    return np.logical_and.reduce([pc.fill_null(part, False).to_numpy(zero_copy_only=False) for part in parts])


def holds_in(
    model: Model,
    sensitive: Mapping[str, SensitiveAttribute],
    units: Units,
    class_of: np.ndarray,
    records: np.ndarray | slice = slice(None),
) -> np.ndarray:
    """Per class whether it satisfies a model; `class_of` is the class of each of these records."""
    counts = units.counts(model, sensitive, class_of, records, int(class_of.max(initial=0)) + 1)
    return model.holds(counts, context_of(model, sensitive))


def broken_by(
    models: Sequence[Model],
    sensitive: Mapping[str, SensitiveAttribute],
    units: Units,
    records: np.ndarray,
) -> str | None:
    """The promises that these records break as one class, in words; None if they keep all.

    records  per record whether it is one of them
    """
    one_class = np.zeros(int(records.sum()), dtype=np.int64)
    broken = [model for model in models if not holds_in(model, sensitive, units, one_class, records)[0]]
    return ", ".join(map(_name, broken)) or None


def _name(model: Model) -> str:
    return f"{model.name} of {model.attribute!r}" if model.attribute else model.name


def refuse_dropping(broken: str | None, verdict: Verdict | None = None) -> None:
    """Refuse a release whose withheld records can neither be published as `*` nor be left out.

    verdict  on the release without them; None if no record would remain. Only models that
             compare classes with the whole table can fail for want of them. Others are not meant here.
    """
    if broken is None:
        return
    reason = "no record would be left"
    if verdict is not None:
        failing = [model.model for model in verdict.models if not model.holds]
        others = [name for name in failing if not MODELS[name].compares_with_whole_table]
        if not failing or others or any(check.holds is False for check in verdict.checks):
            return
        reason = f"without them the other classes do not keep {', '.join(failing)}"
    raise InfeasibleError(
        "The withheld records cannot be published as `*`, because on their own they do not satisfy "
        f"{broken}, and "
        f"they cannot be left out: {reason}. Set suppression: 0, or a smaller share."
    )


def withheld_notes(n_withheld: int, n_left_out: int, broken: str | None) -> list[str]:
    """How withheld records are published; their number is not said, as it may be small.

    n_withheld  those that are left out, and those that are `*` everywhere and so may be taken for withheld
    """
    if not n_withheld:
        return []
    if broken is not None:
        return [
            f"Withheld records are left out. Published as `*` they would not satisfy {broken} on their own, "
            "and anybody who fits no class would be known to be one of them."
        ]
    if n_left_out:
        return ["Withheld records are left out."]
    return ["Withheld records are published as `*`: together they keep every promise, as a class does."]
