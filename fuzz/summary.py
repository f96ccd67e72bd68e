"""How many cases ran and what came of them, as a table: on the terminal and in the documentation."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

__all__ = ["markdown_tables", "print_summary"]

PAGE = Path(__file__).parent.parent / "docs" / "fuzz.md"
BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"
TITLES = {
    "algorithm": "algorithm",
    "models": "models beside k-anonymity",
    "cost": "cost",
    "frame": "table or file",
    "labels": "labels",
    "nulls": "nulls",
    "withheld": "withheld records",
    "records": "records",
}


def print_summary(lines: list[dict[str, Any]]) -> int:
    """Print what came of a run; 1 if anything failed."""
    counts = total_counts(lines)
    for row in table_of(counts, "algorithm"):
        spent = counts[f"milliseconds={row[0]}"]
        row = (*row, f"{spent / max(int(row[1].replace(',', '')), 1):.0f} ms" if spent else "")
        print(" | ".join(f"{cell:>16}" if place else f"{cell:<20}" for place, cell in enumerate(row)))
    refusals = sorted((n, name) for name, n in counts.items() if name.startswith("refusal="))
    print("\n".join(f"{n:>8} {name[8:]}" for n, name in reversed(refusals)))
    kinds = Counter(line["kind"] for line in lines if "kind" in line)
    print(f"{counts['cases']:,} cases, {counts['failed']:,} failed")
    print("\n".join(f"{n:>8} {kind}" for kind, n in kinds.most_common()))
    return int(counts["failed"] > 0)


def total_counts(lines: list[dict[str, Any]]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in lines:
        counts.update(line.get("counts", {}))
    return counts


def table_of(counts: Counter[str], key: str) -> list[tuple[str, ...]]:
    """A row per value: cases, releases, refusals, failures."""
    values = sorted({name.split("=")[1].split("|")[0] for name in counts if name.startswith(f"{key}=")})
    rows = [(TITLES[key], "cases", "released", "refused", "failed")]
    for value in values:
        found = [counts[f"{key}={value}|{result}"] for result in ("released", "refused", "failed")]
        rows.append((value, *(f"{number:,}" for number in (sum(found), *found))))
    return rows


def markdown_tables(lines: list[dict[str, Any]]) -> str:
    """The tables of the documentation."""
    counts = total_counts(lines)
    runs = [line for line in lines if "counts" in line]
    hours = sum(line["seconds"] for line in runs) / 3600
    by_mode = Counter()
    for line in runs:
        by_mode[line["mode"]] += line["counts"].get("cases", 0)
    seeds = sorted({line["seed"] for line in runs})
    parts = [
        f"{counts['cases']:,} cases in {hours:.1f} hours of processes: {counts['released']:,} releases, "
        f"{counts['refused']:,} refusals, {counts['failed']:,} failures. {by_mode['long']:,} cases ran in "
        f"long-lived processes, {by_mode['fresh']:,} in short ones. Seeds: {', '.join(map(str, seeds))}."
    ]
    for key in TITLES:
        head, *rows = table_of(counts, key)
        lines_of = [_row(head), _row(("---",) + ("---:",) * (len(head) - 1)), *map(_row, rows)]
        parts.append("\n".join(lines_of))
    return "\n\n".join(parts) + "\n"


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Write the tables of some results into the page that tells of them."""
    lines = [json.loads(text) for path in sys.argv[1:] for text in Path(path).read_text().splitlines()]
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{markdown_tables(lines)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
