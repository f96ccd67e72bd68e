"""Verification reads published tables only, and shares no code with anything that publishes."""

from kohort.verification.bounds import can_check, check_proof
from kohort.verification.demands import Original
from kohort.verification.parts import PartDemands, PartFound, WholeFound, unite_parts, verify_part
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
    "can_check",
    "check_proof",
    "checked_bound",
    "checked_guarantee",
    "checked_loss",
    "join_tables",
    "published_classes",
    "unite_parts",
    "verify",
    "verify_models",
    "verify_part",
    "verify_together",
]
