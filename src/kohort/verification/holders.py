"""Who holds something sensitive in published baskets, and which sets of published items imply it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.column import Column
from kohort.problem.models import ItemInference
from kohort.problem.models.item_inference import InferenceSurvey

__all__ = ["Holders", "holders_of", "survey_published"]


class Holders(NamedTuple):
    """What is promised of sensitive items or values, and who holds them.

    others        the published baskets without sensitive items
    known         the published baskets with what others may know: sensitive items as well, or not
    sensitive_of  per item of those the number of the sensitive item that it is, or -1
    names         of the sensitive items or values
    holds         for each of them, whether each record holds it
    """

    model: ItemInference
    others: Baskets
    known: Baskets
    sensitive_of: np.ndarray
    names: Sequence[str | None]
    holds: list[np.ndarray]


def holders_of(published: Baskets, model: ItemInference, values: Column | None, *, multiset: bool) -> Holders:
    """Who holds the sensitive items, or the values of a column."""
    others = published.parted(model.sensitive, multiset=multiset)[0]
    known = published if model.knows_sensitive else others
    number = {name: i for i, name in enumerate(model.sensitive)}
    of_item = np.array([number.get(name, -1) for name in known.names(multiset)], dtype=np.int64)
    names = model.sensitive if values is None else values.texts
    return Holders(model, others, known, of_item, names, model.held(published, values, multiset=multiset))


def survey_published(found: Holders, records: np.ndarray) -> InferenceSurvey:
    """Look at every set of published items of some records."""
    known, model = found.known, found.model
    sizes = known.sizes[records]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(offsets[-1]) + np.repeat(known.offsets[records] - offsets[:-1], sizes)
    return model.survey(
        offsets,
        known.items.codes[places],
        [held[records] for held in found.holds],
        sensitive_of=found.sensitive_of if model.knows_sensitive else None,
    )
