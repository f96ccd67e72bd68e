"""Perturb columns that are not generalized: what is published in the place of their values."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pyarrow as pa

from kohort.data.column import Column
from kohort.errors import InputError
from kohort.problem.perturbations import Limits, Noise, Perturbation, Pram, RankSwap, Rounding
from kohort.tables.table import Table


def perturbed_columns(
    dataset: Table, perturbations: Mapping[str, Perturbation], key: bytes | None, seed: int
) -> dict[str, pa.Array]:
    """The perturbed columns by name; raises InputError for a column that the perturbation is not for.

    What is drawn at random comes from the key and the seed, and is the same for the same two. Without a key
    it comes from the operating system, and nobody can repeat it: noise that a reader could repeat is none.
    """
    return {
        name: _perturbed(dataset, name, how, generator_of(key, seed, name))
        for name, how in perturbations.items()
    }


def generator_of(key: bytes | None, seed: int, name: str) -> np.random.Generator:
    """Random numbers for a column: those of a key and a seed, or such as nobody can repeat."""
    if key is None:
        return np.random.default_rng(secrets.randbits(128))
    drawn = hmac.new(key, f"perturb|{seed}|{name}".encode(), hashlib.sha256).digest()
    return np.random.default_rng(int.from_bytes(drawn, "big"))


def _perturbed(dataset: Table, name: str, how: Perturbation, rng: np.random.Generator) -> pa.Array:
    column = dataset.column(name)
    if isinstance(how, Pram):
        return _post_randomized(column, how, rng)
    if column.kind not in ("integer", "float") or column.listed or column.numbers is None or column.apart:
        raise InputError(
            f"The treatment {how.name} of {name!r} is for numbers, which it does not hold. Leave the "
            "treatment out, or use pram."
        )
    numbers = np.append(column.numbers.astype(float), np.nan)[np.minimum(column.codes, len(column.numbers))]
    there = np.flatnonzero(~np.isnan(numbers))
    found = numbers.copy()
    found[there] = _changed(numbers[there], how, rng, _decimals(column))
    return _typed(found, dataset.arrow(name).type, how, _decimals(column))


def _changed(numbers: np.ndarray, how: Perturbation, rng: np.random.Generator, decimals: int) -> np.ndarray:
    if isinstance(how, Noise):
        noisy = numbers + rng.normal(0.0, float(Fraction(how.size)) * numbers.std(), len(numbers))
        return np.round(noisy, decimals)
    if isinstance(how, RankSwap):
        return _swapped(numbers, float(Fraction(how.within)), rng)
    if isinstance(how, Rounding):
        unit = float(Fraction(how.to))
        return np.round(numbers / unit) * unit
    assert isinstance(how, Limits)
    low = -np.inf if how.bottom is None else float(Fraction(how.bottom))
    high = np.inf if how.top is None else float(Fraction(how.top))
    return np.clip(numbers, low, high)


def _swapped(numbers: np.ndarray, within: float, rng: np.random.Generator) -> np.ndarray:
    """Rank swapping (Moore, 1996): each rank, from the lowest, changes places with a free one above it.

    A place above it is drawn, and the next free one within reach is taken. O(n log n).
    """
    n = len(numbers)
    order = np.argsort(numbers, kind="stable")
    reach = max(int(within * n), 1)
    partner, free = list(range(n)), _FreePlaces(n)
    for rank, chance in enumerate(rng.random(n).tolist()):
        if partner[rank] != rank:
            continue
        last = min(rank + reach, n - 1)
        drawn = free.from_place(rank + 1 + int(chance * (last - rank)))
        other = drawn if drawn <= last else free.from_place(rank + 1)
        if other <= last:
            partner[rank], partner[other] = other, rank
            free.take(other)
    found = np.empty(n)
    found[order] = numbers[order][partner]
    return found


class _FreePlaces:
    """Places from 0 on of which some are taken, and the next free one from any place on."""

    def __init__(self, n: int) -> None:
        self._next = list(range(n + 2))  # a place that may be free, at or after each; itself if it is free

    def from_place(self, place: int) -> int:
        """The first free place from this one on; beyond the last, if there is none."""
        while self._next[place] != place:
            self._next[place] = self._next[self._next[place]]  # so that the way is shorter next time
            place = self._next[place]
        return place

    def take(self, place: int) -> None:
        self._next[place] = place + 1


def _post_randomized(column: Column, how: Pram, rng: np.random.Generator) -> pa.Array:
    texts, chances = column.texts, how.chances
    if chances is None:
        there = np.flatnonzero(column.codes < len(texts) - column.has_null)  # a missing value stays
        given, drawn = column.codes[there], column.codes.copy()
        stays = rng.random(len(given)) < float(Fraction(how.matrix))
        drawn[there] = np.where(stays, given, given[rng.integers(0, max(len(given), 1), len(given))])
        return _of_texts(drawn, texts, column)
    lacking = [text for text in texts if text is not None and text not in chances]
    if lacking:
        raise InputError(
            f"The PRAM matrix of {column.name!r} has no row for {len(lacking)} of its values. Add a row "
            "for each."
        )
    known = list(
        dict.fromkeys([*(t for t in texts if t is not None), *(to for row in chances.values() for to in row)])
    )
    place = {text: number for number, text in enumerate(known)}
    found = np.full(len(column), -1)
    for code, text in enumerate(texts):
        records = np.flatnonzero(column.codes == code)
        if text is not None:  # a missing value stays
            row = chances[text]
            shares = np.array([float(chance) for chance in row.values()])
            found[records] = rng.choice([place[to] for to in row], len(records), p=shares / shares.sum())
    return _of_texts(found, (*known, None), column)


def _of_texts(codes: np.ndarray, texts: tuple[str | None, ...], column: Column) -> pa.Array:
    """Values by their codes, in the type that they came in: numbers stay numbers."""
    array = pa.array(texts, pa.string())
    if column.kind in ("integer", "float"):
        array = array.cast(pa.int64() if column.kind == "integer" else pa.float64())
    return array.take(pa.array(np.where(codes < 0, len(texts) - 1, codes)))


def _decimals(column: Column) -> int:
    return max(
        (
            len(text.partition(".")[2])
            for text in column.texts
            if text is not None and "e" not in text.lower()
        ),
        default=0,
    )


def _typed(found: np.ndarray, kind: pa.DataType, how: Perturbation, decimals: int) -> pa.Array:
    """Numbers in the type of the column; whole numbers that are no more become decimals."""
    missing = np.isnan(found)
    whole = bool((found[~missing] == np.round(found[~missing])).all())
    if pa.types.is_integer(kind) and whole:
        return pa.array(np.where(missing, 0, found).astype(np.int64), pa.int64(), mask=missing)
    return pa.array(found, pa.float64(), mask=missing)


def perturbation_notes(
    dataset: Table, perturbations: Mapping[str, Perturbation], made: Mapping[str, pa.Array]
) -> list[str]:
    """Sentences on what was done to each column, what it did to its mean and variance, and what it is not."""
    notes = []
    for name, how in perturbations.items():
        figures = (
            _figures(dataset.column(name), made[name])
            if how.of_numbers
            else _share_changed(dataset, name, made)
        )
        notes.append(
            f"Column {name!r}: {how.describe()}. {figures} This is no promise: privacy models say what is."
        )
    return notes


def _figures(column: Column, made: pa.Array) -> str:
    assert column.numbers is not None
    before = np.append(column.numbers.astype(float), np.nan)[np.minimum(column.codes, len(column.numbers))]
    after = made.cast(pa.float64()).to_numpy(zero_copy_only=False)
    there = ~np.isnan(before)
    before, after = before[there], after[there]
    related = np.corrcoef(before, after)[0, 1] if before.std() and after.std() else 1.0
    return (
        f"Mean {before.mean():.6g} before, {after.mean():.6g} after; variance {before.var():.6g} before, "
        f"{after.var():.6g} after; correlation with the original {related:.4f}."
    )


def _share_changed(dataset: Table, name: str, made: Mapping[str, pa.Array]) -> str:
    column = dataset.column(name)
    after = made[name].cast(pa.string()).to_pylist()
    changed = sum(column.texts[code] != text for code, text in zip(column.codes.tolist(), after))
    return f"{changed / len(column):.1%} of its values changed."
