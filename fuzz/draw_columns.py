"""Random columns: a few values, many of them, ties, skew, missing ones, nasty texts."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from random import Random

from fuzz.case import PlainColumn

__all__ = ["KINDS", "draw_column", "draw_sensitive"]

PLAIN = ("ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay", "kite", "lynx")
NASTY = ("a", "b", "{a, b}", " a", "a ", "x,y", 'say "hi"', "two\nlines", "\r", "", "[a, b]", "*", "é", "(A)")
CODES = ("04350", "04351", "04400", "0440", "12000", "12003", "A01", "A01.1", "B2", "99999")
DIGITS = ("7", "12", "100", "-3", "0", "55")
KINDS = {
    "integer": 10,
    "float": 5,
    "boolean": 2,
    "plain": 10,
    "nasty": 2,
    "codes": 3,
    "digits": 2,
    "date": 3,
    "datetime": 2,
    "datetext": 1,
}
_DAY = date(2023, 11, 27)


def draw_column(rng: Random, n: int, kind: str) -> PlainColumn:
    """n values of one kind, some of them perhaps missing."""
    pool = _pool(rng, kind, rng.choice([1, 2, 2, 3, 3, 4, 5, 6, 8, 12, n, n]))
    values = _spread(rng, pool, n)
    if rng.random() < 0.25:
        share = rng.choice([0.05, 0.2, 0.5])
        values = [None if rng.random() < share else value for value in values]
    if rng.random() < 0.01:
        values = [None] * n
    return PlainColumn(_STORED.get(kind, kind), values)


_STORED = {"plain": "string", "nasty": "string", "codes": "string", "digits": "string", "datetext": "string"}


def draw_sensitive(rng: Random, n: int) -> PlainColumn:
    """A column with few values, spread evenly or not."""
    kind = rng.choice(["plain", "plain", "plain", "integer", "float", "boolean", "date"])
    pool = _pool(rng, kind, rng.choice([1, 2, 2, 3, 3, 4, 5, 7]))
    if kind == "float" and rng.random() < 0.5:
        pool = [0.0, -0.0, *pool]
    values = _spread(rng, pool, n)
    if rng.random() < 0.2:
        values = [None if rng.random() < 0.2 else value for value in values]
    return PlainColumn(_STORED.get(kind, kind), values)


def _pool(rng: Random, kind: str, size: int) -> list:
    size = max(1, size)
    if kind == "integer":
        width = rng.choice([size, 2 * size, 100, 10**6])
        return [rng.randint(-width // 4, width) for _ in range(size)]
    if kind == "float":
        step = rng.choice([0.25, 0.1, 1.0, 1000.5])
        return [round(rng.randint(-4, 4 * size) * step, 6) for _ in range(size)]
    if kind == "boolean":
        return [False, True][:size]
    if kind == "date":
        return [_days_on(rng, size) for _ in range(size)]
    if kind == "datetime":
        start = datetime(2023, 11, 27, 23, 59, 58)
        return [(start + timedelta(seconds=rng.randint(0, 10 * size) / 2)).isoformat() for _ in range(size)]
    if kind == "datetext":
        return [_days_on(rng, size) for _ in range(size)]
    known = list({"plain": PLAIN, "nasty": NASTY, "codes": CODES, "digits": DIGITS}[kind])
    rng.shuffle(known)
    more = [f"w{number:03d}" for number in range(size - len(known))] if kind == "plain" else []
    return [*known, *more][:size]


def _days_on(rng: Random, size: int) -> str:
    return (_DAY + timedelta(days=rng.randint(0, 40 * size))).isoformat()


def _spread(rng: Random, pool: list, n: int) -> list:
    """Values of the pool: evenly, skewed, all but one alike, each once, in blocks, or in their order."""
    how = rng.randrange(7)
    if how == 0:
        weights = [1 / (place + 1) ** 2 for place in range(len(pool))]
        return rng.choices(pool, weights, k=n)
    if how == 1:
        values = [pool[0]] * n
        values[rng.randrange(n)] = pool[-1]
        return values
    if how == 2:
        return [pool[place * len(pool) // n] for place in range(n)]
    values = [rng.choice(pool) for _ in range(n)]
    if how == 3:
        values.sort(key=lambda value: (str(type(value)), value))
    return values
