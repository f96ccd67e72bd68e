"""Charts are plain Vega-Lite specs over the facts, and can be drawn."""

import json

import pytest

from kohort.charts import svg_of
from kohort.comparison.display import comparison_chart
from kohort.report import charts
from kohort.report.columns import STEPS
from report.kinds import facts_of


@pytest.fixture
def facts():
    return facts_of("plain")


def specs(facts):
    yield charts.steps_chart([(a["name"], a["steps"]) for a in facts["attributes"]])
    yield charts.bars_chart([(a["name"], a["loss"]) for a in facts["attributes"]], title="loss", shares=False)
    for rows in facts["distributions"].values():
        yield charts.distribution_chart(rows, ordered=True)
        yield charts.distribution_chart(rows, ordered=False)
    yield charts.class_sizes_chart(facts["class_sizes"])
    yield from map(charts.guesses_chart, facts["guesses"])
    yield charts.rates_chart([{"value": "chance", "before": 1.0, "after": 0.1}])
    yield charts.rates_chart([{"value": "chance", "after": 0.1}])
    yield charts.attack_chart([{"side": "release", "rate": 0.05, "low": 0.04, "high": 0.07}], 0.1)
    yield charts.bars_chart([("half of the queries", 3.2)], title="relative error")
    yield charts.pairs_chart(facts["utility"]["association"]["pairs"])


def test_charts_are_plain_data_and_can_be_drawn(facts):
    for spec in specs(facts):
        assert json.loads(json.dumps(spec, allow_nan=False)) == spec
        svg = svg_of(spec, alternative='a "chart" of <this> & that')
        assert svg.startswith("<svg role='img' aria-label='a \"chart\" of &lt;this&gt; &amp; that'")
        assert "http://www.w3.org/2000/svg" in svg and "NaN" not in svg


def test_the_bars_of_steps_are_the_shares(facts):
    shares = [(a["name"], a["steps"]) for a in facts["attributes"]]
    values = charts.steps_chart(shares)["data"]["values"]
    for name, steps in shares:
        drawn = {v["step"]: v["share"] for v in values if v["column"] == name}
        assert drawn == {step: share for step, share in steps.items() if share}
    assert {v["order"] for v in values} <= set(range(len(STEPS)))


def test_long_names_take_two_lines_and_records_keep_them():
    long = "occupation_of_the_patient_when_admitted"
    chart = charts.bars_chart([("age", 0.1), (long, 0.2)], title="loss", shares=False)
    assert [value["name"] for value in chart["data"]["values"]] == ["age", long]
    svg = svg_of(chart)
    assert "occupation_of_the_" in svg and "patient_when_admitted" in svg and "…" not in svg


def test_names_in_a_comparison_are_not_clipped():
    rows = [
        {
            "status": "done",
            "cost": cost,
            "algorithm": "a-search-with-a-rather-long-name",
            "k": k,
            "loss": 0.1 * k,
            "cpu_seconds": k,
        }
        for cost in ("hierarchical-discernibility", "loss")
        for k in (2, 5)
    ]
    assert "a-search-with-a-rather-long-name, hierarchical-discernibility" in svg_of(comparison_chart(rows))
