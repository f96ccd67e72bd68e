"""The worked tables of (alpha, k)-anonymous data publishing (Wong et al., 2009)."""

from __future__ import annotations

import pyarrow as pa

import kohort as ko

MONTHS = ko.Hierarchy.from_paths([(f"{m} 1965", "1965", "*") for m in ("May", "Jun", "Jul", "Aug")])
PEOPLE = {"gender": ko.flat(), "birth": MONTHS, "postcode": ko.mask()}
HIV = [ko.KAnonymity(2), ko.AlphaDeassociation("illness", 0.5, values=["HIV"])]
C = [ko.KAnonymity(2), ko.AlphaDeassociation("sens", 0.5, values=["c"])]

TABLE_1 = pa.table(
    {
        "job": ["Cat1", "Cat1", "Cat1", "Cat1", "Cat2", "Cat2"],
        "birth": ["1975", "1955", "1955", "1955", "1975", "1975"],
        "postcode": ["4350", "4350", "5432", "5432", "4350", "4350"],
        "illness": ["HIV", "HIV", "flu", "fever", "flu", "fever"],
    }
)
JOBS = {"job": ko.flat(), "birth": ko.flat(), "postcode": ko.mask()}


def looks(job, birth, postcode):
    return {"job": job, "birth": birth, "postcode": postcode, "illness": TABLE_1["illness"].to_pylist()}


TABLE_2 = looks(
    ["Cat1"] * 4 + ["Cat2"] * 2, ["*", "*", "1955", "1955", "1975", "1975"], TABLE_1["postcode"].to_pylist()
)
TABLE_3 = looks(
    ["*", "*", "Cat1", "Cat1", "*", "*"],
    ["1975", "*", "1955", "1955", "*", "1975"],
    TABLE_1["postcode"].to_pylist(),
)
TABLE_4 = looks(["*"] * 6, ["*"] * 6, TABLE_1["postcode"].to_pylist())


def people(postcodes, sens, births=("May 1965", "Jun 1965", "Jul 1965", "Aug 1965")):
    n = len(postcodes)
    births = list(births) if len(births) == n else ["May 1965"] * n
    return pa.table({"gender": ["male"] * n, "birth": births, "postcode": postcodes, "sens": sens})


TABLE_5 = people(["4351", "4351", "4361", "4362"], ["n", "c", "n", "n"])
TABLE_8 = people(["4351", "4351", "4351", "4352"], ["n", "c", "n", "n"])
TABLE_10 = people(["4351", "4351", "4351", "4352", "4363", "4374"], ["n", "c", "n", "n", "n", "c"], births=())


def released(table, algorithm, quasi_identifiers, privacy=None, **options):
    """The release of a worked table; the last column is the sensitive one."""
    sensitive = table.column_names[-1]
    asked = {
        "quasi_identifiers": quasi_identifiers,
        "sensitive": [sensitive],
        "privacy": privacy or {"illness": HIV, "sens": C}[sensitive],
        "cost": "distortion",
    }
    return ko.anonymize(table, algorithm=algorithm, shuffle=False, **asked | options)
