"""The form for intruders: written blank, read back, summarized; what is wrong in it is told by line."""

import csv

import pytest

from kohort.errors import InputError
from kohort.io.intruder_form import FIELDS, read_attempts, write_form


def filled(path, *rows):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(FIELDS))
        writer.writeheader()
        for number, row in enumerate(rows, 1):
            writer.writerow(dict.fromkeys(FIELDS, "") | {"attempt": number} | row)
    return path


TRIED = {"intruder": "AB", "hours": "1.5"}


def test_a_blank_form_has_no_attempts(tmp_path):
    write_form(tmp_path / "form.csv")
    facts = read_attempts(tmp_path / "form.csv")
    assert facts["looked_for"] == facts["suspected"] == facts["hours"] == 0
    assert (tmp_path / "form.csv").read_text().splitlines()[0].split(",") == list(FIELDS)


def test_attempts_are_summarized(tmp_path):
    path = filled(
        tmp_path / "f.csv",
        TRIED,
        TRIED | {"published_record": "17", "confidence": "60 %", "outcome": "Wrong"},
        TRIED
        | {"intruder": "CD", "hours": "2", "reference": "note 1", "confidence": "90", "outcome": "confirmed"},
        TRIED | {"published_record": "4"},
        {},
    )
    facts = read_attempts(path)
    assert facts["sentence"] == (
        "Human attempts: 4 people looked for by 2 intruders in 6.5 hours, 3 suspected, 1 confirmed, "
        "1 still open."
    )
    assert facts["wrong"] == 1 and facts["highest_confidence"] == 90


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"hours": "1"}, "'intruder' is blank"),
        ({"intruder": "A", "hours": "many"}, "line 2: 'hours' must be a number"),
        ({"intruder": "A", "hours": "-1"}, "'hours' must be a number"),
        (TRIED | {"confidence": "120"}, "'confidence' must be a number from 0 to 100"),
        (TRIED | {"outcome": "maybe"}, "'outcome' must be one of"),
        (TRIED | {"outcome": "confirmed"}, "'published_record' and 'reference' are blank"),
    ],
)
def test_what_is_wrong_is_told(tmp_path, row, message):
    with pytest.raises(InputError, match=message):
        read_attempts(filled(tmp_path / "f.csv", row))


def test_other_files_are_refused(tmp_path):
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    (tmp_path / "latin.csv").write_bytes("é".encode("latin-1"))
    for name, message in (("other.csv", "no column 'attempt'"), ("latin.csv", "UTF-8"), ("none.csv", "read")):
        with pytest.raises(InputError, match=message):
            read_attempts(tmp_path / name)
    with pytest.raises(InputError, match=r"\.csv or \.html"):
        write_form(tmp_path / "form.xlsx")


def test_the_page_to_print_names_every_column(tmp_path):
    write_form(tmp_path / "form.html")
    page = (tmp_path / "form.html").read_text()
    assert all(name.replace("_", " ") in page for name in FIELDS)
