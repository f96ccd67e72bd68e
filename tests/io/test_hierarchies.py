import os
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.data.column import code_column
from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.io.hierarchies import read_hierarchy, read_source, write_hierarchy

ANIMALS = [("cat", "pet", "*"), ("dog", "pet", "*"), ("cow", "farm", "*")]
ROOT = Path(__file__).parents[2]
ARX = Path(os.environ.get("KOHORT_DATA", ROOT / "../shared/data")) / "arx-adult-hierarchies"


@pytest.fixture
def write(tmp_path):
    def write(content, name="h.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def paths(path, **options):
    read = read_hierarchy(path, **options)
    assert read.hierarchy is not None, read.findings.message()
    return list(read.hierarchy.paths())


@pytest.mark.parametrize(
    "text",
    [
        "cat;pet;*\ndog;pet;*\ncow;farm;*\n",
        "cat,pet,*\r\ndog, pet, *\r\ncow,farm,*\r\n",
        "cat\tpet\t*\ndog\tpet\t*\n\n\ncow\tfarm\t*",
        "cat|pet|*\ndog|pet|*\ncow|farm|*\n",
        '"cat";"pet";"*"\n"dog";pet;*\ncow;farm;*\n',
        "\ufeffcat;pet;*\ndog;pet;*\ncow;farm;*\n",
        "cat;pet;*;;\ndog;;pet;*\ncow;farm;farm;*\n;;;\n",
        "cat;pet;*\ncat;pet;*\ndog;pet;*\ncow;farm;*\n",
        "cat;pet\ndog;pet\ncow;farm\n",
    ],
)
def test_leaf_first_files(write, text):
    assert paths(write(text)) == ANIMALS


def test_commas_in_labels(write):
    text = "20;[20, 25);[20, 30);*\n26;[25, 30);[20, 30);*\n"
    assert paths(write(text))[0] == ("20", "[20, 25)", "[20, 30)", "*")
    assert paths(write('20,"[20, 25)",*\n'), delimiter=",") == [("20", "[20, 25)", "*")]


def test_spaces_of_the_data_are_kept(write):
    assert paths(write(" Private; Other;*\n"))[0] == (" Private", " Other", "*")


def test_an_empty_first_cell_is_the_missing_value(write):
    assert paths(write("a;x;*\n;unknown;*\n")) == [("a", "x", "*"), (None, "unknown", "*")]


def test_unbalanced_trees_and_repeated_labels(write):
    text = "a;a;a;*\nb;other;x;*\nc;other;y;*\nd\n"
    assert paths(write(text)) == [("a", "*"), ("b", "other", "x", "*"), ("c", "other", "y", "*"), ("d", "*")]


def test_a_list_of_leaves(write):
    assert paths(write("a\nb\n")) == [("a", "*"), ("b", "*")]


def test_a_header_is_skipped_only_if_told(write):
    path = write("level 0;level 1;level 2\ncat;pet;*\ndog;pet;*\ncow;farm;*\n")
    assert paths(path, header=True) == ANIMALS
    assert len(paths(path)) == 4


def test_encodings(write):
    text = "Córdoba;España;*\nMünchen;Österreich;*\n"
    for encoding in ("cp1252", "utf-16", "utf-8-sig"):
        assert paths(write(text.encode(encoding)))[0][0] == "Córdoba"
        assert paths(write(text.encode(encoding)), encoding=encoding)[0][0] == "Córdoba"
    with pytest.raises(InputError, match="is not written in utf-8"):
        read_hierarchy(write(text.encode("cp1252")), encoding="utf-8")
    with pytest.raises(InputError, match="Unknown encoding 'utf-9'"):
        read_hierarchy(write(text), encoding="utf-9")


@pytest.mark.parametrize(
    "text",
    [
        "pet: [cat, dog]\nfarm: [cow]\n",
        "'*':\n  pet:\n    cat:\n    dog: {}\n  farm:\n  - cow\n",
        "- pet: [cat, dog]\n- farm: cow\n",
        '{"pet": ["cat", "dog"], "farm": ["cow"]}',
        "pet: [cat]\nfarm: [cow]\npet: [dog]\n",  # a repeated key loses nothing
    ],
)
def test_trees(write, text):
    assert paths(write(text, "h.yaml")) == ANIMALS
    assert paths(write(text), kind="tree") == ANIMALS


def test_scalars_of_a_tree_stay_text(write):
    text = "Nordic: [NO, SE]\nCodes: [010, 1.50, 2024-01-01, 'null', null]\nRest: {~: }\n"
    leaves = [
        path[0] for path in paths(write("Nordic: [NO, SE]\nCodes: [010, 1.50, 'null', null]\n", "h.yml"))
    ]
    assert leaves == ["NO", "SE", "010", "1.50", "null", None]
    assert read_hierarchy(write(text, "h.yml")).findings.contradicting == (None,)


@pytest.mark.parametrize(
    "text, message",
    [
        ("a: [b\nc: d", "is not a YAML tree at line"),
        ("? [a, b]\n: [c]\n", "Line 1 of the hierarchy: a name must be a plain text"),
        ("&a [*a]", "line 1: the alias .a contains itself"),
    ],
)
def test_wrong_trees(write, text, message):
    with pytest.raises(InputError, match=message):
        read_hierarchy(write(text, "h.yaml"))


def test_pairs(write):
    text = "cat,pet\ndog,pet\ncow,farm\npet,*\nfarm,*\n"
    assert paths(write(text)) == ANIMALS  # told from a leaf-first file
    assert paths(write("child,parent\n" + text), header=True, kind="pairs") == ANIMALS
    assert paths(write("cat;pet\ndog;pet\ncow;farm\n"), kind="pairs") == ANIMALS  # several roots
    assert paths(write("cat;pet;\ndog;pet\ncow;farm\npet;\n*;*\n"), kind="pairs")[0] == ("cat", "pet", "*")


def test_pairs_that_are_no_tree(write):
    read = read_hierarchy(write("a;b\nb;c\nc;b\nd;x\nd;y\nd;x\n"), kind="pairs")
    assert read.hierarchy is None
    assert set(read.findings.cycles) == {"b", "c"}
    assert read.findings.two_parents == ("d",)
    assert read.findings.repeated == 1
    with pytest.raises(InputError, match="1 line has more than two cells"):
        read_hierarchy(write("a;b;c\n"), kind="pairs")


def test_everything_about_a_broken_file_is_told_with_the_column(write):
    read = read_hierarchy(write("a;x;*\na;y;*\nb;x;*\n"))
    assert read.hierarchy is None
    findings = read.against(code_column("c", pa.array(["a", "q"])))
    assert (findings.contradicting, findings.missing, findings.unused) == (("a",), ("q",), ("b",))
    assert read_hierarchy(write("")).findings.broken


def test_files_that_cannot_be_read(write, tmp_path):
    with pytest.raises(InputError, match="There is no hierarchy file"):
        read_hierarchy(tmp_path / "none.csv")
    with pytest.raises(InputError, match="There is no hierarchy file"):
        read_hierarchy(tmp_path)
    with pytest.raises(InputError, match="quotation mark that is not closed"):
        read_hierarchy(write('"a;x;*\nb;x;*\n'))
    with pytest.raises(InputError, match="delimiter must be one ASCII character"):
        read_hierarchy(write("a;b"), delimiter=";;")
    with pytest.raises(InputError, match="Unknown kind of hierarchy file"):
        read_hierarchy(write("a;b"), kind="leaf")
    with pytest.raises(InputError, match="cannot be read"):
        read_hierarchy(write(b"not gzip", "h.csv.gz"))


def test_the_file_that_a_spec_names(write):
    path = write("cat,pet\ndog,pet\ncow,farm\n")
    read = read_source(FileSource("h.csv", "pairs", ","), beside=path.parent)
    assert list(read.hierarchy.paths()) == ANIMALS


def test_short_branches_repeat_the_leaf(tmp_path):
    h = Hierarchy.from_paths(
        [("a", "*"), ("b", "y", "x", "*"), ("c", "c", "x", "*"), ("x", "*"), (None, "*")]
    )
    write_hierarchy(h, tmp_path / "h.csv")
    text = (tmp_path / "h.csv").read_text(encoding="utf-8")
    assert text == "a;a;a;*\nb;y;x;*\nc;c;x;*\nx;;;*\n;;;*\n"
    assert list(tmp_path.iterdir()) == [tmp_path / "h.csv"]
    assert paths(tmp_path / "h.csv") == list(h.paths())


def test_an_empty_text_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match="cannot distinguish an empty text from a missing value"):
        write_hierarchy(Hierarchy.from_paths([("", "*")]), tmp_path / "h.csv")


LABELS = st.one_of(st.sampled_from("abc"), st.text(st.characters(codec="utf-8"), min_size=1, max_size=4))


@st.composite
def hierarchies(draw):
    leaves = draw(st.lists(st.one_of(st.none(), LABELS), min_size=1, max_size=10, unique=True))
    ancestors = st.lists(LABELS.filter(str.strip), max_size=3)
    return Hierarchy.from_paths([(leaf, *draw(ancestors), "*") for leaf in leaves])


@given(hierarchies())
def test_what_is_written_is_read_again(tmp_path, hierarchy):
    write_hierarchy(hierarchy, tmp_path / "h.csv")
    read = read_hierarchy(tmp_path / "h.csv", kind="leaf-first", delimiter=";", encoding="utf-8")
    assert read.hierarchy.label == hierarchy.label
    assert read.hierarchy.parent.tolist() == hierarchy.parent.tolist()


@pytest.mark.data
@pytest.mark.skipif(not ARX.is_dir(), reason="needs the folder of larger data (KOHORT_DATA)")
@pytest.mark.parametrize(
    "name, leaves, height",
    [("age", 100, 4), ("education", 16, 3), ("native-country", 41, 2), ("race", 5, 1), ("workclass", 8, 2)],
)
def test_the_files_that_arx_users_have(name, leaves, height, tmp_path):
    read = read_hierarchy(ARX / f"{name}.csv")
    assert not read.findings.errors
    assert len(read.hierarchy.leaves) == leaves
    assert read.hierarchy.height == height
    write_hierarchy(read.hierarchy, tmp_path / "again.csv")
    assert list(read_hierarchy(tmp_path / "again.csv").hierarchy.paths()) == list(read.hierarchy.paths())
