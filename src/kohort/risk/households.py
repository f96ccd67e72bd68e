"""Risk of households: the chance that at least one member is found, each looked up by itself.

Templ, Meindl, Kowarik (2015): the risk of a household is 1 - (1 - r1)(1 - r2)... for members of the risks r1,
r2 and so on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.errors import percent
from kohort.pipeline.before_after import BeforeAfter, classes_of

__all__ = ["household_risk"]


def household_risk(sides: BeforeAfter) -> dict[str, Any]:
    """The risk of members by their own records alone, and that of their households, before and after."""
    assert sides.histories is not None
    household = sides.histories.persons
    codes = [attribute.column.codes for attribute in sides.attributes]
    before = _risks(codes, household)
    after = _risks([column.codes for column in sides.labels], household[sides.rows])
    sentence = (
        "Somebody who knows one member by their quasi-identifiers, and not the household, finds the record "
        f"with a chance of at most {percent(after['individual']['maximum'])}; before it was "
        f"{percent(before['individual']['maximum'])}. Somebody who looks up each member so finds at least "
        f"one of a household with a chance of {percent(after['household']['average'])} on average, "
        f"{percent(after['household']['maximum'])} at most; before it was "
        f"{percent(before['household']['average'])} and {percent(before['household']['maximum'])}."
    )
    return {"before": before, "after": after, "sentence": sentence}


def _risks(columns: list[np.ndarray], household: np.ndarray) -> dict[str, dict[str, float]]:
    """Maximum and average risk of records that look alike in these columns, and of their households."""
    classes = classes_of(columns, len(household))
    risk = 1 / classes.sizes[classes.of_record]
    order = np.argsort(household, kind="stable")
    starts = np.flatnonzero(np.diff(household[order], prepend=-1))
    nobody = np.multiply.reduceat(1 - risk[order], starts)
    return {"individual": _summary(risk), "household": _summary(1 - nobody)}


def _summary(risk: np.ndarray) -> dict[str, float]:
    return {"maximum": float(risk.max()), "average": float(risk.mean())}
