"""The form for human attempts to find people: written blank, as CSV or to print, and read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

from kohort.errors import InputError, counted, did_you_mean
from kohort.files.checked import write_checked
from kohort.io.source_file import bytes_of

FIELDS = {
    "attempt": "the number of the attempt",
    "intruder": "who tried: a name or initials",
    "date": "when, such as 2027-03-01",
    "hours": "hours spent, such as 1.5",
    "sources": "what was used: social media, registers, newspapers, own knowledge",
    "published_record": "the line of the release that was suspected; blank: none",
    "confidence": "how sure the intruder is, from 0 to 100 percent",
    "reference": "the name of a sealed note with the person suspected; never the name itself",
    "outcome": "filled in by the steward: confirmed, wrong, open, or none",
}
"""The columns of the form, and what goes into each."""
OUTCOMES = ("confirmed", "wrong", "open", "none")
_ROWS = 20


def check_form_path(path: Path) -> None:
    """Refuse an ending that no form has."""
    if path.suffix.lower() not in (".csv", ".html", ".htm"):
        raise InputError(f"The form for intruders ends in .csv or .html. Got {path.name!r}.")


def write_form(path: Path) -> None:
    """Write a blank form straight to `path`: CSV to fill in and read back, or HTML to print."""
    check_form_path(path)
    numbers = range(1, _ROWS + 1)
    if path.suffix.lower() == ".csv":
        rows = [f"{number}{',' * (len(FIELDS) - 1)}" for number in numbers]
        write_checked(path, "\n".join([",".join(FIELDS), *rows, ""]))
        return
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in FIELDS)
    body = "".join(f"<tr><td>{number}</td>{'<td></td>' * (len(FIELDS) - 1)}</tr>" for number in numbers)
    notes = "".join(
        f"<li><b>{escape(name.replace('_', ' '))}</b>: {escape(what)}</li>" for name, what in FIELDS.items()
    )
    write_checked(path, _PAGE.format(style=_STYLE, notes=notes, head=head, body=body))


_STYLE = (
    "body{font:14px/1.4 Arial,sans-serif;margin:2em}table{border-collapse:collapse;width:100%}"
    "th,td{border:1px solid #888;padding:6px;text-align:left;height:1.6em;font-size:12px}"
    "@page{size:A4 landscape;margin:12mm}"
)
_PAGE = (
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Intruder test: attempts</title>'
    "<style>{style}</style></head><body><h1>Intruder test: attempts</h1>"
    "<p>Each line is one attempt to find a person in the release. Do not write down names or values of "
    "people: seal them in a note and give its reference.</p><ul>{notes}</ul>"
    "<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></body></html>\n"
)


def read_attempts(path: Path) -> dict[str, Any]:
    """Read a form back and summarize it: attempts, hours, suspicions, and what came of them."""
    content = bytes_of(path, "The form")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"The form {str(path)!r} is not UTF-8 text. Save it as CSV in UTF-8.") from None
    rows = list(csv.DictReader(io.StringIO(text), restkey="", restval=""))
    found = rows[0].keys() if rows else next(csv.reader(io.StringIO(text)), [])
    for name in FIELDS:
        if name not in found:
            hint = did_you_mean(name, [other for other in found if other])
            raise InputError(f"The form {path.name!r} has no column {name!r}. {hint}")
    noted = FIELDS.keys() - {"attempt"}
    lines = [pair for pair in enumerate(rows, 2) if any((pair[1][name] or "").strip() for name in noted)]
    return _summary([_Attempt(line, row, path.name) for line, row in lines])


class _Attempt:
    def __init__(self, line: int, row: Mapping[str, str], name: str) -> None:
        self._where = f"{name}, line {line}"
        self.intruder = row["intruder"].strip()
        self.hours = self._number(row["hours"], "hours", 10_000.0)
        confidence = row["confidence"].strip().removesuffix("%")
        self.confidence = self._number(confidence, "confidence", 100.0) if confidence else None
        self.suspected = bool(row["published_record"].strip() or row["reference"].strip())
        self.outcome = row["outcome"].strip().lower() or ("open" if self.suspected else "none")
        if self.outcome not in OUTCOMES:
            raise InputError(f"{self._where}: 'outcome' must be one of {', '.join(OUTCOMES)}.")
        if not self.intruder:
            raise InputError(f"{self._where}: 'intruder' is blank. Say who tried, by name or initials.")
        if self.outcome == "confirmed" and not self.suspected:
            raise InputError(
                f"{self._where}: an attempt is confirmed, but 'published_record' and 'reference' are blank."
            )

    def _number(self, text: str, field: str, most: float) -> float:
        try:
            number = float(text.strip() or "nan")
        except ValueError:
            number = float("nan")
        if not 0 <= number <= most:
            raise InputError(f"{self._where}: {field!r} must be a number from 0 to {most:,.0f}.")
        return number


def _summary(attempts: list[_Attempt]) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "looked_for": len(attempts),
        "intruders": len({attempt.intruder.lower() for attempt in attempts}),
        "hours": round(sum(attempt.hours for attempt in attempts), 2),
        "suspected": sum(attempt.suspected for attempt in attempts),
        "highest_confidence": max((a.confidence for a in attempts if a.confidence is not None), default=None),
        **{outcome: sum(a.outcome == outcome and a.suspected for a in attempts) for outcome in OUTCOMES[:3]},
    }
    looked = counted(facts["looked_for"], "person", "people")
    facts["sentence"] = (
        f"Human attempts: {looked} looked for by {counted(facts['intruders'], 'intruder')} in "
        f"{facts['hours']:g} hours, {facts['suspected']:,} suspected, {facts['confirmed']:,} confirmed"
        + (f", {facts['open']:,} still open." if facts["open"] else ".")
    )
    return facts
