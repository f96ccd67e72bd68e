"""Every figure names its evidence: what a solver says never passes for what verification proved."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.algorithms.improve.improve import Improve
from kohort.algorithms.mondrian.mondrian import Mondrian
from kohort.problem.proof import PriceProof
from kohort.report.facts import report_facts
from kohort.report.html import report_page
from kohort.report.terminal import release_sentences

RNG = np.random.default_rng(5)
COLUMNS = {name: RNG.choice(list("aabbbcde"), 120).tolist() for name in ("x", "y", "z")}
TREE = ko.Hierarchy.from_paths([(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"])
ASKED = {"quasi_identifiers": dict.fromkeys(COLUMNS, TREE), "privacy": [ko.KAnonymity(3)]}


def released(algorithm, **more):
    return ko.anonymize(pa.table(COLUMNS), algorithm=algorithm, **ASKED, **more)


def least_cost():
    return released("improve").cost


def test_a_forged_settled_bound_is_only_the_solvers_word(monkeypatch):
    """HiGHS says that the release is optimal; it is not asked again."""
    honest, cost = Improve.solve, least_cost()

    def forged(self, problem, run):
        found = honest(self, problem, run)
        assert isinstance(found.proof, PriceProof)
        return replace(found, bound=cost, proof=replace(found.proof, settled=cost))

    monkeypatch.setattr(Improve, "solve", forged)
    release = released("improve")
    assert release.bound < release.solver_bound == cost and release.gap > release.solver_gap == 0
    assert release.claims["bound"].evidence == "checked"
    assert release.claims["solver_bound"].evidence == "solver"
    assert "HiGHS" in release.claims["solver_bound"].reason


@pytest.mark.parametrize(("factor", "named"), [(1.0, "solver"), (1.5, "stated")])
def test_a_forged_factor_names_no_theorem_and_gives_no_bound(monkeypatch, factor, named):
    honest = Mondrian.solve
    monkeypatch.setattr(Mondrian, "solve", lambda *a: replace(honest(*a), guarantee=factor))
    if factor == 1.0:
        cost = released("mondrian").cost
        monkeypatch.setattr(Mondrian, "solve", lambda *a: replace(honest(*a), guarantee=1.0, bound=cost))
    release = released("mondrian")
    assert release.bound is None and release.gap is None
    assert release.claims["guarantee"].evidence == named


@pytest.mark.parametrize("algorithm", ["mondrian", "forest", "optimal", "k-anon-cf", "three-anonymity"])
def test_what_has_no_proof_is_not_checked(algorithm):
    release = released(algorithm)
    assert release.bound is None and release.gap is None
    assert release.solver_bound <= release.cost * (1 + 1e-9)
    assert release.claims["solver_bound"].evidence == "solver" and release.claims["solver_bound"].reason


def test_what_prices_prove_is_checked():
    release = released("improve")
    assert 0 < release.bound <= release.cost
    assert release.claims["bound"].evidence == "checked"


@pytest.mark.parametrize(
    ("algorithm", "evidence", "paper"),
    [
        ("forest", "theorem", "Aggarwal"),
        ("k-anon-cf", "theorem", "Theorem 4"),
        ("three-anonymity", "theorem", "Lemma 11"),
        ("optimal", "solver", "nothing checked"),
    ],
)
def test_a_factor_names_its_paper_or_its_solver(algorithm, evidence, paper):
    claim = released(algorithm).claims["guarantee"]
    assert (claim.evidence, paper in claim.reason) == (evidence, True)


@pytest.mark.parametrize(("algorithm", "word"), [("improve", "checked"), ("forest", "solver")])
def test_every_place_that_shows_a_figure_says_its_evidence(algorithm, word):
    release = released(algorithm)
    facts = release.facts()
    assert facts["evidence"]["bound" if word == "checked" else "solver_bound"]["evidence"] == word
    assert f"({word}" in " ".join(release_sentences(facts))
    assert word in str(release.summary())
    page = report_page(report_facts(release))
    assert ("checked" if word == "checked" else "a solver&#39;s word") in page
    if algorithm == "forest":
        assert "(theorem: Aggarwal" in " ".join(release_sentences(facts)) and "theorem: Aggarwal" in page


@pytest.mark.parametrize("algorithm", ["optimal", "forest", "two-anonymity", "k-anon-cf", "improve"])
@pytest.mark.parametrize("cost", ["loss", "tree"])
def test_no_factor_is_claimed_where_a_value_may_be_read_as_an_inner_node_of_its_name(algorithm, cost):
    paths = [("A", "A1", "*"), ("B", "A", "*"), ("C", "A", "*"), ("D", "Z", "*"), ("E", "Z", "*")]
    table = pa.table({"x": list("ABCDE") * 2 + ["A", "B"]})
    release = ko.anonymize(
        table,
        quasi_identifiers={"x": ko.Hierarchy.from_paths(paths)},
        privacy=[ko.KAnonymity(2)],
        algorithm=algorithm,
        cost=cost,
    )
    assert release.verdict.holds and release.guarantee is None
    assert release.cost > 0  # a stranger reads A as the node that has B and C, too
    known = release.solver_bound if release.bound is None else release.bound
    assert known is None or known <= release.cost
