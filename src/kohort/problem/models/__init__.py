"""The privacy models: rules that every class of a published table keeps."""

from __future__ import annotations

from kohort.problem.models.alpha_deassociation import AlphaDeassociation, largest_feasible_sensitive
from kohort.problem.models.beta_likeness import BetaLikeness
from kohort.problem.models.class_counts import ClassCounts
from kohort.problem.models.delta_disclosure import DeltaDisclosure
from kohort.problem.models.delta_presence import DeltaPresence
from kohort.problem.models.differential_privacy import DifferentialPrivacy
from kohort.problem.models.item_confidence import ItemConfidence
from kohort.problem.models.item_inference import ItemInference
from kohort.problem.models.k_anonymity import KAnonymity
from kohort.problem.models.k_map import KMap
from kohort.problem.models.km_anonymity import KmAnonymity
from kohort.problem.models.known_columns import KnownColumns
from kohort.problem.models.l_diversity import LDiversity
from kohort.problem.models.model import NO_CONTEXT, Model, TallyRule, ValueContext, ValueTree
from kohort.problem.models.person_cells import PeopleTally, PersonCells, counted_as, spread_overall
from kohort.problem.models.population_uniqueness import PopulationUniqueness
from kohort.problem.models.rho_uncertainty import RhoUncertainty
from kohort.problem.models.risk_limit import RiskLimit
from kohort.problem.models.t_closeness import TCloseness
from kohort.problem.models.table_model import LabelledClasses, Population, TableModel

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
