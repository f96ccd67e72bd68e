"""Verification reads published tables only, and shares no code with algorithms."""

from kohort.verification.against_original import (
    check_columns,
    check_conserved,
    check_coverage,
    matching_rows,
)
from kohort.verification.assignment import Assignment, assign_records
from kohort.verification.basket_fit import BasketFit, TooLarge, basket_fit
from kohort.verification.caution import Caution
from kohort.verification.figures import checked_bound, checked_guarantee, checked_loss
from kohort.verification.items import cover_baskets, cover_items, verify_baskets, with_items
from kohort.verification.measure import measure_costs, published_table
from kohort.verification.proof import check_dual_proof
from kohort.verification.verdict import Check, ModelVerdict, Verdict
from kohort.verification.verify import published_classes, verify_models

__all__ = [
    "Assignment",
    "BasketFit",
    "Caution",
    "Check",
    "ModelVerdict",
    "TooLarge",
    "Verdict",
    "assign_records",
    "basket_fit",
    "check_columns",
    "check_conserved",
    "check_coverage",
    "check_dual_proof",
    "checked_bound",
    "checked_guarantee",
    "checked_loss",
    "cover_baskets",
    "cover_items",
    "matching_rows",
    "measure_costs",
    "published_classes",
    "published_table",
    "verify_baskets",
    "verify_models",
    "with_items",
]
