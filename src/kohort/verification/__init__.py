"""Verification reads published tables only, and shares no code with anything that publishes."""

from kohort.verification.attack_on_order import attack_on_order
from kohort.verification.averages import read_averages
from kohort.verification.demands import Original
from kohort.verification.label_narrowing import OrderAttack
from kohort.verification.parts import PartDemands, PartFound, WholeFound, unite_parts, verify_part
from kohort.verification.proof import check_dual_proof
from kohort.verification.proof_of_models import check_proof
from kohort.verification.slice_check import SliceCheck, WrittenCheck
from kohort.verification.together import Together, verify_together
from kohort.verification.two_files import JoinedTables, join_tables
from kohort.verification.verdict import (
    Caution,
    Check,
    Claim,
    ClassRisk,
    ModelVerdict,
    PeopleFound,
    Verdict,
    checked_bound,
    checked_guarantee,
    checked_loss,
)
from kohort.verification.verify import Verification, verify
from kohort.verification.verify_models import published_classes, verify_models

__all__ = [
    "Caution",
    "Check",
    "Claim",
    "ClassRisk",
    "JoinedTables",
    "ModelVerdict",
    "OrderAttack",
    "Original",
    "PartDemands",
    "PartFound",
    "PeopleFound",
    "SliceCheck",
    "Together",
    "Verdict",
    "Verification",
    "WholeFound",
    "WrittenCheck",
    "attack_on_order",
    "check_dual_proof",
    "check_proof",
    "checked_bound",
    "checked_guarantee",
    "checked_loss",
    "join_tables",
    "published_classes",
    "read_averages",
    "unite_parts",
    "verify",
    "verify_models",
    "verify_part",
    "verify_together",
]
