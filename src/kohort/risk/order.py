"""The order attack as facts: what the order of the published records gives away."""

from __future__ import annotations

from typing import Any

import numpy as np

from kohort.pipeline.before_after import BeforeAfter
from kohort.pipeline.order import attack_sentence, sorter_sentence
from kohort.pipeline.release import VerifiedRelease
from kohort.verification.attack_on_order import untouched_columns
from kohort.verification.label_narrowing import attack_ranks, sighted_column

__all__ = ["order_attack"]

_NOTHING = (
    "The published records are not sorted by any quasi-identifier, so no label can be narrowed down by its "
    "position."
)


def order_attack(release: VerifiedRelease, sides: BeforeAfter, k: int) -> dict[str, Any] | None:
    """Attack a release by every order that its records really have; None without quasi-identifiers.

    k  records in classes smaller than this, once labels are narrowed, are counted

    `by_column` has the same for each published column that puts the records in such an order.
    """
    if not sides.attributes:
        return None
    quasi = [
        sighted_column(labels, covering, attribute.column, sides.rows)
        for labels, covering, attribute in zip(sides.labels, sides.coverings, sides.attributes)
    ]
    untouched = release.roles.untouched(release.request.treatments)
    kept = untouched_columns(release.dataset, untouched, np.asarray(sides.rows))
    found = attack_ranks(quasi, kept, k)
    sentences = [attack_sentence(found) if found.orders else _NOTHING]
    sorters = () if release.order is None else release.order.sorters
    sentences += map(sorter_sentence, sorters)
    by_column = {sorter.column: sorter.attack.to_dict() for sorter in sorters}
    return {**found.to_dict(), "by_column": by_column, "sentence": " ".join(sentences)}
