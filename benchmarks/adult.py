"""Adult with the hierarchies that users of ARX have: mondrian, k-anon-cf, improve and others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import kohort as ko
from benchmarks.measuring import Row, Size, data_folder, facts, measured, row

__all__ = [
    "QUASI_IDENTIFIERS",
    "adult",
    "forest",
    "heuristics",
    "improve",
    "k_anon_cf",
    "k_anon_cf_nine",
    "mondrian",
    "mondrian_tight",
    "three_anonymity",
    "two_anonymity",
]

KS = (5, 10, 50, 100)
QUASI_IDENTIFIERS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
)


def mondrian(size: Size, labels: str = "hierarchy") -> Iterator[Row]:
    """mondrian on Adult's train part, eight quasi-identifiers."""
    ways = (("cost", False),) if size.quick else (("cost", False), ("cost", True), ("range", False))
    for choose, strict in ways:
        for k in (5, 50) if size.quick else KS:
            algorithm = ko.Mondrian(choose=choose, strict=strict)
            found = released(algorithm, k, runs=size.runs, labels=labels)
            yield row({"choose": choose, "strict": strict, "k": k}, **found)


def mondrian_tight(size: Size) -> Iterator[Row]:
    """The same with tight labels: intervals and sets of observed values."""
    return mondrian(size, "tight")


def k_anon_cf(size: Size) -> Iterator[Row]:
    """k-anon-cf on Adult's train part, eight quasi-identifiers; mining of closed records by itself."""
    people, hierarchies = adult()
    for k in (100,) if size.quick else (200, *reversed(KS)):  # peak memory only grows: the most comes last
        closed, mining = measured(
            lambda k=k: ko.mine_closed_records(people, quasi_identifiers=hierarchies, k=k),
            1 if size.quick else 2,
        )
        found = released("k-anon-cf", k, runs=2)
        yield row({"k": k}, closed_records=len(closed), mining_cpu=round(mining, 3), **found)


def k_anon_cf_nine(size: Size) -> Iterator[Row]:
    """k-anon-cf on all of Adult, nine quasi-identifiers."""
    for k in (50, 10, 5):
        found = released("k-anon-cf", k, split=None, more=["salary-class"], runs=size.runs)
        yield row({"k": k}, **found)


def improve(size: Size) -> Iterator[Row]:
    """improve on 6,000 records of Adult, eight quasi-identifiers; it should end before its time is up."""
    for labels, k in (("hierarchy", 10), ("tight", 10)):
        found = released("improve", k, n=6_000, labels=labels, runs=2)
        yield row({"labels": labels, "k": k}, **found)


def heuristics(size: Size) -> Iterator[Row]:
    """k-anon-cf beside the heuristics that its paper compares it with, and mondrian."""
    for k in (10, 50, 100):
        for name in ("mondrian", "k-anon-cf", "agglomerative", "sequential", "hilbert", "forest"):
            yield row({"algorithm": name, "k": k}, **released(name, k, runs=size.runs))


def forest(size: Size) -> Iterator[Row]:
    """forest on Adult's train part, eight quasi-identifiers."""
    for k in (5, 10, 50):
        yield row({"k": k}, **released("forest", k, runs=size.runs))


def two_anonymity(size: Size) -> Iterator[Row]:
    """two-anonymity on 10,000 records of Adult and on all of the train part, matched exactly."""
    for n in (10_000, None):
        yield row({"records": n}, **released("two-anonymity", 2, n=n, runs=size.runs))


def three_anonymity(size: Size) -> Iterator[Row]:
    """three-anonymity on 1,000 records of Adult, with the lightest cycles proven."""
    yield row({"records": 1_000}, **released("three-anonymity", 3, n=1_000, runs=size.runs))


def released(
    algorithm: object,
    k: int,
    *,
    n: int | None = None,
    first: int | None = None,
    split: str | None = "train",
    more: Sequence[str] = (),
    labels: str = "hierarchy",
    runs: int = 1,
) -> dict[str, Any]:
    """The facts of a k-anonymous release of Adult: its first n records and first quasi-identifiers."""
    people, hierarchies = adult(first=first, split=split, more=more)
    people = people.slice(0, n)

    def release() -> ko.Release:
        return ko.anonymize(
            people,
            quasi_identifiers=hierarchies,
            privacy=[ko.KAnonymity(k)],
            algorithm=algorithm,
            labels=labels,
        )

    return facts(*measured(release, runs))


def adult(
    *, first: int | None = None, split: str | None = "train", more: Sequence[str] = ()
) -> tuple[Any, dict[str, str]]:
    """The table and the hierarchy file of each of its columns."""
    folder = data_folder() / "arx-adult-hierarchies"
    names = [*QUASI_IDENTIFIERS[:first], *more]
    people = ko.datasets.load_adult(split=split).select(names)
    return people, {name: str(folder / f"{name}.csv") for name in names}
