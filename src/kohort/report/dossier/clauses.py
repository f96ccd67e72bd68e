"""Which clauses of standards and guidance each chapter may answer. Naming one claims no compliance."""

from __future__ import annotations

SOURCES = {
    "ISO": "ISO/IEC 27559:2022, Privacy enhancing data de-identification framework",
    "EMA": "European Medicines Agency, Policy 0070, anonymisation report; Article 29 Working Party, "
    "opinion 05/2014 on anonymisation techniques",
    "Health Canada": "Health Canada, Public Release of Clinical Information, anonymization report",
    "HIPAA": "45 CFR 164.514(b)(1), expert determination",
    "ICO": "UK Information Commissioner's Office, anonymisation guidance: motivated intruder test",
    "NIST": "NIST SP 800-188, De-Identifying Government Datasets",
}
"""The documents, by the short name that chapters use."""

CLAUSES: dict[str, tuple[str, ...]] = {
    "summary": ("ISO 8.3.4 Re-evaluation", "HIPAA results of the analysis"),
    "context": (
        "ISO 6.2 Threat modelling and 6.3 Transparency",
        "EMA and Health Canada: purpose of the data",
        "NIST: goals and intended uses",
    ),
    "data": (
        "ISO 7.2.2 Data principals and 7.2.4 Attribute types",
        "EMA and Health Canada: data identification",
        "NIST: direct and quasi-identifiers",
    ),
    "threats": (
        "ISO 6.2 Threat modelling",
        "HIPAA anticipated recipient",
        "ICO motivated intruder: who, and with which means",
        "EMA and Health Canada: plausible adversaries",
    ),
    "method": (
        "ISO 7.3.4 Data privacy models and 8.3.3 Transforming the data",
        "HIPAA methods",
        "EMA and Health Canada: anonymisation methodology",
    ),
    "risk": (
        "ISO 7.3.2 Maximum or average risk",
        "ISO 7.3.3 Population or sample-based attack",
        "HIPAA very small risk",
        "EMA and Health Canada: threshold of 0.09",
    ),
    "knowledge": (
        "ISO 8.2.2 Quantifying identifiability",
        "ICO: what an intruder may know",
        "NIST: re-identification risk",
    ),
    "tests": (
        "ISO 8.2.3 Adversarial testing",
        "EMA option 1: singling out, linkability, inference",
        "ICO motivated intruder test",
        "NIST: re-identification studies",
    ),
    "utility": ("ISO 8.3.4 Re-evaluation", "EMA and Health Canada: data utility", "NIST: utility"),
    "governance": (
        "ISO 9 De-identification governance",
        "HIPAA documentation and expert's qualification",
        "NIST: governance and disclosure review board",
    ),
    "review": ("ISO 9.3 After data are made available", "HIPAA time-limited determination", "ICO: review"),
    "reproduce": ("HIPAA documentation", "NIST: auditing", "ISO 9.2"),
    "sources": (),
}
"""Per chapter what it is for, in the words of these documents."""
