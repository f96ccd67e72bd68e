"""The privacy models: rules that every class of a published table keeps."""

from __future__ import annotations

from kohort.problem.promises.alpha_deassociation import AlphaDeassociation, largest_feasible_sensitive
from kohort.problem.promises.counts import ClassCounts, PeopleTally, PersonCells, counted_as, spread_overall
from kohort.problem.promises.differential_privacy import DifferentialPrivacy
from kohort.problem.promises.items import ItemConfidence, ItemInference, KmAnonymity, RhoUncertainty
from kohort.problem.promises.l_diversity import LDiversity
from kohort.problem.promises.promise import (
    NO_CONTEXT,
    LabelledClasses,
    Model,
    Population,
    Promise,
    TableModel,
    TallyRule,
    ValueContext,
    ValueTree,
    context_of,
)
from kohort.problem.promises.share_bands import BetaLikeness, DeltaDisclosure
from kohort.problem.promises.sizes import KAnonymity, RiskLimit
from kohort.problem.promises.t_closeness import TCloseness
from kohort.problem.promises.tables import DeltaPresence, KMap, KnownColumns, PopulationUniqueness

__all__ = [
    "ITEM_MODELS",
    "MODELS",
    "NO_CONTEXT",
    "AlphaDeassociation",
    "BetaLikeness",
    "ClassCounts",
    "DeltaDisclosure",
    "DeltaPresence",
    "DifferentialPrivacy",
    "ItemConfidence",
    "ItemInference",
    "KAnonymity",
    "KMap",
    "KmAnonymity",
    "KnownColumns",
    "LDiversity",
    "LabelledClasses",
    "Model",
    "PeopleTally",
    "PersonCells",
    "Population",
    "PopulationUniqueness",
    "Promise",
    "RhoUncertainty",
    "RiskLimit",
    "TCloseness",
    "TableModel",
    "TallyRule",
    "ValueContext",
    "ValueTree",
    "context_of",
    "counted_as",
    "largest_feasible_sensitive",
    "spread_overall",
]

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (
        KAnonymity,
        RiskLimit,
        LDiversity,
        AlphaDeassociation,
        TCloseness,
        DeltaDisclosure,
        BetaLikeness,
        KnownColumns,
        KMap,
        DeltaPresence,
        PopulationUniqueness,
        DifferentialPrivacy,
    )
}

ITEM_MODELS: dict[str, type[Promise]] = {
    KmAnonymity.name: KmAnonymity,
    ItemConfidence.name: ItemConfidence,
    RhoUncertainty.name: RhoUncertainty,
}
