"""A search that somebody stops keeps the best release so far."""

import kohort as ko
from kohort.algorithms import Run, Standing
from kohort.datasets import load_health

QUASI = ["age", "sex", "site", "education"]


def made(**options):
    table = load_health(year=1).select(QUASI).slice(0, 1500)
    return ko.anonymize(table, quasi_identifiers=QUASI, k=5, algorithm="improve", **options)


def test_a_search_that_is_stopped_still_keeps_its_promise_and_says_so():
    release = made(stop=lambda: True)
    assert release.verdict.holds and release.cut_by_time
    assert any("stopped by hand" in note for note in release.notes)


def test_being_able_to_stop_changes_nothing():
    alone, watched = made(), made(stop=lambda: False)
    assert alone.arrow.equals(watched.arrow) and not watched.cut_by_time


def test_a_run_and_its_parts_are_stopped():
    stopped = False
    run = Run(time_limit=60, stop=lambda: stopped)
    part = run.share_of_time(0.5).in_silence()
    assert not part.out_of_time and not run.was_cut
    stopped = True
    assert part.out_of_time and run.was_cut and run.was_stopped


def test_searches_report_cost_and_bound_as_figures():
    seen = []
    release = made(progress=lambda what, share: seen.append(what))
    standings = [what for what in seen if isinstance(what, Standing)]
    assert standings and all(what.bound is None or what.bound <= what.cost for what in standings)
    assert standings[0].cost >= standings[-1].cost >= release.cost * (1 - 1e-9)
