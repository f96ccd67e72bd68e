"""How a text table is laid out: its encoding, its delimiter and its header."""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Literal

from kohort.errors import InputError, counted
from kohort.io.formats import How, Layout
from kohort.io.formats.fitting import refuse_doubles
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


def layout_of(path: Path, how: How) -> Layout:
    """The layout that is given, or detected: in the first megabyte (the encoding: in the whole file).

    A first line that may be a record is refused, unless `header` says what it is.
    """
    if how.layout.header:
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
        width = len(records[0])
        some = records[1 : 1 + max(LEAST_HEADER_RECORDS, HEADER_CELLS // width)]  # fewer of many columns
        below = [[record[place] for record in some if len(record) > place] for place in range(width)]
        refuse_doubtful_header(records[0], below, str(path), how.header_option)
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
    try:
        "".encode(encoding)
        return codecs.lookup(encoding).name
    except (LookupError, ValueError):
        raise InputError(
            f"Unknown encoding {encoding!r}. Try utf-8, cp1252, latin-1, utf-16 or shift_jis."
        ) from None


def detect_encoding(path: Path) -> str:
    """The encoding of a file: by its byte order mark, else UTF-8 if every byte fits, else the likeliest."""
    decoder, first = codecs.getincrementaldecoder("utf-8")(), True
    with open_bytes(path) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            marked = next((name for mark, name in BYTE_ORDER_MARKS if chunk.startswith(mark)), None)
            if first and marked:
                return marked
            if b"\0" in chunk:
                raise InputError(
                    f"{path} holds zero bytes: it is not text, or it is UTF-16 without a mark. "
                    "If it is text, pass its encoding (--encoding utf-16-le)."
                )
            try:
                decoder.decode(chunk, final=len(chunk) < CHUNK_BYTES)
            except UnicodeDecodeError:
                return _likeliest_encoding(path, _non_ascii_lines(chunk, first=first))
            first = False
    return "utf-8"


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


# Is the first line of a table a header, or a record? A record as column names would publish a person.
#
# Every column is asked alone. Its first cell looks like a value if it is of the same kind as the cells below
# it (both numbers, both dates), or if it is itself found below. It looks like a name if the cells below are
# numbers or dates and it is a word. What the columns say together decides; in doubt, the user must say
# which it is.
_MISSING = frozenset(
    ["", "?", "-", ".", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "missing", "unknown", "*"]
)
_NUMBER = re.compile(r"[-+]?[$€£]?\s?(\d[\d.,']*|\.\d+)([eE][-+]?\d+)?\s?[%€$£]?")
_YEAR = re.compile(r"(18|19|20)\d\d")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](\d{4}|\d\d)"
    rf"|\d{{1,2}}[- ]{_MONTH}[- ,]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d\d.*)?",
    re.IGNORECASE,
)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_SAME_KIND = 0.8  # share of the cells below a first cell that must be of its kind
_LONG_RUN = 5  # names 0, 1, 2, 3, 4: what programs call columns without names
_FEW = 10  # names for one that looks like a value, such as a single code among many words


def invented_names(n_columns: int) -> list[str]:
    """Names for the columns of a table without a header.

    >>> invented_names(2)
    ['column_1', 'column_2']
    """
    return [f"column_{number}" for number in range(1, n_columns + 1)]


def refuse_doubtful_header(
    first: Sequence[str | None], below: Sequence[Sequence[str | None]], where: str, option: str
) -> None:
    """Raise InputError, without showing a cell, where the first line may be a record.

    first   the cells of the first line
    below   for each column, the cells below it (some hundred are enough)
    option  how the command line asks for the answer: `header` stands for --header and --no-header
    """
    names = ["" if name is None else name.strip() for name in first]
    doubled = {name for name, count in Counter(name or "" for name in first).items() if count > 1}
    if doubled:
        places = ", ".join(str(place) for place, name in enumerate(first, start=1) if (name or "") in doubled)
        reason = f"the first line has the same text in several columns ({places}), so it may not be a header."
    else:
        texts = [[cell.strip() for cell in cells if cell is not None] for cells in below]
        reason = _reason(names, [[text for text in cells if text.lower() not in _MISSING] for cells in texts])
    if reason:
        word = option.replace("-", "_")
        raise InputError(
            f"{where}: {reason} If it names the columns, pass --{option}. If it is a record, pass "
            f"--no-{option}; then the columns are called column_1, column_2, and so on. (In Python: "
            f"{word}=True or {word}=False.)"
        )


def _reason(names: list[str], below: list[list[str]]) -> str:
    """Why the first line may be a record, in words; empty where it is a header."""
    if not names or _are_numbered(names):
        return ""
    below = _without_repeated_headers(names, below)
    years = _are_years(names, below)
    columns = enumerate(zip(names, below))
    said = Counter(_said(name, cells, place in years) for place, (name, cells) in columns)
    if said["value"] * _FEW > said["name"]:
        return _in_words(said["value"], "of the same kind as the values below, such as numbers or dates")
    if said["repeated"] > said["name"]:
        return _in_words(said["repeated"], "found again among the values below, or written just like them")
    return ""


def _in_words(places: int, what: str) -> str:
    cells = "1 of its cells is" if places == 1 else f"{counted(places, 'cell')} of it are"
    return f"the first line may be a record instead of a header: {cells} {what}."


def _said(name: str, cells: list[str], is_year: bool) -> Literal["value", "repeated", "name", ""]:
    """What a column says of its first cell.

    value     it is of the kind of the cells below it, or nothing but a value
    repeated  it is found again below it, or written just like the cells below it
    name      the cells below are numbers or dates, and it is a word
    """
    if name.lower() in _MISSING:
        return ""
    kind, kinds = _kind(name), Counter[str]()
    for text, count in Counter(cells).items():  # cells that repeat are looked at once
        kinds[_kind(text)] += count
    if kind == "email" or (_is_kind_of(kinds, kind, len(cells)) and not is_year):
        return "value"
    if kind == "text" and (name in cells or _is_written_alike(name, cells)):
        return "repeated"
    mostly = {found for found, count in kinds.items() if count >= _SAME_KIND * len(cells)}
    return "name" if kind == "text" and mostly & {"number", "date"} else ""


def _are_numbered(names: list[str]) -> bool:
    """Whether the names count 0, 1, 2, ... or 1, 2, 3, ..., with or without a nameless index before them."""
    counted_names = names[1:] if names[0] == "" else names
    return len(counted_names) >= _LONG_RUN and any(
        counted_names == [str(number + start) for number in range(len(counted_names))] for start in (0, 1)
    )


def _without_repeated_headers(names: list[str], below: list[list[str]]) -> list[list[str]]:
    """The cells below; a first line that files put together repeat whole counts for nothing.

    Then every name is found below as often as all others, and rarely.
    """
    often = [cells.count(name) for name, cells in zip(names, below) if name]
    if len(often) > 1 and len(set(often)) == 1 and 0 < often[0] * 4 <= max(map(len, below)):
        return [[cell for cell in cells if cell != name] for name, cells in zip(names, below)]
    return below


def _is_kind_of(kinds: Counter[str], kind: str, cells: int) -> bool:
    """Whether the cells below a first cell are of its kind; of lists of numbers, some are single numbers."""
    if kind == "text":
        return False
    alike = kinds["number"] + kinds["signs"] if kind in ("number", "signs") else kinds[kind]
    return alike >= _SAME_KIND * cells and kinds[kind] >= (1 - _SAME_KIND) * cells > 0


def _kind(text: str) -> str:
    if _DATE.fullmatch(text):
        return "date"
    if _NUMBER.fullmatch(text):
        return "number"
    if _EMAIL.fullmatch(text):
        return "email"
    has_letter = any(character.isalpha() for character in text)
    return "text" if has_letter or not any(map(str.isdigit, text)) else "signs"  # such as 20-29 or 555 1234


def _are_years(names: list[str], below: list[list[str]]) -> set[int]:
    """Places of columns that are called 2019, 2020, 2021, ... and do not hold years themselves.

    The same goes for other whole numbers that follow each other in equal steps, three at least.
    """
    places = [place for place, name in enumerate(names) if name.isdecimal()]
    numbers = [int(names[place]) for place in places]
    steps = {b - a for a, b in pairwise(numbers)}
    enough = 2 if all(_YEAR.fullmatch(names[place]) for place in places) else 3
    if len(places) < enough or len(steps) != 1 or 0 in steps:
        return set()
    for place in places:
        cells = below[place]
        years = sum(_YEAR.fullmatch(cell) is not None for cell in cells)
        if names[place] in cells or years * 2 > len(cells):
            return set()
    return set(places)


def _is_written_alike(name: str, cells: list[str]) -> bool:
    """Whether a code, with digits in it, is built just as the cells below: AB-1234 above CD-5678."""
    shape = _shape(name)
    return (
        len(name) > 3
        and shape.count("9") > 1
        and len(cells) > 1
        and sum(_shape(cell) == shape for cell in cells) >= _SAME_KIND * len(cells)
    )


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "9", text))
