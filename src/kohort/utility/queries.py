"""Query error: COUNT queries answered from the release, against the true answers (LeFevre et al., 2006).

A published value stands for each value that it covers with the same probability. So does the label of an item
for each item under it; a withheld basket stands for none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kohort.data.column import Column
from kohort.errors import percent
from kohort.job.sides import BasketPair, BeforeAfter, classes_of
from kohort.kernels.threads import in_threads
from kohort.utility.query_kernel import answer_counts
from kohort.verification.item_coverage import published_nodes
from kohort.verification.reading import Covering

_SELECTIVITY = 0.1
_MOST_COLUMNS = 3
_BLOCK = 64
_MOST_RECORDS = 200_000


@dataclass(frozen=True, eq=False)
class Query:
    """COUNT the records whose value in each of these columns is one of the chosen ones; `record` is one."""

    record: int
    columns: tuple[int, ...]
    chosen: tuple[np.ndarray, ...]  # per column, for each of its values


def query_error(sides: BeforeAfter, *, queries: int, seed: int) -> dict[str, Any] | None:
    """The relative errors of a seeded workload over quasi-identifiers and sensitive columns.

    O(queries * distinct records * 3) at most. From larger tables, 200,000 records are drawn.
    """
    columns = [*(attribute.column for attribute in sides.attributes), *sides.sensitive]
    if not sides.attributes or not queries:
        return None
    rng = np.random.default_rng(seed)
    asked = workload(columns, len(sides.attributes), queries, rng)
    records = np.arange(sides.n_records)
    if sides.n_records > _MOST_RECORDS:
        asked_about = {int(query.record) for query in asked}  # so that no true answer is 0
        records = np.union1d(rng.choice(records, _MOST_RECORDS, replace=False), list(asked_about))
    true, estimated = answers(sides, asked, records)
    figures = relative_errors(true, estimated)
    return {
        "queries": len(asked),
        "records": len(records),
        "sampled": len(records) < (sides.drawn_of or sides.n_records),
        "columns": [column.name for column in columns],
        "selectivity": _SELECTIVITY,
        **figures,
        "sentence": (
            f"Of {len(asked):,} random COUNT queries over one to {_MOST_COLUMNS} columns, half are answered "
            f"from the release with an error of at most {percent(figures['median_relative_error'])}."
        ),
    }


def relative_errors(true: np.ndarray, estimated: np.ndarray) -> dict[str, float]:
    """How far answers are from the true ones, as shares of these."""
    errors = np.abs(estimated - true) / true
    return {
        "median_relative_error": float(np.median(errors)),
        "mean_relative_error": float(errors.mean()),
        "p90_relative_error": float(np.quantile(errors, 0.9)),
        "median_answer": float(np.median(true)),
    }


def workload(columns: Sequence[Column], n_quasi: int, queries: int, rng: np.random.Generator) -> list[Query]:
    """Queries over one to three columns, each built around a record, so that no true answer is 0.

    The first `n_quasi` columns are quasi-identifiers; every query asks for one of them at least. A query over
    d columns chooses about the share 0.1^(1/d) of the values of each: a range of numbers, any others.
    """
    n_records = len(columns[0])
    asked = []
    for _ in range(queries):
        d = int(rng.integers(1, min(_MOST_COLUMNS, len(columns)) + 1))
        quasi = int(rng.integers(n_quasi))
        others = rng.choice(np.delete(np.arange(len(columns)), quasi), d - 1, replace=False)
        which = [quasi, *others.tolist()]
        record = int(rng.integers(n_records))
        share = _SELECTIVITY ** (1 / d)
        chosen = tuple(_predicate(columns[c], int(columns[c].codes[record]), share, rng) for c in which)
        asked.append(Query(record, tuple(which), chosen))
    return asked


def _predicate(column: Column, around: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """About this share of a column's values, among them one; a missing value is asked for by itself."""
    n = len(column.texts) - int(column.has_null)
    chosen = np.zeros(len(column.texts), dtype=bool)
    chosen[around] = True
    if around == n:
        return chosen
    width = max(round(share * n), 1)
    if column.ordered:
        first = int(rng.integers(max(around - width + 1, 0), min(around, n - width) + 1))
        chosen[first : first + width] = True
    else:
        others = np.delete(np.arange(n), around)
        chosen[rng.choice(others, width - 1, replace=False)] = True
    return chosen


def answers(sides: BeforeAfter, asked: Sequence[Query], records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The true answers about some original records, and those expected from the release of them.

    Where records have weights, they are counted by these: answers are about the population.
    """
    columns = [*(a.column for a in sides.attributes), *sides.sensitive]
    published = sides.published_of[records]
    published = published[published >= 0]
    shown = [*(column.codes for column in sides.labels), *(c.codes[sides.rows] for c in sides.sensitive)]
    exact = [Covering.exact(len(column.texts)) for column in columns]
    coverings = [*sides.coverings, *exact[len(sides.coverings) :]]
    weights = sides.weights.per_record(sides.n_records)
    raw = [column.codes[records] for column in columns]
    return (
        _answer(raw, weights[records], exact, asked),
        _answer([codes[published] for codes in shown], weights[sides.rows[published]], coverings, asked),
    )


def _answer(
    columns: list[np.ndarray], weights: np.ndarray, coverings: Sequence[Covering], asked: Sequence[Query]
) -> np.ndarray:
    """The answers about records with these values and weights."""
    rows = classes_of(columns, len(columns[0]))
    counts = np.bincount(rows.of_record, weights)
    values = np.ascontiguousarray(rows.codes.astype(np.int32))
    blocks = range(0, len(asked), _BLOCK)
    return np.concatenate([_answer_block(values, counts, coverings, asked[b : b + _BLOCK]) for b in blocks])


def _answer_block(
    values: np.ndarray, counts: np.ndarray, coverings: Sequence[Covering], asked: Sequence[Query]
) -> np.ndarray:
    start = np.zeros((len(asked), _MOST_COLUMNS), dtype=np.int64)
    columns = np.full((len(asked), _MOST_COLUMNS), -1, dtype=np.int64)
    shares, size = [], 0
    for q, query in enumerate(asked):
        for j, (column, chosen) in enumerate(zip(query.columns, query.chosen)):
            share = coverings[column].shares(chosen)
            columns[q, j], start[q, j] = column, size
            shares.append(share)
            size += len(share)
    flat = np.concatenate(shares)
    parts = in_threads(
        lambda some: answer_counts(flat, start[some], columns[some], values, counts),
        np.full(len(asked), len(values)),
    )
    return np.concatenate(parts)


def item_query_error(pair: BasketPair, *, queries: int, seed: int) -> dict[str, Any] | None:
    """The relative errors of queries for one item, or for two of the same basket.

    O(queries * baskets with an asked item).
    """
    filled = np.flatnonzero(pair.original.sizes > 0)
    if not queries or not len(filled):
        return None
    rng = np.random.default_rng(seed)
    asked = []
    for basket in rng.choice(filled, queries):
        items = pair.original.items.codes[pair.original.offsets[basket] : pair.original.offsets[basket + 1]]
        wanted = min(int(rng.integers(1, 3)), len(items))
        asked.append(rng.choice(items, wanted, replace=False))
    true, estimated = item_answers(pair, asked)
    figures = relative_errors(true, estimated)
    sentence = (
        f"Of {queries:,} random queries for the number of baskets that hold one or two items, half are "
        f"answered from the release with an error of at most {percent(figures['median_relative_error'])}."
    )
    return {"queries": queries, **figures, "sentence": sentence}


def item_answers(pair: BasketPair, asked: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How many baskets hold all items (codes) of each query, and how many the release suggests."""
    distinct = np.unique(np.concatenate(asked))
    n = len(pair.original)
    holds = {
        item: pair.original.record_of_item[pair.original.items.codes == item] for item in distinct.tolist()
    }
    suggests = _suggested(pair, distinct)
    true = [_together([(holds[i], np.ones(len(holds[i]))) for i in items.tolist()], n) for items in asked]
    estimated = [_together([suggests[i] for i in items.tolist()], n) for items in asked]
    return np.array(true), np.array(estimated)


def _suggested(pair: BasketPair, items: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """The published baskets that may hold each item, and how probably: by the narrowest label."""
    hierarchy, published = pair.hierarchy, pair.published
    observed = np.zeros(len(hierarchy.leaves) + 1, dtype=np.int64)
    leaf = np.array([hierarchy.leaf_of[text] for text in pair.original.items.texts], dtype=np.int64)
    observed[leaf + 1] = 1
    before = np.cumsum(observed)
    occurrence, node, _ = published_nodes(published, hierarchy)
    record = published.record_of_item[occurrence]
    lo, hi = hierarchy.lo[node], hierarchy.hi[node]
    share = 1 / np.maximum(before[hi + 1] - before[lo], 1)
    order = np.lexsort((-share, record))
    found = {}
    for item in items.tolist():
        covering = order[(lo[order] <= leaf[item]) & (leaf[item] <= hi[order])]
        records, first = np.unique(record[covering], return_index=True)
        found[item] = records, share[covering[first]]
    return found


def _together(parts: list[tuple[np.ndarray, np.ndarray]], n_records: int) -> float:
    """The sum over records of the product of their probabilities in each part; 0 where one has none."""
    product = np.ones(n_records)
    for records, share in parts:
        own = np.zeros(n_records)
        own[records] = share
        product *= own
    return float(product.sum())
