"""Run a golden case as the command line would, with nothing drawn at random; what came out, as text."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import json
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl
import yaml

from cli.running import run
from goldens.cases import Case, patients
from reading_in_batches import no_table_is_small

__all__ = ["outcome"]

KEY = "the key of all goldens"
CHANGING = ("version", "seconds")  # facts that differ from run to run, or with the version
DATABASES = ("sqlite", "duckdb")
EVENTS = ("person", "ward", "ill")


def outcome(case: Case, folder: Path) -> str:
    """Exit codes, releases and certificates of a case, as one text."""
    told = []
    with patch.object(random, "_urandom", _same_bytes()):
        for number, year in enumerate(case.tables):
            told += _one(case, folder, number, patients(year))
    return "\n".join(told) + "\n"


def _same_bytes() -> Any:
    """A source of 'random' bytes: keys are always the same, short ones (names of drafts) all differ."""
    count = itertools.count()

    def draw(size: int) -> bytes:
        start = b"key" if size >= 16 else f"{next(count)}".encode()
        return hashlib.shake_128(start).digest(size)

    return draw


def _one(case: Case, folder: Path, number: int, rows: list[dict]) -> Iterator[str]:
    data, spec, out = folder / f"data.{case.data}", folder / "spec.yaml", folder / f"out{number}.{case.out}"
    certificate, events = folder / f"certificate{number}.json", folder / "events.csv"
    _write(case, rows, data, events)
    columns = {"attributes": dict(case.attributes), "others": "drop"} if case.attributes else {}
    known = {"algorithm": "mondrian"} if case.attributes else {}
    spec.write_text(yaml.safe_dump({**columns, **known, **case.spec}, sort_keys=False), encoding="utf-8")
    (folder / "key").write_text(KEY, encoding="utf-8")
    everybody = [*patients(), *({**row, "name": row["name"] + "b"} for row in patients())]
    (folder / "population.csv").write_text(_as_csv(everybody), encoding="utf-8")
    words = ["--certificate-version", "internal", "--key-file", folder / "key"]
    into = [out]
    if case.out in DATABASES:
        into = [f"{case.out}:///{out}", "--out-table", "people"]
    if case.events:
        words += ["--events", events, "--events-out", folder / "out_events.csv"]
    if len(case.tables) > 1:
        words += ["--ledger", folder / "ledger.json"]
    with no_table_is_small() if case.in_batches else nullcontext():
        ran = run(
            "anonymize", data, "--spec", spec, "--out", *into, "--certificate", certificate, "-q", *words
        )
    yield f"exit {ran.exit}"
    if ran.exit:
        yield ran.err.replace(str(folder), "FOLDER").strip()
        return
    yield _shown(case, out)
    if case.events:
        yield (folder / "out_events.csv").read_text(encoding="utf-8").strip()
    facts = json.loads(certificate.read_text(encoding="utf-8"))
    told = {key: _rounded(value) for key, value in facts.items() if key not in CHANGING}
    for key, value in told.items():
        yield f"{key}: {json.dumps(value, ensure_ascii=False)}".replace(str(folder), "FOLDER")


def _write(case: Case, rows: list[dict], data: Path, events: Path) -> None:
    if case.baskets:
        data.write_text("".join(f"{row['items']}\n" for row in rows if row["items"]), encoding="utf-8")
        return
    if case.events:
        events.write_text(_as_csv([{name: row[name] for name in EVENTS} for row in rows]), encoding="utf-8")
        rows = [
            {"person": row["person"], **{name: row[name] for name in case.attributes}} for row in rows[:20]
        ]
    if case.data in ("csv", "tsv"):
        data.write_text(_as_csv(rows, "\t" if case.data == "tsv" else ","), encoding="utf-8")
        return
    table = pl.DataFrame(rows)
    write = {
        "parquet": table.write_parquet,
        "arrow": lambda path: table.write_ipc(str(path)),
        "jsonl": table.write_ndjson,
        "xlsx": table.write_excel,
    }
    write[case.data](data)


def _as_csv(rows: list[dict], delimiter: str = ",") -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), delimiter=delimiter, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _shown(case: Case, out: Path) -> str:
    """The release: the text itself, or the records of a format whose bytes depend on a library."""
    if case.out in ("csv", "txt", "jsonl"):
        return out.read_text(encoding="utf-8").strip()
    table = _READ[case.out](out)
    return "\n".join([str(table.schema), *map(str, table.rows())])


def _from_database(driver: Callable[[Path], Any]) -> Callable[[Path], pl.DataFrame]:
    def read(path: Path) -> pl.DataFrame:
        with closing(driver(path)) as connection:
            return pl.read_database("select * from people", connection)

    return read


def _duckdb(path: Path) -> Any:
    import duckdb

    return duckdb.connect(str(path), read_only=True)


_READ: dict[str, Callable[[Path], pl.DataFrame]] = {
    "parquet": pl.read_parquet,
    "arrow": pl.read_ipc,
    "xlsx": pl.read_excel,
    "sqlite": _from_database(sqlite3.connect),
    "duckdb": _from_database(_duckdb),
}


def _rounded(value: Any) -> Any:
    """The same with figures of 12 digits: processors add up in another order."""
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list) else value
