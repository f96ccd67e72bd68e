"""Every case by its name: what `python -m benchmarks.run` can run, and the selection of `--quick`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from benchmarks import adult, alpha_k, full_domain, hospital, items, mining, schemes
from benchmarks.measuring import Row, Size

__all__ = ["CASES", "NEED_DATA", "QUICK"]

CASES: dict[str, Callable[[Size], Iterator[Row]]] = {
    "mondrian": adult.mondrian,
    "mondrian-tight": adult.mondrian_tight,
    "k-anon-cf": adult.k_anon_cf,
    "k-anon-cf-nine": adult.k_anon_cf_nine,
    "improve": adult.improve,
    "heuristics": adult.heuristics,
    "forest": adult.forest,
    "two-anonymity": adult.two_anonymity,
    "three-anonymity": adult.three_anonymity,
    "mining-ratio": mining.mining_ratio,
    "full-domain": full_domain.full_domain,
    "full-domain-models": full_domain.full_domain_models,
    "full-domain-million": full_domain.full_domain_million,
    "items": items.items,
    "alpha-k": alpha_k.alpha_k,
    "alpha-k-hospital": alpha_k.alpha_k_hospital,
    "schemes": schemes.schemes,
    "hospital": hospital.hospital,
    "coding": hospital.coding,
    "verification": hospital.verification,
}
NEED_DATA = {  # cases that read arx-adult-hierarchies in the folder of larger data
    "mondrian",
    "mondrian-tight",
    "k-anon-cf",
    "k-anon-cf-nine",
    "improve",
    "heuristics",
    "forest",
    "two-anonymity",
    "three-anonymity",
    "full-domain",
    "full-domain-models",
    "full-domain-million",
    "schemes",
}
QUICK = ("mondrian", "improve", "k-anon-cf", "full-domain", "items", "hospital", "verification")
