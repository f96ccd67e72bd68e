"""Which published baskets may stand for which original ones: for releases whose order is not known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.hierarchy import Hierarchy
from kohort.verification.demands import OriginalItems
from kohort.verification.item_coverage import published_nodes

_MOST_CELLS = 10**8


class TooLarge(Exception):
    """There are too many pairs of records to compare."""


@dataclass(frozen=True, eq=False)
class BasketFit:
    """Distinct baskets, and which fit.

    published, original  per record the number of its basket
    fits                 per published and original basket whether the one stands for the other
    """

    published: np.ndarray
    original: np.ndarray
    fits: np.ndarray


def basket_fit(published: Baskets, problem: OriginalItems) -> BasketFit:
    """Compare every distinct published basket with every distinct original one.

    Every original item must be under a published label, unless it may have been dropped, every published
    label above an original item, and sensitive items must be the same. A missing basket may stand for any.
    TooLarge above 10^8 pairs.
    """
    secret = () if problem.confidence is None else problem.confidence.to_dict().get("sensitive", ())
    shown, shown_secret = published.parted(secret, multiset=problem.multiset)
    after, first_after = _distinct([shown, shown_secret])
    before, first_before = _distinct([problem.baskets, problem.sensitive or problem.baskets])
    hierarchy = problem.hierarchy
    n_leaves, n_labels = len(hierarchy.leaves), len(shown.items.texts)
    cells = (len(first_after) + len(first_before)) * max(n_leaves, n_labels)
    if max(cells, len(first_after) * len(first_before)) > _MOST_CELLS:
        raise TooLarge
    under = _under(shown, hierarchy)
    labels = _indicator(shown, first_after, n_labels)
    leaves = _indicator(problem.baskets, first_before, n_leaves, problem.leaf_of_item)
    fits = labels @ (leaves @ under.T == 0).astype(np.float32).T == 0
    if not problem.suppress:
        fits &= (labels @ under == 0).astype(np.float32) @ leaves.T == 0
    if problem.sensitive is not None:
        before_secret = problem.sensitive
        fits &= _same_items(
            shown_secret, before_secret, first_after, first_before, may_lack=problem.drops_sensitive
        )
    fits |= shown.missing[first_after][:, None]
    return BasketFit(after, before, fits)


def _distinct(parts: list[Baskets]) -> tuple[np.ndarray, np.ndarray]:
    """Per record the number of its basket, and a record of each."""
    raw = [part.items.codes.astype(np.int64) for part in parts]
    number: dict[tuple, int] = {}
    first: list[int] = []
    of_record = np.empty(len(parts[0]), dtype=np.int64)
    for record in range(len(of_record)):
        ends = [(part.offsets[record], part.offsets[record + 1]) for part in parts]
        items = [np.sort(codes[a:b]).tobytes() for codes, (a, b) in zip(raw, ends)]
        key = (bool(parts[0].missing[record]), *items)
        of_record[record] = number.setdefault(key, len(number))
        if len(number) > len(first):
            first.append(record)
    return of_record, np.array(first, dtype=np.int64)


def _under(published: Baskets, hierarchy: Hierarchy) -> np.ndarray:
    """A matrix of published labels by leaves: 1 where the label covers the leaf."""
    under = np.zeros((len(published.items.texts), len(hierarchy.leaves)), dtype=np.float32)
    occurrence, node, _ = published_nodes(published, hierarchy)
    pairs = np.unique(np.column_stack([published.items.codes[occurrence], node]), axis=0)
    for label, above in pairs.tolist():
        under[label, hierarchy.lo[above] : hierarchy.hi[above] + 1] = 1
    return under


def _indicator(
    baskets: Baskets, records: np.ndarray, n_columns: int, column_of: np.ndarray | None = None
) -> np.ndarray:
    """A matrix of baskets by items (or the columns that stand for them): 1 where the basket has the item."""
    found = np.zeros((len(records), n_columns), dtype=np.float32)
    for row, record in enumerate(records):
        codes = baskets.items.codes[baskets.offsets[record] : baskets.offsets[record + 1]]
        found[row, codes if column_of is None else column_of[codes]] = 1
    return found


def _same_items(
    after: Baskets, before: Baskets, shown: np.ndarray, original: np.ndarray, *, may_lack: bool
) -> np.ndarray:
    """Per published and original basket whether their items are the same, by name.

    may_lack  whether the published ones may also lack some
    """
    column = {text: number for number, text in enumerate({*after.items.texts, *before.items.texts})}
    of_after, of_before = (
        np.array([column[text] for text in baskets.items.texts], dtype=np.int64)
        for baskets in (after, before)
    )
    told = _indicator(after, shown, len(column), of_after)
    held = _indicator(before, original, len(column), of_before)
    fits = told @ (1 - held).T == 0
    return fits if may_lack else fits & ((1 - told) @ held.T == 0)
