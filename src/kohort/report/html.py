"""The report: one self-contained page: is a release safe, what did it cost, what is to be done next."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.errors import InputError
from kohort.files.checked import write_checked
from kohort.report.facts import report_facts
from kohort.report.public import public_certificate
from kohort.report.sections import sections
from kohort.report.signal import advice_of, signal_of, spec_to_add
from kohort.report.story import number
from kohort.report.words import percent, verdict_words, withheld_words

if TYPE_CHECKING:
    from jinja2 import Environment

    from kohort.pipeline.release import VerifiedRelease

__all__ = ["check_report_path", "notebook_page", "report_page", "write_report"]

_SHARE = re.compile(r"(under |almost )?[0-9.,]+ %")


def write_report(release: VerifiedRelease, path: str | Path, **options: Any) -> None:
    """Write the report as HTML or, by its ending, as PDF. Options are those of `report_facts`."""
    check_report_path(path)
    page = report_page(report_facts(release, **options))
    if Path(path).suffix.lower() == ".pdf":
        from kohort.report.pdf import write_pdf

        write_pdf(page, Path(path))
    else:
        write_checked(path, page)


def check_report_path(path: str | Path) -> None:
    """Refuse an ending that no report has, and PDF where it cannot be made: best asked before long work."""
    suffix = Path(path).suffix.lower()
    if suffix not in (".html", ".htm", ".pdf"):
        raise InputError(f"A report ends in .html or .pdf. Got {Path(path).name!r}.")
    if suffix == ".pdf":
        from kohort.report.pdf import require_weasyprint

        require_weasyprint()


def report_page(facts: dict[str, Any]) -> str:
    """The page as text: no script, nothing fetched."""
    template = _templates().get_template("report.html")
    return template.render(
        facts=facts,
        signal=signal_of(facts),
        verdict=verdict_words(facts),
        advice=advice_of(facts),
        add=spec_to_add(facts),
        figures=_big_figures(facts),
        sections=sections(facts),
    )


def notebook_page(release: VerifiedRelease) -> str:
    """The verdict and the big figures, for a notebook. It shows no value: notebooks are passed on."""
    facts = public_certificate(release.facts())
    template = _templates().get_template("notebook.html")
    return template.render(
        facts=facts,
        signal=signal_of(facts),
        verdict=verdict_words(facts),
        figures=_big_figures(facts),
    )


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("kohort.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["number"] = number
    found.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    found.tests["figure_like"] = _figure_like
    return found


def _figure_like(value: Any) -> bool:
    """Whether a cell is set to the right: a number, or a share."""
    return isinstance(value, (int, float)) or bool(_SHARE.fullmatch(str(value)))


def _big_figures(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """What is asked first: name, figure, what it means, and the fact that it is."""
    found = [*_promised(facts), _loss(facts), _gap(facts)]
    if facts["quasi_identifiers"]:
        found.append(
            {
                "name": "records withheld",
                "fact": "suppressed",
                "value": facts["suppressed"],
                "text": withheld_words(facts),
                "note": f"of {facts['records']:,}",
            }
        )
    return found


def _promised(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """k asked and measured, of classes or of baskets."""
    name = "k-anonymity" if facts["quasi_identifiers"] else "km-anonymity"
    place, model = next(((i, m) for i, m in enumerate(facts["models"]) if m["model"] == name), (0, None))
    if model is None:
        return [
            {
                "name": "smallest class",
                "fact": "smallest_class",
                "value": facts["smallest_class"],
                "text": number(facts["smallest_class"]),
                "note": f"records, in {facts['classes']:,} classes",
            }
        ]
    kept = "k was kept" if model["holds"] else "k was not kept"
    return [
        {
            "name": "k asked",
            "fact": f"models.{place}.asked",
            "value": model["asked"],
            "text": number(model["asked"]),
            "note": "records alike, at least",
        },
        {
            "name": "k measured",
            "fact": f"models.{place}.measured",
            "value": model["measured"],
            "text": number(model["measured"]),
            "note": kept,
        },
    ]


def _loss(facts: dict[str, Any]) -> dict[str, Any]:
    value = facts["loss"][facts["cost"]]
    ranged = facts["cost"] in ("loss", "ncp", "tree", "distortion", "suppressions")
    return {
        "name": facts["cost"],
        "fact": f"loss.{facts['cost']}",
        "value": value,
        "text": number(value),
        "note": "0 nothing lost, 1 everything" if ranged else "less is better",
    }


def _gap(facts: dict[str, Any]) -> dict[str, Any]:
    gap = facts["gap"]
    return {
        "name": "proven gap",
        "fact": "gap",
        "value": gap,
        "text": "unknown" if gap is None else percent(gap),
        "note": _gap_note(gap),
    }


def _gap_note(gap: float | None) -> str:
    if gap is None:
        return "no lower bound is known"
    return "nothing better is possible" if gap == 0 else "at most above the best possible"
