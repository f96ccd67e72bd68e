"""Published baskets beside their originals: items are covered or dropped, and nothing is invented."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.baskets import Baskets
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import counted, percent
from kohort.verification.verdict import Check

if TYPE_CHECKING:
    from kohort.problem.items import ItemsProblem


_RECORDS, _ITEMS = 500_000, 4_000_000  # that are handled at once: they bound the memory


@dataclass(frozen=True)
class CoveredBaskets:
    """Whether published items stand for the original ones and for nothing else, and what that cost.

    Sensitive items must be published as they are.

    dropped  how many items are left out of their baskets, where that is allowed
    """

    checks: tuple[Check, ...]
    ncp: float
    dropped: int


def cover_baskets(published: Baskets, problem: ItemsProblem, rows: np.ndarray) -> CoveredBaskets:
    """Compare published baskets with the original ones: sensitive items apart from all others."""
    secret = () if problem.confidence is None else problem.confidence.to_dict().get("sensitive", ())
    if not secret or problem.sensitive is None:
        return _cover_items(published, problem, rows)
    others, shown = published.parted(secret, multiset=problem.multiset)
    covered = _cover_items(others, problem, rows)
    silent = set(rows[published.missing].tolist())  # a missing basket says nothing
    held = {
        (record, text)
        for record, text in zip(problem.sensitive.record_of_item.tolist(), _texts(problem.sensitive))
        if record not in silent
    }
    told = set(zip(rows[shown.record_of_item].tolist(), _texts(shown)))
    check = _check_sensitive(published.name, len(held - told), len(told - held), problem, len(held))
    return replace(covered, checks=(*covered.checks, check))


def _check_sensitive(name: str, missing: int, invented: int, problem: ItemsProblem, n_items: int) -> Check:
    """Check sensitive items, some of which are missing: that is right where they may be dropped, too."""
    dropped = missing if problem.drops_sensitive else 0
    wrong = missing - dropped + invented
    good = f"The sensitive items of {name!r} are published as they are"
    if dropped:
        good += f", but for {dropped:,} of {n_items:,} ({percent(dropped / n_items)}) that are dropped"
    bad = f"{counted(wrong, 'sensitive item')} of {name!r} are missing or invented."
    return Check.of(f"sensitive items of {name!r}", wrong, f"{good}.", bad)


def _texts(baskets: Baskets) -> list[str | None]:
    """The text of each occurrence of an item."""
    return [baskets.items.texts[code] for code in baskets.items.codes]


def _cover_items(published: Baskets, problem: ItemsProblem, rows: np.ndarray) -> CoveredBaskets:
    """Compare published items with the original ones, record by record. O(items log items).

    rows  per published record the number of its original

    Every original item must be under a published label of its record, every published label above an
    original item of its record. A missing basket says nothing, and costs as much as the root, and so does an
    item that is left out of its basket, where that is allowed. Memory: two numbers per original item.
    """
    original, hierarchy = problem.baskets, problem.hierarchy
    n_leaves = len(hierarchy.leaves)
    leaves = np.array([hierarchy.leaf_of[text] for text in original.items.texts], dtype=np.int64)
    keys = original.record_of_item * n_leaves
    keys += leaves[original.items.codes]
    keys.sort(kind="stable")
    covering = np.zeros(len(keys) + 1, dtype=np.int64)
    unknown = invented = 0
    for begin in range(0, len(published), _RECORDS):
        chosen = slice(begin, begin + _RECORDS)
        alone, unknown = _add_covers(covering, keys, published, chosen, hierarchy, rows)
        invented += alone
    np.cumsum(covering, out=covering)
    silent = np.ones(len(original), dtype=bool)
    silent[rows] = published.missing
    lost, ncp = _lost(keys, covering[:-1], silent, n_leaves)
    dropped = lost if problem.suppress else 0
    check = _check(published.name, lost - dropped, invented, unknown, dropped, len(keys))
    return CoveredBaskets((check,), ncp, dropped)


def _add_covers(
    change: np.ndarray,
    keys: np.ndarray,
    published: Baskets,
    records: slice,
    hierarchy: Hierarchy,
    rows: np.ndarray,
) -> tuple[int, int]:
    """Add the widths of the labels of some records where what they cover begins, and take them where it ends.

    Returns how many labels stand for no original item, and how many labels of all records mean nothing.
    """
    sizes = published.sizes[records]
    first_item, n_items = int(published.offsets[records.start]), int(sizes.sum())
    chosen = slice(first_item, first_item + n_items)
    occurrence, node, unknown = published_nodes(published, hierarchy, chosen)
    record = np.repeat(rows[records], sizes)[occurrence] * len(hierarchy.leaves)
    first = np.searchsorted(keys, record + hierarchy.lo[node])
    after = np.searchsorted(keys, record + hierarchy.hi[node], side="right")
    width = hierarchy.hi[node].astype(np.int64) - hierarchy.lo[node] + 1
    np.add.at(change, first, width)
    np.add.at(change, after, -width)
    stands_for = np.bincount(occurrence, weights=after - first, minlength=n_items)
    return int((stands_for == 0).sum()), unknown


def _lost(keys: np.ndarray, covering: np.ndarray, silent: np.ndarray, n_leaves: int) -> tuple[int, float]:
    """How many original items no label covers, and the NCP.

    covering  per original item how many leaves the labels above it cover
    silent    whether each original record has a missing basket
    """
    lost, total = 0, 0.0
    for begin in range(0, len(keys), _ITEMS):
        part = slice(begin, begin + _ITEMS)
        said, covered = ~silent[keys[part] // n_leaves], covering[part]
        gone = said & (covered == 0)
        penalty = np.where(covered > 1, np.minimum(covered / n_leaves, 1.0), 0.0)
        penalty[~said | gone] = 1.0
        lost += int(gone.sum())
        total += float(penalty.sum())
    return lost, total / max(len(keys), 1)


def _check(name: str, lost: int, invented: int, unknown: int, dropped: int, n_items: int) -> Check:
    good = f"The items of {name!r} stand for their originals, and for nothing else."
    if dropped:
        share = percent(dropped / max(n_items, 1))
        good += f" {dropped:,} of {n_items:,} items ({share}) are dropped from their baskets."
    bad = (
        f"{counted(lost, 'item')} of {name!r} not covered, "
        f"{counted(invented, 'published item')} without an original."
    )
    if unknown:
        labels = counted(unknown, "published label is", "published labels are")
        bad += f" {labels} neither an item nor a node."
    return Check.of(f"coverage of {name!r}", lost or invented, good, bad)


def nodes_meant(published: Baskets, hierarchy: Hierarchy) -> list[list[int]]:
    """The nodes that each published label may mean."""
    texts = [str(text) for text in published.items.texts]
    return [[0] if text == STAR else hierarchy.nodes_of_label.get(text, []) for text in texts]


def published_nodes(
    published: Baskets, hierarchy: Hierarchy, chosen: slice = slice(None)
) -> tuple[np.ndarray, np.ndarray, int]:
    """The nodes that each published occurrence may mean, and how many labels mean nothing.

    chosen  which of the occurrences
    """
    codes, meant = published.items.codes[chosen], nodes_meant(published, hierarchy)
    number = np.array([len(nodes) for nodes in meant], dtype=np.int64)
    start = np.cumsum(number) - number
    flat = np.array([node for nodes in meant for node in nodes], dtype=np.int64)
    if (number == 1).all():
        return np.arange(len(codes)), flat[codes], 0
    each = number[codes]
    occurrence = np.repeat(np.arange(len(codes)), each)
    within = np.arange(len(occurrence)) - np.repeat(np.cumsum(each) - each, each)
    return occurrence, flat[start[codes][occurrence] + within], int((number == 0).sum())


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


def basket_fit(published: Baskets, problem: ItemsProblem) -> BasketFit:
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
