"""The dossier as one document: HTML or PDF, by the ending of its file."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.report.asked import check_page
from kohort.report.dossier.chapters import (
    Chapter,
    context_chapter,
    data_chapter,
    governance_chapter,
    method_chapter,
    review_chapter,
    sources_chapter,
    summary_chapter,
)
from kohort.report.dossier.closing_chapters import reproduce_chapter, utility_chapter
from kohort.report.dossier.facts import dossier_facts
from kohort.report.dossier.risk_chapters import (
    knowledge_chapter,
    risk_chapter,
    tests_chapter,
    threats_chapter,
)
from kohort.report.html import about_rows, page_templates, page_title, write_page

if TYPE_CHECKING:
    from jinja2 import Template

    from kohort.release.release import Release


def write_dossier(release: Release, path: str | Path, **options: Any) -> dict[str, Any]:
    """Write the dossier of a release straight to `path`; returns its facts. Options are `dossier_facts`'s."""
    check_page(path, "dossier")
    facts = dossier_facts(release, **options)
    write_page(dossier_page(facts), Path(path))
    return facts


def chapters(facts: dict[str, Any]) -> list[Chapter]:
    """The chapters in their order; those that have nothing to say are left out."""
    found = [
        summary_chapter(facts),
        context_chapter(facts),
        data_chapter(facts),
        threats_chapter(facts),
        method_chapter(facts),
        risk_chapter(facts),
        knowledge_chapter(facts),
        tests_chapter(facts),
        utility_chapter(facts),
        governance_chapter(facts),
        review_chapter(facts),
        reproduce_chapter(facts),
    ]
    kept = [chapter for chapter in found if chapter is not None]
    return [*kept, sources_chapter(facts, kept)]


def dossier_page(facts: dict[str, Any]) -> str:
    """The dossier as an HTML page: it has no script and fetches nothing."""
    return _template().render(
        facts=facts, title=page_title(facts), about=about_rows(facts), chapters=chapters(facts)
    )


@cache
def _template() -> Template:
    return page_templates().get_template("dossier.html")
