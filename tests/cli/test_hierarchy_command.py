"""kohort hierarchy build, show and check."""

import csv
import json

import pytest
from running import run

from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.datasets import generate_hospital
from kohort.io.hierarchies import read_hierarchy
from kohort.io.tables import write_table
from kohort.tables.memory import MemoryTable

SECRETS = ("Xanadu", "Utopia")


@pytest.fixture(scope="module")
def hospital(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "hospital.parquet"
    write_table(generate_hospital(400), path)
    return path


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("city,age\nXanadu,30\nXanadu,31\nUtopia,40\nOslo,41\n", encoding="utf-8")
    return path


@pytest.fixture
def cities(tmp_path):
    path = tmp_path / "cities.csv"
    path.write_text("Xanadu;east;*\nOslo;north;*\nBergen;north;*\nUtopia;west;*\n", encoding="utf-8")
    return path


# -- build -----------------------------------------------------------------------------------------

WAYS = [
    ("age", ("--intervals", "5,10,20"), {"intervals": [5, 10, 20]}),
    ("age", ("--intervals", "5", "--origin", "2", "--top", "90", "--bottom", "10.5"),
     {"intervals": 5, "origin": 2, "top": 90, "bottom": 10.5}),
    ("age", ("--quantiles", "3", "--depth", "2"), {"quantiles": 3, "depth": 2}),
    ("postcode", ("--code", "de-postcode"), {"code": "de-postcode"}),
    ("postcode", ("--mask", "right"), {"mask": "right"}),
    ("postcode", ("--mask", "left", "--char", "x"), {"mask": "left", "char": "x"}),
    ("admitted", ("--date", "month, year"), {"date": ["month", "year"]}),
    ("occupation", ("--flat",), "flat"),
    ("occupation", ("--order", "natural", "--fanout", "4,3"), {"order": "natural", "fanout": [4, 3]}),
    ("occupation", ("--order", "frequency"), {"order": "frequency"}),
    ("age", ("--fanout", "4"), {"fanout": 4}),
    ("insurance", ("--order", "none,public,private", "--fanout", "2"),
     {"order": ["none", "public", "private"], "fanout": 2}),
    ("occupation", ("--frequency", "4"), {"frequency": 4}),
    ("occupation", ("--auto",), "auto"),
    ("age", (), "auto"),
]  # fmt: skip


@pytest.mark.parametrize(("column", "options", "spec"), WAYS)
def test_build_does_what_the_spec_would(tmp_path, hospital, column, options, spec):
    out = tmp_path / "h.csv"
    ran = run("hierarchy", "build", hospital, column, *options, "--out", out, "--json")
    assert (ran.exit, ran.err) == (0, "")
    facts = json.loads(ran.out)
    wanted = from_spec(spec).build(MemoryTable(generate_hospital(400)).column(column))
    assert list(read_hierarchy(out).hierarchy.paths()) == list(wanted.paths())
    assert (facts["leaves"], facts["height"]) == (len(wanted.leaves), wanted.height)
    assert from_spec(facts["hierarchy"]) is not None


def test_build_tells_what_was_chosen_and_what_next(tmp_path, hospital):
    out = tmp_path / "my h.csv"
    ran = run("hierarchy", "build", hospital, "occupation", "--out", out)
    assert "gets groups that join rare values first, because" in ran.out
    assert f"kohort hierarchy show '{out}'" in ran.out
    out.unlink()
    assert run("hierarchy", "build", hospital, "age", "--out", out, "--quiet") == (0, "", "")


def test_a_built_file_works_in_a_spec(tmp_path, hospital):
    run("hierarchy", "build", hospital, "age", "--intervals", "10,50", "--out", tmp_path / "age.csv")
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "attributes: {age: {role: quasi-identifier, hierarchy: age.csv}}\nprivacy: {k: 20}\nothers: drop\n",
        encoding="utf-8",
    )
    ran = run("anonymize", hospital, "--spec", spec, "--out", tmp_path / "release.csv", "--quiet")
    assert ran.exit == 0
    published = set((tmp_path / "release.csv").read_text(encoding="utf-8").splitlines()[1:])
    assert published <= {f'"{label}"' for label in read_hierarchy(tmp_path / "age.csv").hierarchy.label}


def test_build_overwrites_only_by_force(tmp_path, people):
    out = tmp_path / "h.csv"
    out.write_text("mine", encoding="utf-8")
    assert run("hierarchy", "build", people, "age", "--out", out).exit == 2
    assert out.read_text(encoding="utf-8") == "mine"
    assert run("hierarchy", "build", people, "age", "--out", out, "--force").exit == 0
    before = people.read_bytes()
    assert run("hierarchy", "build", people, "age", "--out", people, "--force").exit == 2
    assert people.read_bytes() == before


@pytest.mark.parametrize(
    ("column", "options", "hint"),
    [
        ("cty", (), "Did you mean 'city'?"),
        ("city", ("--intervals", "5"), "intervals need numbers"),
        ("city", ("--date", "month"), "not dates"),
        ("age", ("--intervals", "5,ten"), "--intervals takes numbers"),
        ("age", ("--intervals", "5,12"), "a multiple of the one before"),
        ("age", ("--intervals", "nan"), "finite number"),
        ("age", ("--intervals", "5", "--mask", "right"), "Choose one way"),
        ("age", ("--flat", "--auto"), "Choose one way"),
        ("age", ("--frequency", "3", "--fanout", "3"), "Choose one way"),
        ("age", ("--top", "90"), "Choose one way"),
        ("age", ("--mask", "right", "--top", "90"), "does not take 'top'"),
        ("age", ("--mask", "rigth"), "right or left"),
        ("age", ("--fanout", "1"), "of at least 2"),
        ("age", ("--fanout", "2.5"), "of at least 2"),
        ("age", ("--order", "sorted"), "Unknown order"),
        ("city", ("--order", "Oslo,Bergen"), "2 values are missing"),
        ("age", ("--date", "year,month"), "from short to long"),
    ],
)
def test_what_build_refuses(tmp_path, people, column, options, hint):
    ran = run("hierarchy", "build", people, column, *options, "--out", tmp_path / "h.csv", "--json")
    assert ran.exit == 2
    assert hint in ran.err
    assert json.loads(ran.out)["exit"] == 2
    assert not any(value in ran.err for value in SECRETS)
    assert not (tmp_path / "h.csv").exists()


def test_build_refuses_lists(tmp_path, hospital):
    ran = run("hierarchy", "build", hospital, "procedures", "--out", tmp_path / "h.csv")
    assert ran.exit == 2
    assert "lists" in ran.err


# -- show ------------------------------------------------------------------------------------------


def test_show(cities):
    assert run("hierarchy", "show", cities).out.splitlines() == [
        "* (4 leaves)",
        "├── east (1 leaf)",
        "│   └── Xanadu",
        "├── north (2 leaves)",
        "│   ├── Oslo",
        "│   └── Bergen",
        "└── west (1 leaf)",
        "    └── Utopia",
    ]


def test_show_with_records_to_a_depth(cities, people):
    ran = run("hierarchy", "show", cities, "--data", people, "--column", "city", "--depth", 1)
    assert ran.out.splitlines() == [
        "* (4 leaves, 4 records)",
        "├── east (1 leaf, 2 records)",
        "├── north (2 leaves, 1 record)",
        "└── west (1 leaf, 1 record)",
    ]


def test_show_folds_children_but_no_lines(tmp_path):
    file = tmp_path / "long.csv"
    file.write_text("".join(f"{'[b]' * 60}{i};*\n" for i in range(30)), encoding="utf-8")
    lines = run("hierarchy", "show", file, "--children", 3).out.splitlines()
    assert len(lines) == 4
    assert lines[1] == "├── " + "[b]" * 60 + "0"
    assert lines[-1] == "└── … 28 more"


def test_show_json(cities, people):
    words = ("hierarchy", "show", cities, "--data", people, "--column", "city", "--json")
    facts = json.loads(run(*words).out)
    assert (facts["leaves"], facts["height"], len(facts["nodes"])) == (4, 2, 8)
    north = next(node for node in facts["nodes"] if node["label"] == "north")
    assert north == {"node": 3, "label": "north", "parent": 0, "depth": 1, "leaves": 2, "records": 1}
    assert [node["depth"] for node in json.loads(run(*words, "--depth", 1).out)["nodes"]] == [0, 1, 1, 1]


def test_show_notes_values_that_are_missing(tmp_path, people):
    file = tmp_path / "few.csv"
    file.write_text("Oslo;*\n", encoding="utf-8")
    ran = run("hierarchy", "show", file, "--data", people, "--column", "city")
    assert ran.exit == 0
    assert "2 values are not in the hierarchy (3 records)" in ran.err
    assert not any(value in ran.out + ran.err for value in SECRETS)


def test_show_other_kinds_of_files(tmp_path):
    tree = tmp_path / "tree.yaml"
    tree.write_text("north: [Oslo, Bergen]\n", encoding="utf-8")
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("child;parent\nOslo;north\nBergen;north\n", encoding="utf-8")
    for words in ((tree,), (pairs, "--kind", "pairs", "--header")):
        out = run("hierarchy", "show", *words).out
        assert "Bergen" in out
        assert "child" not in out


def test_what_show_refuses(tmp_path, cities, people):
    broken = tmp_path / "broken.csv"
    broken.write_text("Oslo;north;*\nOslo;south;*\n", encoding="utf-8")
    for words, hint in [
        ((broken,), "listed with different ancestors"),
        ((tmp_path / "none.csv",), "There is no hierarchy file"),
        ((cities, "--data", people), "--data and --column go together"),
        ((cities, "--column", "city"), "--data and --column go together"),
        ((cities, "--data", people, "--column", "town"), "no column 'town'"),
        ((cities, "--kind", "graph"), "Unknown kind"),
        ((cities, "--depth", -1), "--depth"),
    ]:
        ran = run("hierarchy", "show", *words)
        assert ran.exit == 2
        assert hint in ran.err


# -- check -----------------------------------------------------------------------------------------


def test_check_in_order(cities, people):
    assert "The hierarchy can be used as it is." in run("hierarchy", "check", cities).out
    ran = run("hierarchy", "check", cities, "--data", people, "--column", "city")
    assert ran.exit == 0
    assert ran.out.splitlines() == [
        "The hierarchy can be used as it is.",
        "Note: 1 of its 4 leaves are not in the data.",
    ]
    assert run("hierarchy", "check", cities, "--quiet") == (0, "", "")


@pytest.fixture
def wrong(tmp_path):
    """Missing values, a leaf listed twice with different ancestors, an unused leaf: all at once."""
    path = tmp_path / "wrong.csv"
    path.write_text("Oslo;north;*\nOslo;south;*\nBergen;north;*\n", encoding="utf-8")
    return path


def test_check_tells_everything_at_once(wrong, people):
    ran = run("hierarchy", "check", wrong, "--data", people, "--column", "city")
    assert ran.exit == 2
    for words in (
        "cannot be used as it is",
        "1 leaf is listed with different",
        "2 values are missing",
        "1 of its 2",
    ):
        assert words in ran.out
    assert not any(value in ran.out + ran.err for value in SECRETS)


def test_check_json_holds_no_value(wrong, people):
    ran = run("hierarchy", "check", wrong, "--data", people, "--column", "city", "--json")
    assert ran.exit == 2
    facts = json.loads(ran.out)
    assert (facts["in_order"], facts["missing"], facts["missing_records"], facts["records"]) == (
        False,
        2,
        3,
        4,
    )
    assert (facts["contradicting"], facts["unused"], facts["leaves"]) == (1, 1, 2)
    assert not any(value in ran.out for value in SECRETS)


def test_offending_values_go_to_a_file(tmp_path, wrong, people):
    out = tmp_path / "offending.csv"
    words = ("hierarchy", "check", wrong, "--data", people, "--column", "city", "--offending", out)
    ran = run(*words)
    assert ran.exit == 2
    assert str(out) in ran.out
    with out.open(encoding="utf-8", newline="") as file:
        rows = [tuple(row) for row in csv.reader(file)]
    assert rows[0] == ("problem", "value")
    assert set(rows[1:]) == {
        ("missing", "Utopia"),
        ("missing", "Xanadu"),
        ("contradicting", "Oslo"),
        ("unused", "Bergen"),
    }
    assert not any(value in ran.out + ran.err for value in SECRETS)


def test_nothing_offending(tmp_path, cities):
    out = tmp_path / "offending.csv"
    assert run("hierarchy", "check", cities, "--offending", out).exit == 0
    assert out.read_text(encoding="utf-8").split() == ["problem,value"]


def test_what_check_refuses(tmp_path, cities, people):
    for words, hint in [
        ((cities, "--data", people), "--data and --column go together"),
        ((cities, "--data", tmp_path / "none.csv", "--column", "city"), "does not exist"),
        ((tmp_path / "none.csv",), "There is no hierarchy file"),
        ((cities, "--offending", tmp_path / "no" / "o.csv"), "does not exist"),
        ((cities, "--offending", tmp_path / "o.doc"), "unknown extension"),
        ((cities, "--offending", cities), "is a file that this run reads"),
        (
            (cities, "--data", people, "--column", "city", "--offending", people),
            "is a file that this run reads",
        ),
    ]:
        ran = run("hierarchy", "check", *words)
        assert ran.exit == 2
        assert hint in ran.err


@pytest.mark.parametrize("command", ["build", "show", "check"])
def test_help_has_an_example(command):
    assert f"Example: kohort hierarchy {command}" in run("hierarchy", command, "--help").out
