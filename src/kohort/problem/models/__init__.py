"""The privacy models: rules that every class of a published table keeps."""

from __future__ import annotations

from kohort.problem.models.alpha_deassociation import AlphaDeassociation, largest_feasible_sensitive
from kohort.problem.models.beta_likeness import BetaLikeness
from kohort.problem.models.class_counts import ClassCounts
from kohort.problem.models.delta_disclosure import DeltaDisclosure
from kohort.problem.models.item_confidence import ItemConfidence
from kohort.problem.models.item_inference import ItemInference
from kohort.problem.models.k_anonymity import KAnonymity
from kohort.problem.models.km_anonymity import KmAnonymity
from kohort.problem.models.l_diversity import LDiversity
from kohort.problem.models.model import NO_CONTEXT, Measure, Model, TallyRule, ValueContext, ValueTree
from kohort.problem.models.person_cells import PersonCells, spread_overall
from kohort.problem.models.rho_uncertainty import RhoUncertainty
from kohort.problem.models.t_closeness import TCloseness

__all__ = [
    "ITEM_MODELS",
    "MODELS",
    "NO_CONTEXT",
    "AlphaDeassociation",
    "BetaLikeness",
    "ClassCounts",
    "DeltaDisclosure",
    "ItemConfidence",
    "ItemInference",
    "KAnonymity",
    "KmAnonymity",
    "LDiversity",
    "Measure",
    "Model",
    "PersonCells",
    "RhoUncertainty",
    "TCloseness",
    "TallyRule",
    "ValueContext",
    "ValueTree",
    "largest_feasible_sensitive",
    "spread_overall",
]

MODELS: dict[str, type[Model]] = {
    model.name: model
    for model in (KAnonymity, LDiversity, AlphaDeassociation, TCloseness, DeltaDisclosure, BetaLikeness)
}

ITEM_MODELS: dict[str, type[KmAnonymity] | type[ItemInference]] = {
    KmAnonymity.name: KmAnonymity,
    ItemConfidence.name: ItemConfidence,
    RhoUncertainty.name: RhoUncertainty,
}
