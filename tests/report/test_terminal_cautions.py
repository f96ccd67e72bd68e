"""The terminal names a few columns without a promise and counts the others."""

from io import StringIO

import numpy as np
import pyarrow as pa
from rich.console import Console

import kohort as ko
from kohort.report.terminal import release_panel


def shown(sensitive):
    rng = np.random.default_rng(0)
    columns = {f"score {i}": rng.integers(0, 9, 40) for i in range(sensitive)}
    release = ko.anonymize(
        pa.table({"age": np.arange(40), **columns}),
        quasi_identifiers=["age"],
        sensitive=list(columns),
        privacy=[ko.KAnonymity(5)],
        algorithm="mondrian",
    )
    console = Console(width=200, record=True, file=StringIO())
    console.print(release_panel(release.facts()))
    return release.facts()["cautions"], console.export_text()


def test_many_cautions_are_counted():
    cautions, text = shown(12)
    assert [caution["kind"] for caution in cautions].count("no-promise") == 12
    assert all(c["what"][:40] in text for c in cautions if c["kind"] != "no-promise")
    assert text.count("Nothing is promised about") == 8
    assert "And 4 more like these" in text


def test_a_few_are_all_named():
    _, text = shown(3)
    assert text.count("Nothing is promised about") == 3
    assert "more like these" not in text
