"""Kohort publishes data about people without giving anybody away.

An algorithm is a function from a Problem to a Recoding. Everything else prepares the Problem, applies the
Recoding, proves that the published table keeps its promise, or shows it to a person.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kohort.algorithms.alpha_k.progressive import Progressive as Progressive
    from kohort.algorithms.alpha_k.top_down import TopDown as TopDown
    from kohort.algorithms.closed_records.k_anon import KAnon as KAnon
    from kohort.algorithms.closed_records.k_anon_cf import KAnonCF as KAnonCF
    from kohort.algorithms.closed_records.optimal import Optimal as Optimal
    from kohort.algorithms.clustering.agglomerative import Agglomerative as Agglomerative
    from kohort.algorithms.clustering.hilbert import Hilbert as Hilbert
    from kohort.algorithms.clustering.sequential import Sequential as Sequential
    from kohort.algorithms.full_domain.full_domain import FullDomain as FullDomain
    from kohort.algorithms.full_domain.incognito import Incognito as Incognito
    from kohort.algorithms.graph.fixed_k import ThreeAnonymity as ThreeAnonymity
    from kohort.algorithms.graph.fixed_k import TwoAnonymity as TwoAnonymity
    from kohort.algorithms.graph.forest import Forest as Forest
    from kohort.algorithms.improve.improve import Improve as Improve
    from kohort.algorithms.items.cuts import AprioriItems as AprioriItems
    from kohort.algorithms.items.cuts import DirectItems as DirectItems
    from kohort.algorithms.items.cuts import VerticalItems as VerticalItems
    from kohort.algorithms.items.improve import ImproveItems as ImproveItems
    from kohort.algorithms.items.local import LocalItems as LocalItems
    from kohort.algorithms.items.optimal import OptimalItems as OptimalItems
    from kohort.algorithms.microaggregation.mdav import Mdav as Mdav
    from kohort.algorithms.mondrian.mondrian import Mondrian as Mondrian
    from kohort.algorithms.schemes.enumeration import BottomUp as BottomUp
    from kohort.algorithms.schemes.enumeration import TopDownSearch as TopDownSearch
    from kohort.algorithms.schemes.optimal_recoding import OptimalRecoding as OptimalRecoding
    from kohort.api import anonymize as anonymize
    from kohort.api import apply_maps as apply_maps
    from kohort.api import attack_releases as attack_releases
    from kohort.api import compare as compare
    from kohort.api import frontier as frontier
    from kohort.api import mine_closed_records as mine_closed_records
    from kohort.api import profile as profile
    from kohort.api import read_hierarchy as read_hierarchy
    from kohort.api import verify as verify
    from kohort.data.hierarchies.build_hierarchy import auto as auto
    from kohort.data.hierarchies.categories import code as code
    from kohort.data.hierarchies.categories import flat as flat
    from kohort.data.hierarchies.categories import groups as groups
    from kohort.data.hierarchies.categories import mask as mask
    from kohort.data.hierarchies.dates import dates as dates
    from kohort.data.hierarchies.intervals import intervals as intervals
    from kohort.data.hierarchies.intervals import quantiles as quantiles
    from kohort.data.hierarchies.orders import by_frequency as by_frequency
    from kohort.data.hierarchies.orders import order as order
    from kohort.data.hierarchy import Hierarchy as Hierarchy
    from kohort.data.numeric_labels import as_numbers as as_numbers
    from kohort.errors import InfeasibleError as InfeasibleError
    from kohort.errors import InputError as InputError
    from kohort.errors import InternalError as InternalError
    from kohort.errors import KohortError as KohortError
    from kohort.errors import MissingPackageError as MissingPackageError
    from kohort.errors import UnsupportedError as UnsupportedError
    from kohort.io.databases import database as database
    from kohort.problem.promises import AlphaDeassociation as AlphaDeassociation
    from kohort.problem.promises import BetaLikeness as BetaLikeness
    from kohort.problem.promises import DeltaDisclosure as DeltaDisclosure
    from kohort.problem.promises import DeltaPresence as DeltaPresence
    from kohort.problem.promises import DifferentialPrivacy as DifferentialPrivacy
    from kohort.problem.promises import ItemConfidence as ItemConfidence
    from kohort.problem.promises import KAnonymity as KAnonymity
    from kohort.problem.promises import KmAnonymity as KmAnonymity
    from kohort.problem.promises import KMap as KMap
    from kohort.problem.promises import KnownColumns as KnownColumns
    from kohort.problem.promises import LDiversity as LDiversity
    from kohort.problem.promises import PopulationUniqueness as PopulationUniqueness
    from kohort.problem.promises import RhoUncertainty as RhoUncertainty
    from kohort.problem.promises import RiskLimit as RiskLimit
    from kohort.problem.promises import TCloseness as TCloseness
    from kohort.release.release import Release as Release
    from kohort.risk import assess_risk as assess_risk
    from kohort.statement import Items as Items
    from kohort.statement.words import Events as Events
    from kohort.statement.words import Ledger as Ledger
    from kohort.statement.words import Person as Person
    from kohort.statement.words import column as column
    from kohort.statement.words import file as file
    from kohort.treatments import Limits as Limits
    from kohort.treatments import Noise as Noise
    from kohort.treatments import Pram as Pram
    from kohort.treatments import RankSwap as RankSwap
    from kohort.treatments import Rounding as Rounding
    from kohort.utility import measure_utility as measure_utility
    from kohort.verification import Verdict as Verdict
    from kohort.version import __version__ as __version__

# where each public name lives: it is imported when it is first used, so that `import kohort` is instant
_HOMES = {
    "Agglomerative": "kohort.algorithms.clustering.agglomerative",
    "AlphaDeassociation": "kohort.problem.promises",
    "AprioriItems": "kohort.algorithms.items.cuts",
    "BetaLikeness": "kohort.problem.promises",
    "BottomUp": "kohort.algorithms.schemes.enumeration",
    "DeltaDisclosure": "kohort.problem.promises",
    "DeltaPresence": "kohort.problem.promises",
    "DifferentialPrivacy": "kohort.problem.promises",
    "DirectItems": "kohort.algorithms.items.cuts",
    "Forest": "kohort.algorithms.graph.forest",
    "FullDomain": "kohort.algorithms.full_domain.full_domain",
    "Hierarchy": "kohort.data.hierarchy",
    "Hilbert": "kohort.algorithms.clustering.hilbert",
    "Improve": "kohort.algorithms.improve.improve",
    "ImproveItems": "kohort.algorithms.items.improve",
    "Incognito": "kohort.algorithms.full_domain.incognito",
    "InfeasibleError": "kohort.errors",
    "InputError": "kohort.errors",
    "InternalError": "kohort.errors",
    "Events": "kohort.statement.words",
    "Ledger": "kohort.statement.words",
    "Person": "kohort.statement.words",
    "column": "kohort.statement.words",
    "file": "kohort.statement.words",
    "Items": "kohort.statement",
    "KAnon": "kohort.algorithms.closed_records.k_anon",
    "KAnonCF": "kohort.algorithms.closed_records.k_anon_cf",
    "KAnonymity": "kohort.problem.promises",
    "ItemConfidence": "kohort.problem.promises",
    "KMap": "kohort.problem.promises",
    "KmAnonymity": "kohort.problem.promises",
    "KnownColumns": "kohort.problem.promises",
    "KohortError": "kohort.errors",
    "LDiversity": "kohort.problem.promises",
    "LocalItems": "kohort.algorithms.items.local",
    "Limits": "kohort.treatments",
    "Noise": "kohort.treatments",
    "Pram": "kohort.treatments",
    "RankSwap": "kohort.treatments",
    "Rounding": "kohort.treatments",
    "Mdav": "kohort.algorithms.microaggregation.mdav",
    "MissingPackageError": "kohort.errors",
    "Mondrian": "kohort.algorithms.mondrian.mondrian",
    "Optimal": "kohort.algorithms.closed_records.optimal",
    "OptimalItems": "kohort.algorithms.items.optimal",
    "OptimalRecoding": "kohort.algorithms.schemes.optimal_recoding",
    "PopulationUniqueness": "kohort.problem.promises",
    "Progressive": "kohort.algorithms.alpha_k.progressive",
    "Release": "kohort.release.release",
    "RhoUncertainty": "kohort.problem.promises",
    "RiskLimit": "kohort.problem.promises",
    "Sequential": "kohort.algorithms.clustering.sequential",
    "TCloseness": "kohort.problem.promises",
    "ThreeAnonymity": "kohort.algorithms.graph.fixed_k",
    "TopDown": "kohort.algorithms.alpha_k.top_down",
    "TopDownSearch": "kohort.algorithms.schemes.enumeration",
    "TwoAnonymity": "kohort.algorithms.graph.fixed_k",
    "UnsupportedError": "kohort.errors",
    "Verdict": "kohort.verification",
    "VerticalItems": "kohort.algorithms.items.cuts",
    "__version__": "kohort.version",
    "anonymize": "kohort.api",
    "apply_maps": "kohort.api",
    "as_numbers": "kohort.data.numeric_labels",
    "assess_risk": "kohort.risk",
    "attack_releases": "kohort.api",
    "auto": "kohort.data.hierarchies.build_hierarchy",
    "by_frequency": "kohort.data.hierarchies.orders",
    "code": "kohort.data.hierarchies.categories",
    "compare": "kohort.api",
    "database": "kohort.io.databases",
    "dates": "kohort.data.hierarchies.dates",
    "flat": "kohort.data.hierarchies.categories",
    "frontier": "kohort.api",
    "groups": "kohort.data.hierarchies.categories",
    "intervals": "kohort.data.hierarchies.intervals",
    "mask": "kohort.data.hierarchies.categories",
    "measure_utility": "kohort.utility",
    "mine_closed_records": "kohort.api",
    "order": "kohort.data.hierarchies.orders",
    "profile": "kohort.api",
    "quantiles": "kohort.data.hierarchies.intervals",
    "read_hierarchy": "kohort.api",
    "verify": "kohort.api",
}
_MODULES = ("datasets",)

__all__ = sorted([*_HOMES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kohort.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'kohort' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
