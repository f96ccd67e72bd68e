"""The report, one self-contained page: is a release safe, what did it cost, what to do next."""

from __future__ import annotations

import json
import logging
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.errors import counted
from kohort.extras import missing_package
from kohort.files.checked import write_checked
from kohort.report.asked import check_page
from kohort.report.facts import report_facts
from kohort.report.public_facts import public_certificate
from kohort.report.sections import sections
from kohort.report.sentences import (
    advice_of,
    number,
    percent,
    spec_to_add,
    traffic_light_of,
    verdict_sentences,
    withheld_text,
)

if TYPE_CHECKING:
    from jinja2 import Environment

    from kohort.release.release import Release

_MORE = (
    ". It also needs Pango, which Linux desktops have (see the installation page of WeasyPrint). "
    "You can also write HTML and print it from a browser: its layout is made for paper as well."
)
_SHARE = re.compile(r"(under |almost )?[0-9.,]+ %")


def write_report(release: Release, path: str | Path, **options: Any) -> None:
    """Write the report as HTML or, by its ending, as PDF. Options are those of `report_facts`."""
    check_page(path, "report")
    write_page(report_page(report_facts(release, **options)), Path(path))


def write_page(page: str, path: Path) -> None:
    """Write a page as HTML or, by its ending, as PDF. Nothing is fetched: the page needs nothing."""
    if path.suffix.lower() == ".pdf":
        weasyprint = require_weasyprint()
        write_checked(path, weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf())
    else:
        write_checked(path, page)


def require_weasyprint() -> Any:
    """The WeasyPrint package; raises MissingPackageError with instructions if it is not installed."""
    try:
        import weasyprint
    except (ImportError, OSError):  # OSError: Pango, a system library that it stands on, is missing
        raise missing_package("A report as PDF needs", "pdf", more=_MORE) from None
    logging.getLogger("weasyprint").setLevel(logging.ERROR)  # it warns of CSS for screens, which it skips
    return weasyprint


def _refuse(url: str, *_: Any, **__: Any) -> Any:
    raise ValueError(f"A report fetches nothing, not even {url}.")


def report_page(facts: dict[str, Any]) -> str:
    """The HTML page as text: it has no script and fetches nothing."""
    template = page_templates().get_template("report.html")
    return template.render(
        facts=facts,
        title=page_title(facts),
        about=about_rows(facts),
        light=traffic_light_of(facts),
        verdict=verdict_sentences(facts),
        advice=advice_of(facts),
        add=spec_to_add(facts),
        figures=big_figures(facts),
        sections=sections(facts),
    )


def page_title(facts: dict[str, Any]) -> str:
    """The title of the page: the name of the data set, else of a file."""
    about = facts["about"]
    return facts["title"] or about["original"] or about["release"] or "Release of a table"


def about_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """What stands under the title: which data this is about, when and how it was made, and who owns it."""
    about = facts["about"]
    files = [("Original", about["original"]), ("Release", about["release"])]
    return [
        *((name, file) for name, file in files if file is not None),
        ("Records", f"{facts['records']:,}"),
        ("Date", about["date"]),
        ("Made with", f"Kohort {facts['version']}"),
        ("Owner", facts["owner"] or "not named"),
    ]


def notebook_page(release: Release) -> str:
    """The verdict and the big figures, for a notebook. It shows no value: notebooks are passed on."""
    facts = public_certificate(release.facts())
    template = page_templates().get_template("notebook.html")
    return template.render(
        facts=facts,
        light=traffic_light_of(facts),
        verdict=verdict_sentences(facts),
        figures=big_figures(facts),
    )


@cache
def page_templates() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("kohort.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"number": number, "percent": percent}
    found.filters["unbroken"] = lambda text: text.replace(" %", "\u00a0%")
    found.filters["json"] = lambda value: json.dumps(value, ensure_ascii=False)
    found.tests["figure_like"] = lambda value: (  # a number, or a share: set to the right
        isinstance(value, (int, float)) or bool(_SHARE.fullmatch(str(value)))
    )
    return found


def _figure(name: str, fact: str, value: Any, text: str, note: str) -> dict[str, Any]:
    """A big figure: its name, the path of its fact, its value, the value as text, what it means."""
    return {"name": name, "fact": fact, "value": value, "text": text, "note": note}


def big_figures(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The figures that people ask for first."""
    cost, loss = facts["cost"], facts["loss"].get(facts["cost"])
    ranged = cost in ("loss", "ncp", "tree", "distortion", "suppressions")
    note = "0: nothing is lost, 1: everything" if ranged else "less is better"
    found = [*_promised(facts), _figure(cost, f"loss.{cost}", loss, number(loss), note), _gap(facts)]
    if facts["quasi_identifiers"]:
        of, withheld = f"of {facts['records']:,}", facts["suppressed"]
        found.append(_figure("records withheld", "suppressed", withheld, withheld_text(facts), of))
    return found


def _promised(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The figure of k, asked and measured, for classes or baskets; without k, of the smallest class."""
    name = "k-anonymity" if facts["quasi_identifiers"] else "km-anonymity"
    place, model = next(((i, m) for i, m in enumerate(facts["models"]) if m["model"] == name), (0, None))
    if model is None:
        size = facts["smallest_class"]
        note = f"records; {counted(facts['classes'], 'class', 'classes')} in all"
        return [_figure("smallest class", "smallest_class", size, number(size), note)]
    asked, measured = model["asked"], model["measured"]
    kept = "the promise holds" if model["holds"] else "the promise does not hold"
    return [
        _figure("k asked", f"models.{place}.asked", asked, number(asked), "records that must look alike"),
        _figure("k measured", f"models.{place}.measured", measured, number(measured), kept),
    ]


def _gap(facts: dict[str, Any]) -> dict[str, Any]:
    """The gap that was checked; else the one that rests on a solver's word."""
    name, word = ("gap", "checked") if facts["gap"] is not None else ("solver_gap", "a solver's word")
    gap = facts[name]
    if gap is None:
        return _figure("gap", "gap", gap, "unknown", "no lower bound is known")
    note = "nothing better is possible" if gap == 0 else "more than the best possible, at most"
    return _figure("gap", name, gap, percent(gap), f"{note} ({word})")
