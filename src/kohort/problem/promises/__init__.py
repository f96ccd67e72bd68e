"""The privacy models: rules that every class of a published table keeps."""

from __future__ import annotations

from kohort.problem.promises.alpha_deassociation import AlphaDeassociation, largest_feasible_sensitive
from kohort.problem.promises.beta_likeness import BetaLikeness
from kohort.problem.promises.class_counts import ClassCounts
from kohort.problem.promises.delta_disclosure import DeltaDisclosure
from kohort.problem.promises.delta_presence import DeltaPresence
from kohort.problem.promises.differential_privacy import DifferentialPrivacy
from kohort.problem.promises.item_confidence import ItemConfidence
from kohort.problem.promises.item_inference import ItemInference
from kohort.problem.promises.k_anonymity import KAnonymity
from kohort.problem.promises.k_map import KMap
from kohort.problem.promises.km_anonymity import KmAnonymity
from kohort.problem.promises.known_columns import KnownColumns
from kohort.problem.promises.l_diversity import LDiversity
from kohort.problem.promises.person_cells import PeopleTally, PersonCells, counted_as, spread_overall
from kohort.problem.promises.population_uniqueness import PopulationUniqueness
from kohort.problem.promises.promise import NO_CONTEXT, Model, TallyRule, ValueContext, ValueTree
from kohort.problem.promises.rho_uncertainty import RhoUncertainty
from kohort.problem.promises.risk_limit import RiskLimit
from kohort.problem.promises.t_closeness import TCloseness
from kohort.problem.promises.table_promise import LabelledClasses, Population, TableModel

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
    "RhoUncertainty",
    "RiskLimit",
    "TCloseness",
    "TableModel",
    "TallyRule",
    "ValueContext",
    "ValueTree",
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

ITEM_MODELS: dict[str, type[KmAnonymity] | type[ItemInference]] = {
    KmAnonymity.name: KmAnonymity,
    ItemConfidence.name: ItemConfidence,
    RhoUncertainty.name: RhoUncertainty,
}
