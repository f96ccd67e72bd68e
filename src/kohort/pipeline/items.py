"""The items column of a release: lists or delimited text in, the same shape out, one cut per class."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.algorithms import ItemsAlgorithm, Run, is_for_items, items_algorithm_named, parameters_of
from kohort.data.baskets import Baskets, code_baskets, with_counts_above
from kohort.data.build_hierarchy import Builder, Order
from kohort.data.check_hierarchy import check
from kohort.data.cooccurrence import by_cooccurrence
from kohort.data.dataset import Dataset
from kohort.data.domain import STAR
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, counted
from kohort.pipeline.request import Items, Request
from kohort.problem.items import ItemsProblem
from kohort.problem.models import ItemConfidence
from kohort.recoding.item_nodes import ItemNodes

__all__ = [
    "ItemsPart",
    "chosen_items_algorithm",
    "item_hierarchy",
    "items_problem",
    "joined",
    "published_items",
    "read_baskets",
    "solve_items",
    "split_texts",
]

DEFAULT_HIERARCHY = Order("frequency", fanout=5)


@dataclass(frozen=True, eq=False)
class ItemsPart:
    """What became of the items: how they were published, by what, and what that cost.

    `class_size` is the smallest class that the table was given for their sake; None for baskets alone.
    """

    problem: ItemsProblem
    recoding: ItemNodes
    algorithm: ItemsAlgorithm
    hierarchy: Any
    ncp: float
    class_size: int | None = None

    def facts(self) -> dict[str, Any]:
        """For the certificate; no item is in it."""
        return {
            "column": self.problem.baskets.name,
            "algorithm": self.algorithm.name,
            "parameters": parameters_of(self.algorithm),
            "hierarchy": self.hierarchy,
            "items": len(self.problem.baskets.items.texts),
            "occurrences": len(self.recoding.node_of_occurrence),
            "published_items": len(self.recoding.nodes_used()),
            "withheld": int(self.recoding.withheld.sum()),
            "class_size": self.class_size,
            "ncp": self.ncp,
            "bound": self.recoding.bound,
        }


def items_problem(dataset: Dataset, request: Request, items: Items) -> tuple[ItemsProblem, Any]:
    """The problem that the items column poses, all records one class, and how its hierarchy was made."""
    assert request.km is not None
    baskets = read_baskets(dataset, items.column, separator=items.separator, multiset=items.multiset)
    plain = read_baskets(dataset, items.column, separator=items.separator)
    confidence, sensitive = request.confidence, None
    if confidence is not None:
        baskets, sensitive = plain.parted(confidence.sensitive)
        plain = baskets
    hierarchy, made = item_hierarchy(baskets, items, plain)
    if confidence is not None:
        _refuse_ambiguous(hierarchy, confidence, items.column)
    problem = ItemsProblem(baskets, hierarchy, request.km, sensitive=sensitive, confidence=confidence)
    return problem, made


def _refuse_ambiguous(hierarchy: Hierarchy, confidence: ItemConfidence, column: str) -> None:
    """Refuse labels of groups of items that read like a sensitive item."""
    inner = {str(hierarchy.published[node]) for node in np.flatnonzero(hierarchy.hi > hierarchy.lo)} | {STAR}
    if clashes := inner.intersection(confidence.sensitive):
        raise InputError(
            f"The hierarchy of {column!r} has {counted(len(clashes), 'group')} named like a sensitive item: "
            "nobody could tell them apart. Rename them in the hierarchy."
        )


def read_baskets(
    dataset: Dataset, name: str, *, separator: str | None = None, multiset: bool = False
) -> Baskets:
    """The items column in codes; with a separator, its cells are texts, split as in a CSV file."""
    dataset.require([name])
    values = dataset.arrow(name)
    if separator is not None:
        values = split(name, values, separator)
    return code_baskets(name, values, multiset=multiset)


def split(name: str, values: pa.ChunkedArray | pa.Array, separator: str) -> pa.ChunkedArray:
    """Texts as lists of their items, without the spaces around them; quotes protect a separator."""
    if not (
        pa.types.is_string(values.type)
        or pa.types.is_large_string(values.type)
        or pa.types.is_dictionary(values.type)
    ):
        raise InputError(
            f"Column {name!r} has a separator, but its cells are no texts. Leave the separator out."
        )
    texts = values.cast(pa.string())
    chunks = texts.chunks if isinstance(texts, pa.ChunkedArray) else [texts]
    return pa.chunked_array([split_texts(chunk, separator) for chunk in chunks])


def split_texts(texts: pa.Array, separator: str) -> pa.ListArray:
    """Texts as lists of their items, each without the spaces around it; none of them is empty.

    O(characters); Python touches single texts only where one has a quote.
    """
    if pc.any(pc.match_substring(texts, '"')).as_py():
        lists = [None if text is None else split_text(text, separator) for text in texts.to_pylist()]
        return pa.array(lists, pa.list_(pa.string()))
    parts = pc.split_pattern(texts, separator) if separator.strip() else pc.utf8_split_whitespace(texts)
    items, record = pc.utf8_trim_whitespace(parts.flatten()), pc.list_parent_indices(parts)
    filled = pc.greater(pc.binary_length(items), 0)
    sizes = np.bincount(record.filter(filled).to_numpy(), minlength=len(texts))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), items.filter(filled), mask=pc.is_null(texts))


def split_text(text: str, separator: str) -> list[str]:
    """The items of one text.

    >>> split_text('a;"b; c"; d', ";")
    ['a', 'b; c', 'd']
    """
    cells = next(csv.reader([text], delimiter=separator, skipinitialspace=True), [])
    return [cell.strip() for cell in cells if cell.strip()]


def joined(lists: pa.ListArray, separator: str) -> pa.Array:
    """Lists as texts; items with the separator (or a quote) in them are quoted. A missing list stays so."""
    values = pc.dictionary_encode(lists.flatten())
    texts = [_quoted(text, separator) for text in values.dictionary.to_pylist()]
    quoted = pa.DictionaryArray.from_arrays(values.indices, pa.array(texts, pa.string())).cast(pa.string())
    sizes = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    plain = pa.ListArray.from_arrays(pa.array(offsets), quoted, mask=pc.is_null(lists))
    return pc.binary_join(plain, separator)


def _quoted(text: str, separator: str) -> str:
    if separator not in text and '"' not in text and text == text.strip():
        return text
    return '"' + text.replace('"', '""') + '"'


def item_hierarchy(baskets: Baskets, items: Items, plain: Baskets) -> tuple[Hierarchy, Any]:
    """The hierarchy over the items, and its description for the certificate.

    `plain`: the same baskets as sets. Of a multiset, `milk ×2` is put under `milk`.
    """
    source = DEFAULT_HIERARCHY if items.hierarchy is None else items.hierarchy
    if not plain.items.texts:
        raise InputError(f"Column {items.column!r} holds no items: there is nothing to publish.")
    hierarchy = source if isinstance(source, Hierarchy) else _built(source, plain)
    missing = len(check(hierarchy, plain.items).missing)
    if missing:
        raise InputError(
            f"The hierarchy of {items.column!r} lacks {counted(missing, 'item')} of "
            f"{len(plain.items.texts):,}. Add them to it."
        )
    if items.multiset:
        hierarchy = with_counts_above(hierarchy, baskets)
    return hierarchy, "given" if isinstance(source, Hierarchy) else source.to_spec()


def _built(source: Builder, plain: Baskets) -> Hierarchy:
    if isinstance(source, Order) and source.values == "cooccurrence":
        fanout = source.fanout if isinstance(source.fanout, int) else source.fanout[0]
        source = replace(source, values=by_cooccurrence(plain, fanout))
    return source.build(plain.items)


def chosen_items_algorithm(request: Request, items: Items) -> ItemsAlgorithm:
    """The one that was asked for, for the items or for the whole job; else apriori-items."""
    if items.algorithm != "auto":
        asked = items.algorithm
    elif is_for_items(request.algorithm):
        asked = request.algorithm  # type: ignore[assignment]
    else:
        asked = "apriori-items"
    return items_algorithm_named(asked) if isinstance(asked, str) else asked


def solve_items(
    problem: ItemsProblem,
    algorithm: ItemsAlgorithm,
    hierarchy: Any,
    run: Run,
    class_of_record: np.ndarray | None,
) -> ItemsPart:
    """Publish the items, in every class by itself."""
    posed = replace(problem, class_of_record=class_of_record)
    recoding = algorithm.solve(posed, run)
    return ItemsPart(posed, recoding, algorithm, hierarchy, posed.ncp(recoding.node_of_occurrence))


def published_items(part: ItemsPart, separator: str | None) -> pa.Array:
    """The items column as it is published, in the shape in which it came."""
    lists = part.recoding.apply(part.problem)
    return lists if separator is None else joined(lists, separator)
