"""(alpha, k)-anonymity: progressive, top-down and incognito on Adult and on generated hospital records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.alpha_k.__main__ import HEIGHTS, taxonomy

import kohort as ko
from benchmarks.measuring import Row, Size, facts, measured, row

__all__ = ["alpha_k", "alpha_k_hospital"]

ALGORITHMS = ("progressive", "top-down", "incognito")


def alpha_k(size: Size) -> Iterator[Row]:
    """Adult, eight quasi-identifiers, the salary class sensitive."""
    taxonomies = {name: taxonomy(name) for name in HEIGHTS}
    for algorithm in ALGORITHMS:
        for k, alpha in ((2, 0.5), (10, 0.4)):
            found = _released(
                ko.datasets.load_adult(),
                algorithm,
                size.runs,
                quasi_identifiers=taxonomies,
                sensitive=["salary-class"],
                privacy=[ko.KAnonymity(k), ko.AlphaDeassociation("salary-class", alpha, values=[">50K"])],
            )
            yield row({"algorithm": algorithm, "k": k, "alpha": alpha}, **found)


def alpha_k_hospital(size: Size) -> Iterator[Row]:
    """Generated hospital records, six quasi-identifiers, every diagnosis bounded."""
    patients = ko.datasets.generate_hospital(size.rows, seed=1)
    for algorithm in ALGORITHMS:
        found = _released(
            patients,
            algorithm,
            size.runs,
            quasi_identifiers={
                "sex": ko.flat(),
                "age": ko.intervals(5, 10, 20, top=90),
                "postcode": ko.mask(),
                "admitted": ko.dates("month", "quarter", "year"),
                "insurance": ko.flat(),
                "occupation": ko.auto(),
            },
            sensitive=["diagnosis"],
            privacy=[ko.KAnonymity(10), ko.AlphaDeassociation("diagnosis", 0.2)],
        )
        yield row({"algorithm": algorithm, "rows": size.rows}, **found)


def _released(table: Any, algorithm: str, runs: int, **asked: Any) -> dict[str, Any]:
    def release() -> ko.Release:
        return ko.anonymize(table, others="drop", cost="distortion", algorithm=algorithm, **asked)

    return facts(*measured(release, runs))
