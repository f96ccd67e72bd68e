"""The attack with random problems itself: it is repeatable, and it sees what is wrong."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent))  # fuzz/ is beside tests/

from fuzz.attempt import Outcome, attempt
from fuzz.case import Case, PlainColumn, python_values
from fuzz.code import fingerprint
from fuzz.draw import draw_case
from fuzz.frames import FILE_KINDS, FRAME_KINDS, as_lists, frame_of
from fuzz.judge import complaints
from fuzz.shrink import failure_kind, shrunk
from fuzz.summary import markdown_tables
from fuzz.worker import run_cases

from kohort.verification import Claim


def people(**options):
    """Eight records that mondrian publishes in classes of two, with more columns than one."""
    return Case(
        columns={
            "age": PlainColumn("integer", [21, 22, 23, 24, 41, 42, 43, 44]),
            "town": PlainColumn("string", ["Ayr", "Ayr", "Ely", "Ely", "Ayr", "Ayr", None, None]),
            "illness": PlainColumn("string", ["flu", "cold"] * 4),
            "row": PlainColumn("integer", list(range(8))),
        },
        quasi={"age": None, "town": {"paths": [["Ayr", "Scotland", "*"], ["Ely", "England", "*"]]}},
        privacy=[
            {"model": "k-anonymity", "k": 2},
            {"model": "l-diversity", "attribute": "illness", "l": "2", "kind": "distinct"},
        ],
        sensitive=["illness"],
        insensitive=["row"],
        options={"algorithm": "mondrian", "shuffle": False, **options},
    )


def tampered(change, **options):
    """What the judge says of a release after somebody has changed its table."""
    case = people(**options)
    outcome = attempt(case)
    assert complaints(case, outcome) == []
    table = {name: list(values) for name, values in outcome.table.items()}
    change(table)
    return [failure_kind(text) for text in complaints(case, replace(outcome, table=table))]


def one(name, record, value):
    return lambda table: table[name].__setitem__(record, value)


@pytest.mark.parametrize(
    "change, seen",
    [
        (one("age", 0, "[90, 99]"), "coverage: nobody can read"),
        (one("age", 0, "[23, 44]"), "coverage: _ of _ does not cover"),
        (one("town", 0, "England"), "coverage: _ of _ does not cover"),
        (one("town", 6, "Scotland"), "coverage: _ of _ does not cover"),
        (one("age", 0, "*"), "model: k-anonymity k _"),
        (one("age", 0, "[21, 44]"), "model: l-diversity"),
        (one("illness", 0, "cold"), "conserved: column _ was changed"),
        (one("row", 0, 7), "rows: "),
        (lambda table: table.pop("town"), "columns: "),
        (lambda table: [values.pop() for values in table.values()], "withheld: _ records are left out"),
        (lambda table: [values.reverse() for values in table.values()], "order: "),
    ],
)
def test_the_judge_sees_what_was_done_to_a_release(change, seen):
    assert any(kind.startswith(seen) for kind in tampered(change))


def test_a_missing_value_that_should_be_a_star_is_seen():
    assert any(kind.startswith("nulls: ") for kind in tampered(one("town", 6, None), nulls="star"))


def claimed(**figures):
    """These figures as the claims of a release."""
    return {"claims": {name: Claim(figure, "checked", "") for name, figure in figures.items()}}


@pytest.mark.parametrize(
    "figures, seen",
    [
        (claimed(bound=1e9), "bound: _ is above the cost"),
        (claimed(bound=float("nan")), "bound: "),
        (claimed(solver_bound=1e9), "solver_bound: _ is above the cost"),
        (claimed(guarantee=0.5), "guarantee: _ is below"),
        ({"loss": {}}, "cost: loss is"),
    ],
)
def test_the_judge_sees_wrong_figures(figures, seen):
    case = people()
    outcome = attempt(case)
    if "loss" in figures:
        figures = {"loss": {name: value + 0.01 for name, value in outcome.release.loss.items()}}
    wrong = replace(outcome, release=replace(outcome.release, **figures))
    assert any(failure_kind(text).startswith(seen) for text in complaints(case, wrong))


@pytest.mark.parametrize("worked, late", [(0.1, False), (9.0, True)])
def test_a_time_limit_is_held_against_the_work_that_was_done(worked, late):
    case = people(time_limit=1.0)
    outcome = attempt(case)
    slow = replace(outcome.release, seconds=outcome.release.seconds | {"solve": 9.0})
    found = complaints(case, replace(outcome, release=slow, worked=worked))
    assert any(text.startswith("time: ") for text in found) is late


def test_the_code_that_was_attacked_has_a_name():
    assert fingerprint() == fingerprint()
    assert len(fingerprint()) == 12


@pytest.mark.parametrize("frame", FILE_KINDS)
def test_files_may_spell_zeros_and_times_as_they_like(frame):
    case = people()
    case.columns["more"] = PlainColumn("float", [0.0, -0.0, 3.0, 1.5, 1e-7, 2.0, 1e21, 0.25])
    case.columns["when"] = PlainColumn("datetime", ["2024-02-29T23:59:58.500000"] * 8)
    case.insensitive += ["more", "when"]
    case.columns["town"].values[6:] = ["Ayr", "Ayr"]
    case.frame = frame
    assert complaints(case, attempt(case)) == []


def test_bounds_and_guarantees_are_held_against_the_best_of_all_partitions():
    case = people()
    for column in case.columns.values():
        del column.values[6:]
    outcome = attempt(case)
    best = outcome.release.cost  # pairs of neighbours are the best there is
    high = replace(outcome, release=replace(outcome.release, **claimed(bound=best, guarantee=1.0)))
    assert complaints(case, high) == []
    dear = {name: value * 2 for name, value in outcome.release.loss.items()}
    wrong = replace(
        outcome, release=replace(outcome.release, loss=dear, **claimed(bound=best * 1.5, guarantee=1.0))
    )
    kinds = [failure_kind(text) for text in complaints(case, wrong)]
    assert any("which a release attains" in kind for kind in kinds)
    assert any("is more than" in kind for kind in kinds)


@pytest.mark.parametrize(
    "refusal, right",
    [
        (("InfeasibleError", "k = 2 is impossible"), False),
        (("UnsupportedError", "I would rather not."), False),
        (("UnsupportedError", "mondrian cannot minimise 'ambiguity'."), True),
    ],
)
def test_refusals_must_be_true_or_documented(refusal, right):
    assert (complaints(people(), Outcome(refusal=refusal)) == []) is right


def test_what_cannot_be_had_may_be_refused():
    case = people()
    case.privacy[0]["k"] = 9
    assert attempt(case).refusal[0] == "InfeasibleError"
    assert complaints(case, attempt(case)) == []


def test_a_crash_is_a_failure(monkeypatch):
    monkeypatch.setattr("kohort.anonymize", lambda *_, **__: 1 / 0)
    outcome = attempt(people())
    assert failure_kind(complaints(people(), outcome)[0]).startswith("crash: ZeroDivisionError")


def test_a_failing_case_is_made_smaller_while_it_fails():
    case = people(cost="ncp", weights={"age": 2.0}, seed=3)
    case.frame = "pandas-concat"

    def fails(small):
        ages = small.columns.get("age")
        return ages is not None and 43 in ages.values and "ncp" in small.options.values()

    small = shrunk(case, fails)
    assert small.columns["age"].values == [43]
    assert small.options == {"algorithm": "mondrian", "cost": "ncp"}
    assert set(small.columns) <= {"age", "illness", "row"}  # a model alone is never left out
    assert small.frame == "pyarrow"


def test_a_seed_and_a_number_give_one_case():
    for number in range(200):
        case = draw_case(7, number)
        assert case == draw_case(7, number)
        assert Case.from_json(case.to_json()) == case
    assert draw_case(7, 1) != draw_case(8, 1)


@pytest.mark.parametrize("kind", FRAME_KINDS)
def test_frames_of_every_kind_hold_the_same_values(kind):
    case = people()
    case.columns["day"] = PlainColumn("date", ["2024-02-29"] * 7 + [None])
    case.columns["share"] = PlainColumn("float", [0.5, None, *[1.0] * 6])
    case.frame = kind
    expected = {name: python_values(column) for name, column in case.columns.items()}
    assert as_lists(frame_of(case)) == expected


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_files_of_every_kind_are_attempted_and_judged(kind):
    case = people()
    case.columns["town"].values = ["Ayr"] * 4 + ["Ely"] * 4
    case.frame = kind
    outcome = attempt(case)
    assert outcome.release is not None
    assert complaints(case, outcome) == []


def test_a_spec_says_the_same_as_arguments():
    case = people()
    case.quasi["town"] = {"csv": case.quasi["town"]["paths"]}
    plain = attempt(case)
    case.by_spec = True
    assert attempt(case).table == plain.table


def test_cases_are_counted_by_kind():
    told = []
    run_cases(1, 0, 0, 9e9, told.append)
    assert told == [{"counts": {}}]
    line = {
        "mode": "long",
        "seconds": 36.0,
        "seed": 1,
        "counts": {"cases": 2, "algorithm=mondrian|released": 2},
    }
    assert "| mondrian | 2 | 2 | 0 | 0 |" in markdown_tables([line])
