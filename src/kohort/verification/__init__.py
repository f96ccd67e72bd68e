"""Verification reads published tables only, and shares no code with anything that publishes."""

from kohort.verification.against_original import Original
from kohort.verification.bounds import can_check, check_proof
from kohort.verification.classes import published_classes
from kohort.verification.parts import (
    PartDemands,
    PartFound,
    Verification,
    WholeFound,
    unite_parts,
    verify_models,
)
from kohort.verification.people import RECORDS, linked
from kohort.verification.releases import Together, verify_together
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
from kohort.verification.verify import verify, verify_part
from kohort.verification.written import SliceCheck, WrittenCheck

__all__ = [
    "RECORDS",
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
    "linked",
    "published_classes",
    "unite_parts",
    "verify",
    "verify_models",
    "verify_part",
    "verify_together",
]
