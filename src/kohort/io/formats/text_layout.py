"""How a text table is laid out: its encoding, its delimiter and its header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kohort.errors import InputError
from kohort.io.formats import How
from kohort.io.formats.fitting import refuse_doubles
from kohort.io.formats.header import invented_names, refuse_doubtful_header
from kohort.io.source_file import open_bytes, plain_suffix

DELIMITERS = (",", ";", "\t", "|")
SAMPLE_CHARACTERS = 1 << 20
SAMPLE_RECORDS = 200
HEADER_RECORDS, LEAST_HEADER_RECORDS, HEADER_CELLS = 2000, 50, 50_000
CHUNK_BYTES = 1 << 20

BYTE_ORDER_MARKS = (  # the longer ones first: UTF-32's begins with UTF-16's
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
WESTERN_EUROPEAN = frozenset("áàâãäåæçéèêëíìîïñóòôõöøœúùûüßÁÀÂÃÄÅÆÇÉÈÊËÍÌÎÏÑÓÒÔÕÖØŒÚÙÛÜªº¿¡«»°§€–—‘’“”…")


@dataclass(frozen=True)
class Layout:
    """The layout of a text table: what must be known before it can be read."""

    encoding: str
    delimiter: str
    header: list[str]
    """The names of the columns: the first line, or invented ones."""
    blank_lines: int
    """Empty lines before the first one that holds anything."""
    has_header: bool = True


def layout_of(path: Path, how: How) -> Layout:
    """The layout that is given, or detected: in the first megabyte (the encoding: in the whole file).

    A first line that may be a record is refused, unless `header` says what it is.
    """
    if how.layout is not None:
        return how.layout
    encoding = detect_encoding(path) if how.encoding is None else _known_encoding(how.encoding)
    text, complete = _sample(path, encoding)
    delimiter = how.delimiter
    if delimiter is None:
        delimiter = "\t" if plain_suffix(path) == ".tsv" else _detect_delimiter(text)
    delimiter = checked_delimiter(delimiter)
    records = first_records(text, delimiter, HEADER_RECORDS)
    blank_lines = _leading_blank_lines(text)
    if not records:
        raise InputError(f"{path} has no header: its first line must name the columns.")
    if how.header is False:
        return Layout(encoding, delimiter, invented_names(len(records[0])), blank_lines, has_header=False)
    if complete and len(records) == 1:
        raise InputError(
            f"{path} has a header but no records. If it is a record, pass --no-{how.header_option}."
        )
    if how.header is None:
        refuse_doubtful_header(records[0], _columns_below(records), str(path), how.header_option)
    refuse_doubles(records[0], str(path))
    return Layout(encoding, delimiter, records[0], blank_lines)


def layout_like(path: Path, first: Layout) -> Layout | None:
    """The layout of another file of the same table; None where it has no records.

    A file with other columns is refused. Its first line may be a record, so no cell of it is shown.
    """
    text, complete = _sample(path, first.encoding)
    records = first_records(text, first.delimiter, 2)
    if not records:
        return None
    if records[0] != first.header if first.has_header else len(records[0]) != len(first.header):
        raise InputError(
            f"{path} has other columns than the other files of its folder. If it has no header, pass "
            "--no-header: then none of them has one."
        )
    if first.has_header and complete and len(records) == 1:
        return None
    return replace(first, blank_lines=_leading_blank_lines(text))


def _columns_below(records: list[list[str]]) -> list[list[str]]:
    """The cells below the first line, by column; fewer where there are many columns."""
    width = len(records[0])
    some = records[1 : 1 + max(LEAST_HEADER_RECORDS, HEADER_CELLS // width)]
    return [[record[place] for record in some if len(record) > place] for place in range(width)]


def open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    """The text of a table, line ends untouched."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline="")


def checked_delimiter(delimiter: str) -> str:
    r"""The delimiter as one character; `tab` and `\t` are what people type for a tab."""
    delimiter = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0':
        raise InputError("The delimiter must be one ASCII character, such as ',', ';', '|' or 'tab'.")
    return delimiter


def _known_encoding(encoding: str) -> str:
    """Python's name for an encoding of text."""
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"Unknown encoding {encoding!r}. Try utf-8, cp1252, latin-1, utf-16 or shift_jis."
        ) from None


def detect_encoding(path: Path) -> str:
    """The encoding of a file: by its byte order mark, else UTF-8 if every byte fits, else the likeliest."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    for number, chunk in enumerate(_chunks(path)):
        marked = next((name for mark, name in BYTE_ORDER_MARKS if chunk.startswith(mark)), None)
        if number == 0 and marked:
            return marked
        if b"\0" in chunk:
            raise InputError(
                f"{path} holds zero bytes: it is not text, or it is UTF-16 without a mark. "
                "If it is text, pass its encoding (--encoding utf-16-le)."
            )
        try:
            decoder.decode(chunk, final=len(chunk) < CHUNK_BYTES)
        except UnicodeDecodeError:
            return _likeliest_encoding(path, _non_ascii_lines(chunk, first=number == 0))
    return "utf-8"


def _chunks(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            yield chunk


def _non_ascii_lines(chunk: bytes, *, first: bool) -> bytes:
    """The lines with bytes beyond ASCII; a chunk's first and last line may be cut in two."""
    lines = chunk.split(b"\n")
    whole = [line for line in lines[0 if first else 1 : -1] if not line.isascii()]
    return b"\n".join(whole or [line for line in lines if not line.isascii()])[:65536]


def _likeliest_encoding(path: Path, sample: bytes) -> str:
    """The encoding of text that is not UTF-8; refused when two readings are about as good.

    Detectors are trained on prose and take Spanish names for Polish ones, so Western European
    text is recognised here: only its letters, and fewer of them than plain ones.
    """
    if _looks_western(sample):
        return "cp1252"
    from charset_normalizer import from_bytes  # slow to import, and seldom needed

    ranked = list(from_bytes(sample))
    if ranked:
        best = ranked[0]
        rivals = [other for other in ranked[1:] if str(other) != str(best)]
        if all(other.chaos - best.chaos > 0.04 or best.coherence - other.coherence > 0.2 for other in rivals):
            return codecs.lookup(best.encoding).name
    raise InputError(f"{path} is not UTF-8, and its encoding is not clear. Pass it (--encoding cp1250).")


def _looks_western(sample: bytes) -> bool:
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    beyond_ascii = {character for character in text if not character.isascii()}
    words = "".join(word for word in re.findall(r"[^\W\d_]+", text) if not word.isascii())
    accented = sum(not letter.isascii() for letter in words)
    return beyond_ascii <= WESTERN_EUROPEAN and (not words or accented < 0.5 * len(words))


def _sample(path: Path, encoding: str) -> tuple[str, bool]:
    """The beginning of the text, and whether that is all of it."""
    try:
        with open_text(path, encoding) as stream:
            text = stream.read(SAMPLE_CHARACTERS)
            complete = not stream.read(1)
    except UnicodeError:
        raise InputError(f"{path} does not fit the encoding {encoding}. Pass another (--encoding).") from None
    if "\0" in text:
        raise InputError(f"{path} does not look like text in {encoding}. Pass its encoding (--encoding).")
    return text.removeprefix("\ufeff"), complete


def _detect_delimiter(text: str) -> str:
    """The delimiter that splits most records into as many fields as the header."""

    def agreement(delimiter: str) -> tuple[float, int]:
        counts = [len(record) for record in first_records(text, delimiter, SAMPLE_RECORDS)]
        if not counts or counts[0] == 1:
            return (0.0, 0)
        return (counts.count(counts[0]) / len(counts), counts[0])

    return max(DELIMITERS, key=agreement)


def first_records(text: str, delimiter: str, most: int) -> list[list[str]]:
    """The first records of a sample; its end may cut the last."""
    records: list[list[str]] = []
    with suppress(csv.Error):  # a cell beyond the csv module's limit
        for record in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if len(records) == most:
                return records
            if record:
                records.append(record)
    return records


def _leading_blank_lines(text: str) -> int:
    lines = io.StringIO(text, newline="")
    return next((number for number, line in enumerate(lines) if line.strip("\r\n")), 0)
