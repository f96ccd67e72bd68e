"""Withheld records and a class published as `*` everywhere look alike, and are judged together."""

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms import Run
from kohort.algorithms.uniting.stars_together import StarsTogether
from kohort.errors import InfeasibleError, UnsupportedError
from kohort.recoding.columns import AttributeMaps
from kohort.recoding.groups import Groups
from small_problems import problem_of
from trials import trials

FLAT = {"a": ko.flat()}
SMALLEST = pa.table({"a": list("bdede"), "s": list("yxyxy")})
HALF_X = ko.AlphaDeassociation("s", alpha="1/2", values=["x"])


@pytest.mark.parametrize("algorithm", ["auto", "improve", "forest", "mondrian"])
@pytest.mark.parametrize("suppressed", ["star", "drop"])
def test_the_smallest_case_that_failed_its_own_verification(algorithm, suppressed):
    release = ko.anonymize(
        SMALLEST,
        quasi_identifiers=FLAT,
        sensitive=["s"],
        privacy=[ko.KAnonymity(2), HALF_X],
        suppression=0.5,
        suppressed=suppressed,
        algorithm=algorithm,
    )
    assert release.verdict.holds


def small_problem(**options):
    return problem_of(
        SMALLEST.to_pydict(), FLAT, 2, models=[HALF_X], sensitive=["s"], suppression=0.5, **options
    )


class Gives:
    """An algorithm that gives a recoding, or one group where nobody may be withheld."""

    def __init__(self, recoding):
        self.recoding = recoding

    def solve(self, problem, run):
        if problem.max_withheld:
            return self.recoding
        return Groups(np.zeros(problem.n_records, dtype=np.int32))


def settle(problem, recoding, can_be_left_out=False):
    return StarsTogether(Gives(recoding), False, can_be_left_out).solve(problem, Run())


def test_a_class_of_stars_that_fails_with_the_withheld_is_united_until_it_holds():
    found = settle(small_problem(), Groups(np.array([0, 0, 1, -1, 1])))
    assert found.group_of_record.tolist() == [0] * 5
    assert "united" in found.notes[-1]


def test_what_may_be_published_stays_as_it_is():
    problem = small_problem()
    for groups in ([0, 0, 1, 0, 1], [-1, 0, 1, 0, 1], [0, -1, -1, 0, 0]):
        recoding = Groups(np.array(groups))
        assert settle(problem, recoding) is recoding


def test_whoever_can_be_left_out_need_not_be_united():
    recoding = Groups(np.array([0, 0, 1, -1, 1]))
    found = settle(small_problem(), recoding, can_be_left_out=True)
    assert found is recoding


def test_a_recoding_without_groups_is_replaced_by_one_that_withholds_nobody():
    problem = small_problem()
    maps = AttributeMaps({"a": np.array([0, 0, 3])}, withheld=np.array([False, False, False, True, False]))
    assert settle(problem, maps).group_of_record.tolist() == [0] * 5


def random_request(seed):
    """Few records, one or two flat columns, a model of the sensitive column, and many may be withheld."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 14))
    columns = {f"q{j}": rng.choice(list("abcd"), n).tolist() for j in range(int(rng.integers(1, 3)))}
    models = [
        ko.AlphaDeassociation("s", alpha="1/2", values=["x"]),
        ko.LDiversity("s", 2),
        ko.LDiversity("s", 2, kind="entropy"),
        ko.TCloseness("s", 0.3),
    ]
    return {
        "data": pa.table(columns | {"s": rng.choice(list("xyz"), n).tolist()}),
        "quasi_identifiers": dict.fromkeys(columns, ko.flat()),
        "sensitive": ["s"],
        "privacy": [ko.KAnonymity(int(rng.integers(1, 4))), models[int(rng.integers(len(models)))]],
        "suppression": float(rng.choice([0.2, 0.34, 0.5])),
    }


@pytest.mark.parametrize("algorithm", ["improve", "forest", "full-domain"])
def test_random_problems_of_that_kind_pass_their_own_verification(algorithm):
    made = 0
    for seed in range(trials(15, 150)):
        request = random_request(seed)
        try:
            made += ko.anonymize(request.pop("data"), algorithm=algorithm, **request).verdict.holds
        except (InfeasibleError, UnsupportedError):
            continue
    assert made > trials(4, 50)
