"""The dossier as a DOCX file, for those who comment and sign in a word processor."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kohort.files.checked import write_checked
from kohort.report.dossier.chapters import Chapter
from kohort.report.html import about_rows, page_title
from kohort.report.page import Figure, Section, Table
from kohort.report.terminal import number

__all__ = ["write_docx"]


def write_docx(facts: dict[str, Any], chapters: Sequence[Chapter], path: Path) -> None:
    """Write the chapters straight to `path`."""
    document = _document(facts)
    for place, chapter in enumerate(chapters, 1):
        document.add_paragraph(f"{place}  {chapter.heading}", style="List Paragraph")
    for place, chapter in enumerate(chapters, 1):
        _add_chapter(document, place, chapter)
    content = io.BytesIO()
    document.save(content)
    write_checked(path, content.getvalue())


def _document(facts: dict[str, Any]) -> Any:
    """An empty document with the title and what it is about."""
    import docx
    from docx.shared import Cm, Pt

    document = docx.Document()
    for section in document.sections:
        section.page_width, section.page_height = Cm(21.0), Cm(29.7)
        section.left_margin = section.right_margin = Cm(2.0)
        section.top_margin = section.bottom_margin = Cm(2.0)
    document.styles["Normal"].font.name, document.styles["Normal"].font.size = "Arial", Pt(10)
    document.core_properties.author = f"Kohort {facts['version']}"
    document.core_properties.title = page_title(facts)
    document.add_heading(page_title(facts), level=0)
    public = ", public version" if facts["report"] == "public" else ""
    document.add_paragraph(f"Dossier of an anonymized release{public}")
    if facts["report"] == "internal":
        warning = "Internal version: it shows values of the original data. Do not publish it."
        document.add_paragraph().add_run(warning).bold = True
    _add_table(document, Table(("about", ""), about_rows(facts)))
    document.add_heading("Contents", level=1)
    return document


def _add_chapter(document: Any, place: int, chapter: Chapter) -> None:
    document.add_heading(f"{place}  {chapter.heading}", level=1)
    document.add_paragraph(f"Where this is from: {chapter.source}.")
    if chapter.clauses:
        document.add_paragraph().add_run(f"May answer: {'; '.join(chapter.clauses)}").italic = True
    for part in chapter.parts:
        _add_part(document, part)


def _add_part(document: Any, part: Section) -> None:
    document.add_heading(part.heading, level=2)
    for sentence in part.sentences:
        document.add_paragraph(sentence)
    for point in part.points:
        document.add_paragraph(point, style="List Bullet")
    for figure in part.figures:
        _add_figure(document, figure)
    for table in part.tables:
        if table.folded:
            document.add_paragraph(table.folded)
        _add_table(document, table)
    for heading, text in part.code:
        document.add_paragraph().add_run(heading).bold = True
        document.add_paragraph().add_run(text).font.name = "Courier New"


def _add_figure(document: Any, figure: Figure) -> None:
    """A chart as a picture; word processors do not draw SVG everywhere."""
    import vl_convert
    from docx.shared import Cm

    document.add_paragraph().add_run(figure.heading).bold = True
    picture = vl_convert.svg_to_png(figure.svg.replace("currentColor", "#222222"), scale=2.5)
    document.add_picture(io.BytesIO(picture), width=Cm(14))
    document.add_paragraph(figure.sentence)


def _add_table(document: Any, content: Table) -> None:
    if not content.rows:
        return
    from docx.shared import Pt

    table = document.add_table(rows=1, cols=len(content.head), style="Light Grid Accent 1")
    rows = [list(content.head), *(list(row) for row in content.rows)]
    for _ in content.rows:
        table.add_row()
    for cells, row in zip(table.rows, rows):
        for cell, value in zip(cells.cells, row):
            cell.text = _text(value)
            for run in cell.paragraphs[0].runs:
                run.font.size = Pt(8.5)
    document.add_paragraph()


def _text(value: Any) -> str:
    if value is None:
        return "-"
    return number(value) if isinstance(value, (int, float)) else str(value)
