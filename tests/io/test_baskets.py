"""Files of baskets, end to end through the command line."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kohort as ko
from cli.running import run
from items_cases import FIG_2
from kohort.errors import InputError
from kohort.io.data_files import read_data, write_data
from kohort.statement.items import BasketShape

SPEC = "items: {{hierarchy: {{groups: {{A: [a1, a2], B: [b1, b2]}}}}{more}}}\nprivacy: {{k: 2, m: 2}}\n"
LINES = "a1 b1 b2\na2 b1\na2 b1 b2\na1 a2 b2\n"
PUBLISHED = "A b1 b2\nA b1\nA b1 b2\nA b2\n"


def files(folder, text, suffix=".txt", more=""):
    (folder / "spec.yaml").write_text(SPEC.format(more=more))
    (folder / f"in{suffix}").write_text(text)
    return folder / f"in{suffix}", folder / "spec.yaml", folder / f"out{suffix}"


def test_one_basket_a_line_comes_back_so(tmp_path):
    data, spec, out = files(tmp_path, LINES)
    certificate = tmp_path / "c.json"
    ran = run(
        "anonymize",
        data,
        "--spec",
        spec,
        "--out",
        out,
        "--certificate",
        certificate,
        "--report",
        tmp_path / "r.html",
    )
    assert ran.exit == 0, ran.err
    assert out.read_text() == PUBLISHED
    facts = json.loads(certificate.read_text())
    assert facts["items"]["ncp"] == 0.23  # 2.5 / 11, in public
    assert run("verify", out, "--spec", spec, "--original", data).exit == 0
    assert run("verify", out, "--spec", spec).exit == 0


def test_a_file_that_breaks_the_promise_is_listed_by_itemsets(tmp_path):
    data, spec, _ = files(tmp_path, LINES)
    found = tmp_path / "rare.jsonl"
    ran = run("verify", data, "--spec", spec, "--violations", found, "--json")
    assert ran.exit == 1
    rare = [json.loads(line) for line in found.read_text().splitlines()]
    assert {(*row["items"], row["support"]) for row in rare} == {("a1", "a2", 1), ("a1", "b1", 1)}
    assert run("verify", data, "--spec", spec, "--violations", tmp_path / "rare.csv").exit == 1
    assert set((tmp_path / "rare.csv").read_text().split()) == {"items,support", "a1;a2,1", "a1;b1,1"}


def test_a_release_that_lost_or_invented_an_item_is_found(tmp_path):
    data, spec, out = files(tmp_path, LINES)
    spec.write_text(spec.read_text() + "shuffle: false\n")
    out.write_text(PUBLISHED.replace("A b2", "A"))
    assert "1 item of 'items' not covered" in run("verify", out, "--spec", spec, "--original", data).err
    out.write_text("A b1 b2\nA b1 b2\nA b1 b2\nA b2\n")
    assert (
        "1 published item without an original" in run("verify", out, "--spec", spec, "--original", data).err
    )


@pytest.mark.parametrize(
    ("suffix", "separator"), [(".csv", ","), (".tsv", "\t"), (".dat", " "), (".txt.gz", " ")]
)
def test_separators_follow_the_ending_and_labels_are_quoted(tmp_path, suffix, separator):
    path, shape = tmp_path / f"baskets{suffix}", BasketShape()
    lists = [["a", f"b{separator}c"], [], ['say "hi"', "d"]]
    write_data(pa.table({"items": pa.array(lists, pa.list_(pa.string()))}), path, shape, delimiter=None)
    assert read_data(path, shape).table["items"].to_pylist() == lists


def test_a_long_table_comes_back_long_with_new_ids(tmp_path):
    rows = "".join(f"{number * 7},{item}\n" for number, basket in enumerate(FIG_2) for item in basket)
    data, spec, out = files(tmp_path, "who,what\n" + rows, ".csv", ", id: who, item: what")
    assert run("anonymize", data, "--spec", spec, "--out", out).exit == 0
    expected = [[f"{n + 1},{x}" for x in line.split()] for n, line in enumerate(PUBLISHED.splitlines())]
    assert out.read_text().split() == ["who,what", *(row for basket in expected for row in basket)]
    assert run("verify", out, "--spec", spec, "--original", data).exit == 0


def test_a_list_column_of_parquet_beside_others(tmp_path):
    table = pa.table({"sex": ["f", "f", "m", "m"] * 3, "bought": FIG_2 * 3, "id": list(range(12))})
    data, out, spec = tmp_path / "in.parquet", tmp_path / "out.parquet", tmp_path / "spec.yaml"
    pq.write_table(table, data)
    spec.write_text(
        "attributes:\n  sex: {role: quasi-identifier}\n  id: {role: identifier}\n"
        "  bought: {role: items, hierarchy: {groups: {A: [a1, a2], B: [b1, b2]}}}\n"
        "privacy: {k: 3, m: 2}\nitems_weight: 0\n"
    )
    ran = run("anonymize", data, "--spec", spec, "--out", out, "--hierarchies", tmp_path / "trees")
    assert ran.exit == 0, ran.err
    assert (tmp_path / "trees" / "bought.csv").exists()
    published = pq.read_table(out)
    assert published.column_names == ["sex", "bought"]
    assert pa.types.is_list(published.schema.field("bought").type)
    assert ko.verify(out, spec=spec, original=data).holds
    broken = published.set_column(
        1, "bought", pa.array([["a1", "zebra"], *published["bought"].to_pylist()[1:]])
    )
    assert not ko.verify(broken, spec=spec, original=data).holds
    verdict = ko.verify(broken, spec=spec)
    assert not verdict.holds
    assert {"sex", "items", "support"} <= set(verdict.violations.column_names)


@pytest.mark.parametrize(
    ("shape", "says"),
    [({"id": "who"}, "both"), ({"id": "who", "item": "what", "separator": ";"}, "leave it out")],
)
def test_shapes_that_contradict_themselves_are_refused(shape, says):
    with pytest.raises(InputError, match=says):
        BasketShape(**shape)


def test_a_missing_file_and_reading_options_are_refused(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_data(tmp_path / "no.txt", BasketShape())
    (tmp_path / "a.txt").write_text("a\n")
    with pytest.raises(InputError, match="separator"):
        read_data(tmp_path / "a.txt", BasketShape(), delimiter=";")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.txt.zst", b"no zstd", "damaged"),
        ("a.txt.gz", b"no gzip", "damaged"),
        ("a.txt", b"", "empty"),
        ("a.txt", b"\0\0\0", "zero bytes"),
        ("a.txt", b"\xef\xbb\xbfa\xff", "damaged"),
    ],
)
def test_files_that_cannot_be_read_are_refused(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_data(tmp_path / name, BasketShape())
    with pytest.raises(InputError, match=says if content else "no baskets"):
        read_data(tmp_path, BasketShape())
