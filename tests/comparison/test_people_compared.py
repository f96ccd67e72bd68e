"""Comparisons and frontiers where people have several records: risk and k are those of people."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko


def visits(n=40):
    rng = np.random.default_rng(2)
    patient = np.repeat(np.arange(n), 1 + np.arange(n) % 3)
    return pa.table(
        {
            "patient": patient,
            "age": rng.integers(20, 60, n)[patient],
            "sex": rng.choice(["f", "m"], len(patient)),
            "ill": rng.choice(["flu", "cold", "gout"], len(patient)),
        }
    )


def spec(treatment):
    return {
        "attributes": {
            "patient": {"role": "person", "treatment": treatment},
            "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [5, 10, 20]}},
            "sex": {"role": "quasi-identifier"},
            "ill": {"role": "sensitive"},
        },
        "privacy": {"k": 3},
    }


@pytest.mark.parametrize("treatment", ["drop", "pseudonym"])
def test_every_release_of_a_comparison_counts_people(jobs, treatment):
    names = ["mondrian", "full-domain", "forest", "optimal-recoding"]
    found = ko.compare(visits(), spec=spec(treatment), k=[2, 4, 41], algorithms=names, queries=5)
    rows = {(row["algorithm"], row["k"]): row for row in found.rows}
    linked = treatment == "pseudonym"
    for k in (2, 4):
        for name in ("mondrian", "forest", *([] if linked else ["full-domain"])):
            assert rows[name, k]["status"] == "done"
            assert rows[name, k]["highest_risk"] <= 1 / k
        assert rows["optimal-recoding", k]["status"] == "refused"
        assert ("groups of people" if linked else "counts records") in rows["optimal-recoding", k]["reason"]
    assert rows["full-domain", 2]["status"] == ("refused" if linked else "done")
    assert rows["mondrian", 41]["status"] == "infeasible"
    assert "40 people" in rows["mondrian", 41]["reason"]


def test_a_frontier_sweeps_the_number_of_people(jobs):
    found = ko.frontier(visits(), spec=spec("drop"), algorithm="mondrian", queries=5)
    assert [point["k"] for point in found.points] == [2, 3, 5, 10, 20]  # 50 people there are not
    assert all(point["highest_risk"] <= 1 / point["k"] for point in found.points)
    assert "40 people" in " ".join(str(found).split())
