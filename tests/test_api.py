"""The whole job as its users call it: any table that can be published is, and proves it to a stranger."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import kohort as ko
from frames import MAKERS, as_lists, from_arrow
from kohort.errors import InputError, KohortError
from kohort.job.verify import verify_release
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.tables.memory import MemoryTable
from strategies import KINDS, cases

PEOPLE = {"age": [21, 22, 41, 42], "illness": ["flu", "cold", "flu", "cough"]}
SPEC = {
    "attributes": {
        "age": {"role": "quasi-identifier", "hierarchy": {"intervals": [10, 20]}},
        "illness": {"role": "sensitive"},
    },
    "privacy": {"k": 2},
}

# -- any table that can be published is ------------------------------------------------------------


def spec_of(case, folder=None, **options):
    """The spec that asks for the same as a case; hierarchies are written into a folder, if there is one."""
    attributes = {}
    for name, hierarchy in case.quasi_identifiers.items():
        attributes[name] = {"role": "quasi-identifier"}
        if hierarchy is not None and folder is not None:
            lines = [";".join(path) for path in case.paths[name]]
            (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
            attributes[name]["hierarchy"] = f"{name}.csv"
    asked = {**case.options, **options}
    for name, order in asked.pop("orders", {}).items():
        attributes[name]["order"] = order
    attributes |= {name: {"role": "sensitive"} for name in case.sensitive}
    attributes |= {name: {"role": "insensitive"} for name in case.insensitive}
    privacy = {"k": case.privacy[0].k}
    for model in case.privacy[1:]:
        privacy.setdefault(model.spec_key, []).append(model.to_dict())
    return {"attributes": attributes, "privacy": privacy, **asked}


extra_options = st.fixed_dictionaries(
    {},
    optional={
        "nulls": st.sampled_from(["value", "star"]),
        "shuffle": st.booleans(),
        "suppression": st.sampled_from([0.0, 0.3]),
        "algorithm": st.sampled_from(["auto", "mondrian"]),
    },
)


@given(cases(), extra_options)
def test_any_table_and_promise_that_can_be_had_gives_a_release_that_a_stranger_finds_good(case, options):
    release = case.anonymize(**options)
    spec = parse_spec(spec_of(case, **options))
    spec = spec.with_columns(hierarchy=case.quasi_identifiers)
    verification = verify_release(MemoryTable(release.table), spec, original=MemoryTable(case.table))
    assert verification.verdict.holds, verification.verdict.reasons()
    if not options.get("shuffle"):
        assert verification.loss == pytest.approx(release.loss)


@given(cases([*(kind for kind in KINDS if kind != "text"), "plain"]), st.sampled_from(sorted(MAKERS)))
def test_files_dataframes_and_the_spec_say_the_same(case, kind):
    """Hierarchies and the spec as files, the release as any kind of dataframe and as CSV."""
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        spec_path = folder / "spec.yaml"
        spec_path.write_text(yaml.safe_dump(spec_of(case, folder, shuffle=False)), encoding="utf-8")
        frame = from_arrow(case.table, kind)
        release = ko.anonymize(frame, spec=spec_path)
        assert type(release.table) is type(frame)
        assert as_lists(release.table) == as_lists(case.anonymize(data=frame).table)
        assert ko.verify(release.table, spec=spec_path, original=frame).holds
        assert ko.verify(release.table, spec=spec_path).holds
        pa.parquet.write_table(release.arrow, folder / "release.parquet")
        assert ko.verify(folder / "release.parquet", spec=spec_path, original=frame).holds


@given(cases(), st.data())
def test_a_release_that_was_tampered_with_is_found_out(case, data):
    """Take one record out of its class: a class of exactly k records breaks."""
    release = case.anonymize()
    name = data.draw(st.sampled_from(list(case.quasi_identifiers)))
    record = data.draw(st.integers(0, case.table.num_rows - 1))
    labels = release.table[name].to_pylist()
    labels[record] = "somebody else"
    place = release.table.column_names.index(name)
    tampered = release.table.set_column(place, name, pa.array(labels, pa.string()))
    spec = spec_of(case)
    if case.k > 1:
        assert not ko.verify(tampered, spec=spec).holds
    if all(hierarchy is None for hierarchy in case.quasi_identifiers.values()):
        assert not ko.verify(tampered, spec=spec, original=case.table).holds


# -- no message shows a cell -----------------------------------------------------------------------

TEXTS = [f"SENTINEL{letter}" for letter in "abcd"]
NUMBERS = [987650001, 987650002, 987650003, 987650004]
SECRETS = {
    "town": TEXTS,
    "income": NUMBERS,
    "mixed": ["SENTINELe", "1", "2024-01-01", "987650005"],
    "missing": ["SENTINELf", None, "SENTINELg", None],
    "day": ["2024-SENTINEL"] * 4,
    "born": pd.to_datetime(["1987-06-05"] * 3 + ["1987-06-06"]).date.tolist(),
    "illness": ["SENTINELx", "SENTINELx", "SENTINELx", "SENTINELy"],
}
OTHER_TREE = ko.Hierarchy.from_paths([("a", "A", "*"), ("b", "A", "*")])


def hidden(**asked):
    asked = {"privacy": [ko.KAnonymity(2)], "sensitive": ["illness"], "others": "drop", **asked}
    return lambda frame: ko.anonymize(frame, **asked)


def with_privacy(*models):
    return hidden(quasi_identifiers=["town"], privacy=[ko.KAnonymity(2), *models])


MISTAKES = {
    "hierarchy without the values": hidden(quasi_identifiers={"town": OTHER_TREE}),
    "hierarchy without the numbers": hidden(quasi_identifiers={"income": OTHER_TREE}),
    "groups without the values": hidden(quasi_identifiers={"town": {"groups": {"A": ["a"]}}}),
    "intervals of text": hidden(quasi_identifiers={"town": ko.intervals(5)}),
    "intervals of mixed text": hidden(quasi_identifiers={"mixed": ko.intervals(5)}),
    "intervals of dates": hidden(quasi_identifiers={"born": ko.intervals(5)}),
    "too many intervals": hidden(quasi_identifiers={"income": ko.intervals(1e-15)}),
    "dates of text": hidden(quasi_identifiers={"day": ko.dates("month")}),
    "dates of numbers": hidden(quasi_identifiers={"income": ko.dates("month")}),
    "order without the values": hidden(quasi_identifiers=["town"], orders={"town": ["a"]}),
    "order of numbers": hidden(quasi_identifiers=["income"], orders={"income": [1, 2, 3]}),
    "nulls refused": hidden(quasi_identifiers=["missing"], nulls="refuse"),
    "k too large": hidden(quasi_identifiers=["town"], privacy=[ko.KAnonymity(5)]),
    "diversity": with_privacy(ko.LDiversity("illness", 3)),
    "entropy": with_privacy(ko.LDiversity("illness", 2, kind="entropy")),
    "recursive": with_privacy(ko.LDiversity("illness", 2, kind="recursive", c=1)),
    "distinct": with_privacy(ko.LDiversity("illness", 3, kind="distinct")),
    "alpha": with_privacy(ko.AlphaDeassociation("illness", 0.5)),
    "ceiling": with_privacy(ko.AlphaDeassociation("illness", 0.1, rounding="ceiling")),
    "ordered closeness without an order": with_privacy(ko.TCloseness("illness", 0.5, distance="ordered")),
    "closeness without a tree": with_privacy(ko.TCloseness("illness", 0.5, distance="hierarchical")),
    "cost of free intervals": hidden(quasi_identifiers=["income"], cost="entropy"),
    "pseudonyms without a key": hidden(quasi_identifiers=["town"], identifiers={"income": "pseudonym"}),
    "column without a role": hidden(quasi_identifiers=["town"], others="error"),
    "no such column": hidden(quasi_identifiers=["twon"]),
    "verify without the values": lambda frame: ko.verify(
        frame,
        spec={
            "attributes": {
                "town": {"role": "quasi-identifier"},
                "illness": {"role": "sensitive", "hierarchy": {"groups": {"A": ["a"]}}},
            },
            "others": "keep",
            "privacy": {"closeness": {"attribute": "illness", "t": 1, "distance": "hierarchical"}},
        },
    ),
    "verify in another order": lambda frame: ko.verify(
        frame,
        spec={
            "attributes": {
                "town": {"role": "quasi-identifier"},
                "illness": {"role": "sensitive", "order": ["a", "b"]},
            },
            "others": "keep",
            "privacy": {"closeness": {"attribute": "illness", "t": 1, "distance": "ordered"}},
        },
    ),
}


HAVE_AN_ORDER = ("pandas categorical", "polars enum")  # their categories are ordered


@pytest.mark.parametrize("mistake", MISTAKES)
def test_no_message_shows_a_cell(mistake, native_frame, request):
    if mistake == "ordered closeness without an order" and request.node.callspec.id.startswith(HAVE_AN_ORDER):
        assert MISTAKES[mistake](native_frame(SECRETS)).verdict.holds
        return
    with pytest.raises(KohortError) as caught:
        MISTAKES[mistake](native_frame(SECRETS))
    assert_shows_no_cell(caught.value)


def assert_shows_no_cell(error):
    while error is not None:
        text = f"{error!r} {error}"
        assert "SENTINEL" not in text
        assert "98765" not in text
        assert "1987" not in text
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["SENTINEL", 1, 2.5, None], dtype=object),
        pd.Series([{"SENTINEL": 1}, ["SENTINEL"], "SENTINEL", 98765], dtype=object),
        pd.Series([987650001 * 2**60, 1, 2, 3], dtype=object),
        pd.Series([["SENTINEL"]] * 4),
    ],
)
@pytest.mark.parametrize("role", ["quasi_identifiers", "sensitive", "insensitive"])
def test_columns_that_arrow_cannot_hold_are_refused_without_showing_them(column, role):
    frame = pd.DataFrame({"age": [1, 1, 2, 2], "x": column})
    asked = {"quasi_identifiers": ["age"]} | ({role: ["x"], "others": "drop"} if role else {})
    try:
        ko.anonymize(frame, privacy=[ko.KAnonymity(2)], **asked)
    except KohortError as error:
        assert_shows_no_cell(error)
    else:
        assert role == "insensitive"  # lists may be kept as they are


def test_a_release_that_fails_shows_no_cell_either(monkeypatch):
    from kohort.recoding.groups import Groups

    right = Groups.apply

    def wrong(self, attribute):
        published = right(self, attribute)
        return replace(published, labels=["SENTINELz"] * len(published.labels))

    monkeypatch.setattr(Groups, "apply", wrong)
    with pytest.raises(ko.InternalError) as caught:
        hidden(quasi_identifiers=["town"])(pa.table(SECRETS))
    assert_shows_no_cell(caught.value)


# -- ways to call it -------------------------------------------------------------------------------


def test_a_file_is_read_and_comes_back_as_arrow(tmp_path):
    pa.csv.write_csv(pa.table(PEOPLE), tmp_path / "people.csv")
    spec = SPEC | {"shuffle": False}
    release = ko.anonymize(tmp_path / "people.csv", spec=spec)
    assert release.table.to_pydict() == {
        "age": ["[20, 30)", "[20, 30)", "[40, 50)", "[40, 50)"],
        "illness": PEOPLE["illness"],
    }
    assert ko.anonymize(str(tmp_path / "people.csv"), spec=spec).table.equals(release.table)
    pa.csv.write_csv(release.table, tmp_path / "release.csv")
    assert ko.verify(tmp_path / "release.csv", spec=SPEC, original=tmp_path / "people.csv").holds


def test_quasi_identifiers_are_a_mapping_a_list_or_a_name(native_frame):
    frame = native_frame(PEOPLE)
    asked = {"sensitive": "illness", "privacy": ko.KAnonymity(2)}
    tables = [
        as_lists(ko.anonymize(frame, quasi_identifiers=quasi_identifiers, **asked, shuffle=False).table)
        for quasi_identifiers in ("age", ["age"], {"age": None}, {"age": "none"})
    ]
    assert all(table == tables[0] for table in tables)
    assert tables[0]["age"] == ["[21, 22]", "[21, 22]", "[41, 42]", "[41, 42]"]


def test_a_hierarchy_is_a_builder_a_mapping_a_hierarchy_or_a_file(tmp_path, native_frame):
    (tmp_path / "age.csv").write_text("".join(f"{a};[{a // 10}0, {a // 10 + 1}0);*\n" for a in range(20, 50)))
    tree = ko.read_hierarchy(tmp_path / "age.csv")
    sources = [ko.intervals(10), {"intervals": [10]}, tree, tmp_path / "age.csv", str(tmp_path / "age.csv")]
    frame = native_frame(PEOPLE)
    for source in sources:
        release = ko.anonymize(
            frame,
            quasi_identifiers={"age": source},
            sensitive=["illness"],
            privacy=[ko.KAnonymity(2)],
            shuffle=False,
        )
        assert as_lists(release.table)["age"] == ["[20, 30)", "[20, 30)", "[40, 50)", "[40, 50)"]


def test_a_hierarchy_file_that_is_not_there_or_no_tree_is_refused(tmp_path):
    (tmp_path / "broken.csv").write_text("21;A;*\n21;B;*\n")
    for name in ("nothing.csv", "broken.csv"):
        with pytest.raises(InputError):
            ko.anonymize(
                pa.table(PEOPLE),
                quasi_identifiers={"age": tmp_path / name},
                others="keep",
                privacy=[ko.KAnonymity(2)],
            )


def test_a_spec_is_a_file_or_a_mapping_and_stands_alone(tmp_path, native_frame):
    path = tmp_path / "spec.yaml"
    path.write_text(yaml.safe_dump(SPEC))
    frame = native_frame(PEOPLE)
    for spec in (SPEC, path, str(path)):
        assert sorted(as_lists(ko.anonymize(frame, spec=spec).table)["age"])[0] == "[20, 30)"
    for besides in (
        {"quasi_identifiers": ["age"]},
        {"privacy": [ko.KAnonymity(2)]},
        {"nulls": "refuse"},
        {"suppression": 0.5},
        {"seed": 1},
        {"sensitive": ["illness"]},
    ):
        with pytest.raises(InputError, match=next(iter(besides))):
            ko.anonymize(frame, spec=SPEC, **besides)
    assert ko.anonymize(frame, spec=SPEC, engine="local", key=b"0" * 16, progress=lambda what, share: None)


def test_a_lazy_frame_is_collected():
    release = ko.anonymize(pl.LazyFrame(PEOPLE), spec=SPEC)
    assert isinstance(release.table, pl.DataFrame)
    assert ko.verify(release.table.lazy(), spec=SPEC, original=pl.LazyFrame(PEOPLE)).holds


def test_the_kinds_of_dataframes_agree():
    tables = [as_lists(ko.anonymize(make(PEOPLE), spec=SPEC).table) for make in MAKERS.values()]
    assert all(table == tables[0] for table in tables)


def test_a_report_is_written(tmp_path):
    release = ko.anonymize(pa.table(PEOPLE), spec=SPEC)
    release.report(tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8").lower()


@pytest.mark.parametrize("method", ["report", "certificate", "maps"])
def test_an_old_file_survives_when_a_new_one_cannot_be_written(tmp_path, monkeypatch, method):
    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    release = ko.anonymize(pa.table(PEOPLE), spec=SPEC | {"algorithm": "full-domain"})
    file = tmp_path / "old.html"
    file.write_text("old")
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(InputError, match="No space left"):
        getattr(release, method)(file)
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_signature_is_written_with_its_certificate_or_not_at_all(tmp_path):
    release = ko.anonymize(pa.table(PEOPLE), spec=SPEC)
    with pytest.raises(InputError):
        release.certificate(tmp_path / "nowhere" / "c.json")
    with pytest.raises(KohortError):
        release.certificate(tmp_path / "c.json", sign=tmp_path / "no-key.pem")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "option", [{"shuffle": False}, {"suppression": 0.5}, {"k": 3}, {"sensitive": ["illness"]}]
)
def test_options_beside_a_spec_are_refused_also_where_they_say_no(option):
    table = pa.table({"age": [1, 1]})
    spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    with pytest.raises(InputError, match=f"leave out {next(iter(option))}"):
        ko.anonymize(table, spec=spec, **option)
