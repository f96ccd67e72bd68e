"""A proof file, checked by somebody else: what is honest is accepted, whatever is wrong is refused."""

import csv
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import kohort as ko
from kohort.errors import UnsupportedError
from kohort_check import UNIT, Cut, Refused, Tree
from kohort_check.__main__ import check, main
from kohort_check.file import ProofFile
from kohort_check.release import Kept

TREE = [(leaf, "ab" if leaf in "ab" else "cde", "*") for leaf in "abcde"]
MODELS = {
    "k": [],
    "frequency": [ko.LDiversity("illness", 2)],
    "distinct": [ko.LDiversity("illness", 3, kind="distinct")],
    "entropy": [ko.LDiversity("illness", 2.5, kind="entropy")],
    "alpha": [ko.AlphaDeassociation("illness", 0.45, values=["p"])],
    "t": [ko.TCloseness("illness", 0.3)],
    "withheld": [],
}


def made(folder, name):
    """The files of a release: its proof, the original, and what is published."""
    rng = np.random.default_rng(5)
    columns = {x: rng.choice(list("aabbbcde"), 200).tolist() for x in ("x", "y", "z")}
    columns["illness"] = np.where(rng.random(200) < 0.4, "p", rng.choice(list("qrst"), 200)).tolist()
    with (folder / "original.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*columns], *zip(*columns.values())])
    release = ko.anonymize(
        folder / "original.csv",
        quasi_identifiers=dict.fromkeys("xyz", ko.Hierarchy.from_paths(TREE)),
        sensitive=["illness"],
        privacy=[ko.KAnonymity(4), *MODELS[name]],
        suppression=0.03 if name == "withheld" else 0,
        algorithm="improve",
    )
    release.write(folder / "release.csv", proof=folder / "p.proof")
    return release


@pytest.fixture(scope="module", params=MODELS)
def files(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("proof")
    return made(folder, request.param), folder


def test_an_honest_proof_is_accepted(files, capsys):
    release, folder = files
    paths = [folder / name for name in ("p.proof", "original.csv", "release.csv")]
    assert main([str(path) for path in paths]) == 0
    assert (
        f"is {release.cost:.9g}; no release has less than {release.bound:.8g}"[:40] in capsys.readouterr().out
    )
    assert (folder / "p.proof").stat().st_mode & 0o077 == 0


def first(array, value):
    changed = array.copy()
    changed[0] = value
    return changed


def cut(found, **changes):
    cuts = [*found.prices.cuts, Cut(np.zeros((1, 3), np.int64), 1, UNIT)]
    return prices(found, cuts=[*cuts[:-1], cuts[-1]._replace(**changes)])


def prices(found, **changes):
    return replace(found, prices=replace(found.prices, **changes))


def claim(found, **changes):
    return replace(found, claim=replace(found.claim, **changes))


def kept(found, kind):
    return replace(found, promises=[*found.promises, Kept(kind, Fraction(9), "illness")])


def column(found, **changes):
    return claim(found, columns=[replace(found.claim.columns[0], **changes), *found.claim.columns[1:]])


FAULTS = {
    "a price is higher": lambda f: prices(f, price=first(f.prices.price, UNIT)),
    "all prices are higher": lambda f: prices(f, price=f.prices.price + UNIT // 50),
    "a price is lost": lambda f: prices(f, price=f.prices.price[1:]),
    "there is a price too many": lambda f: prices(f, price=np.append(f.prices.price, 0)),
    "prices are those of other records": lambda f: prices(f, price=np.roll(f.prices.price, 7)),
    "a price is too large to count": lambda f: prices(f, price=first(f.prices.price, 2**61)),
    "a cut of everything": cut,
    "a cut with a negative price": lambda f: cut(f, price=-1),
    "a cut that allows no class": lambda f: cut(f, most=0),
    "a cut with a member that is no node": lambda f: cut(f, members=np.full((1, 3), 99)),
    "a cut with members of fewer columns": lambda f: cut(f, members=np.zeros((1, 2), np.int64)),
    "a column is settled twice": lambda f: prices(f, order=(0, 1, 1)),
    "a column is not settled": lambda f: prices(f, order=(0, 1)),
    "a larger k": lambda f: claim(f, k=f.claim.k + 3),
    "k is 0": lambda f: claim(f, k=0),
    "another cost": lambda f: claim(f, cost="ncp2"),
    "fewer withheld than none": lambda f: claim(f, withheld=-1),
    "a column is lost": lambda f: claim(f, columns=f.claim.columns[1:]),
    "a column that is not there": lambda f: column(f, name="w"),
    "a negative weight": lambda f: column(f, weight=Fraction(-1)),
    "no weights": lambda f: claim(f, columns=[replace(c, weight=Fraction(0)) for c in f.claim.columns]),
    "labels exchanged": lambda f: column(f, labels=f.claim.columns[0].labels[::-1]),
    "a leaf is called otherwise": lambda f: column(f, labels=[*f.claim.columns[0].labels[:-1], "w"]),
    "a value that is always withheld": lambda f: column(
        f, tree=Tree(f.claim.columns[0].tree.parent, np.arange(len(f.claim.columns[0].labels)) >= 3)
    ),
    "a stricter promise": lambda f: kept(f, "distinct"),
    "a promise of no kind": lambda f: kept(f, "none"),
    "records are published as others": lambda f: replace(f, published=np.roll(f.published, 1)),
    "a record is published twice": lambda f: replace(f, published=first(f.published, f.published[1])),
    "a record that is none": lambda f: replace(f, published=first(f.published, 10**6)),
    "records are lost": lambda f: replace(f, published=f.published[:-9]),
}  # fmt: skip


@pytest.mark.parametrize("what", FAULTS)
def test_whatever_is_wrong_is_refused(files, what, tmp_path):
    _, folder = files
    wrong = tmp_path / "wrong.proof"
    try:
        FAULTS[what](ProofFile.read(folder / "p.proof")).write(wrong)
    except (Refused, ValueError):
        return
    with pytest.raises(Refused):
        check(wrong, folder / "original.csv", folder / "release.csv")


def text_with(change):
    def altered(folder, tmp_path, name):
        lines = (folder / name).read_text().splitlines()
        change(lines)
        (tmp_path / name).write_text("\n".join(lines) + "\n")

    return altered


def swap(lines):
    """Exchange the first record with one of other values."""
    other = next(n for n in range(2, len(lines)) if lines[n].split(",")[0] != lines[1].split(",")[0])
    lines[1], lines[other] = lines[other], lines[1]


def swap_sensitive(lines):
    cells = [line.split(",") for line in lines]
    other = next(n for n in range(2, len(cells)) if cells[n][-1] != cells[1][-1])
    cells[1][-1], cells[other][-1] = cells[other][-1], cells[1][-1]
    lines[:] = map(",".join, cells)


TABLES = {
    "another original": ("original.csv", lambda lines: lines.reverse() or lines.insert(0, lines.pop())),
    "a record of the original is lost": ("original.csv", lambda lines: lines.pop()),
    "records of the original exchanged": ("original.csv", swap),
    "a record of the release is lost": ("release.csv", lambda lines: lines.pop()),
    "records of the release exchanged": ("release.csv", swap),
    "sensitive values exchanged": ("release.csv", swap_sensitive),
    "a label that is none": ("release.csv", lambda lines: lines.append(lines.pop().replace(",", "?,", 1))),
    "a column without a name": ("release.csv", lambda lines: lines.append(lines.pop() + ",x")),
}


@pytest.mark.parametrize("what", TABLES)
def test_other_tables_are_refused(files, what, tmp_path):
    release, folder = files
    if what == "sensitive values exchanged" and len(release.problem.models) == 1:
        return
    name, change = TABLES[what]
    for each in ("original.csv", "release.csv"):
        (tmp_path / each).write_text((folder / each).read_text())
    text_with(change)(folder, tmp_path, name)
    with pytest.raises(Refused):
        check(folder / "p.proof", tmp_path / "original.csv", tmp_path / "release.csv")


def test_a_file_that_is_no_proof_is_refused(tmp_path, capsys):
    (tmp_path / "p.proof").write_bytes(b"PK not a proof")
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert main([str(tmp_path / "p.proof"), str(tmp_path / "t.csv"), str(tmp_path / "t.csv")]) == 1
    assert "Not proven" in capsys.readouterr().err
    assert main([]) == 2


def test_without_a_proof_there_is_no_file(tmp_path):
    release = ko.anonymize(
        pa.table({"x": list("aabbccdd")}),
        quasi_identifiers=["x"],
        privacy=[ko.KAnonymity(2)],
        algorithm="mondrian",
    )
    with pytest.raises(UnsupportedError, match="no proof to write"):
        release.write(tmp_path / "r.csv", proof=tmp_path / "p.proof")
    assert not list(tmp_path.iterdir())
