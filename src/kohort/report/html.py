"""The report: one self-contained page that tells whether a release is safe and what it cost."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from kohort.report.story import number, release_sentences

__all__ = ["write_report"]

_STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #1a7f37; --bad: #b3261e; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.verdict { border-left: .5rem solid var(--good); padding: .5rem 1rem; } .broken { border-color: var(--bad); }
.figures { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 1rem 0; }
.figures div b { display: block; font-size: 1.8rem; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid var(--line); }
td.n { text-align: right; font-variant-numeric: tabular-nums; } code { overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; } }
"""


def write_report(facts: dict[str, Any], path: str | Path) -> None:
    """Write the facts of a release as a page. It holds no cell of the data."""
    Path(path).write_text(report_page(facts), encoding="utf-8")


def report_page(facts: dict[str, Any]) -> str:
    """The page as text."""
    title = "Safe to publish as promised" if facts["holds"] else "The promise does not hold"
    sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in release_sentences(facts))
    notes = "".join(f"<li>{escape(note)}</li>" for note in facts["notes"])
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>"
        f"<h1>{escape(title)}</h1><div class='verdict{'' if facts['holds'] else ' broken'}'>{sentences}</div>"
        f"{_figures(facts)}"
        f"<h2>Promises</h2>{_models(facts)}"
        f"<h2>Information loss</h2>{_table(('measure', 'value'), facts['loss'].items())}"
        f"<h2>Checks against the original</h2>{_checks(facts)}"
        + (f"<h2>Notes</h2><ul>{notes}</ul>" if notes else "")
        + f"<h2>How it was made</h2>{_making(facts)}</body></html>\n"
    )


def _figures(facts: dict[str, Any]) -> str:
    figures = [
        ("records", facts["records"]),
        ("classes", facts["classes"]),
        ("smallest class", facts["smallest_class"]),
        ("withheld", facts["suppressed"]),
        (facts["cost"], facts["loss"][facts["cost"]]),
    ]
    boxes = "".join(f"<div><b>{number(value)}</b>{escape(name)}</div>" for name, value in figures)
    return f"<div class='figures'>{boxes}</div>"


def _models(facts: dict[str, Any]) -> str:
    rows = [(m["promise"], m["asked"], m["measured"], "yes" if m["holds"] else "NO") for m in facts["models"]]
    return _table(("promise", "asked", "measured", "holds"), rows)


def _checks(facts: dict[str, Any]) -> str:
    words = {True: "yes", False: "NO", None: "not checked"}
    return _table(("check", "holds"), [(c["detail"], words[c["holds"]]) for c in facts["checks"]])


def _making(facts: dict[str, Any]) -> str:
    rows = [
        ("algorithm", facts["algorithm"]),
        (
            "parameters",
            ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items()) or "none",
        ),
        ("labels", facts["labels"]),
        ("quasi-identifiers", ", ".join(facts["quasi_identifiers"])),
        ("seed", str(facts["seed"])),
        ("seconds", ", ".join(f"{phase} {value:.2f}" for phase, value in facts["seconds"].items())),
        ("version", facts["version"]),
        ("SHA-256 of the input", facts["sha256"]["input"] or "-"),
        ("SHA-256 of the release", facts["sha256"]["output"] or "-"),
    ]
    return _table(("what", "value"), rows)


def _table(head: tuple[str, ...], rows: Any) -> str:
    top = "".join(f"<th>{escape(name)}</th>" for name in head)
    body = "".join(f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows)
    return f"<div class='scroll'><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(value: Any) -> str:
    if isinstance(value, (int, float)):
        return f"<td class='n'>{number(value)}</td>"
    return f"<td>{'-' if value is None else escape(str(value))}</td>"
