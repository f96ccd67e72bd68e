"""Hierarchy files: leaf-first tables as users of ARX have them, those of Amnesia, YAML trees, pairs."""

from __future__ import annotations

import codecs
import csv
import io
import re
from calendar import monthrange
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import yaml

from kohort.data.column import Column
from kohort.data.hierarchies import Builder
from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.data.hierarchies.checks import Findings, check, compare
from kohort.data.hierarchies.intervals import Range, Ranges
from kohort.data.hierarchy import Hierarchy
from kohort.data.path_tree import Label, Pairs, PathTree
from kohort.errors import InputError, counted
from kohort.files.checked import write_checked
from kohort.io.formats.text_layout import checked_delimiter, detect_encoding, open_text
from kohort.io.source_file import DAMAGED, opened, plain_suffix
from kohort.io.yaml_text import refuse_endless

_DELIMITERS = (";", "\t", ",", "|")
_TREE_FILES = (".yaml", ".yml", ".json")
_SAMPLE = 200  # lines from which the delimiter is guessed

Labels = tuple[Label, ...]


@dataclass(frozen=True)
class HierarchyFile:
    """A hierarchy as read, or None where the file is broken, and everything found on the way.

    ranges  where the file has ranges of numbers or dates: how to put the values of a column under them
    """

    hierarchy: Hierarchy | None
    findings: Findings
    leaves: tuple[Label, ...]
    ranges: Ranges | None = None

    @property
    def source(self) -> Builder | Hierarchy | None:
        """The hierarchy, or what makes it of a column's values."""
        return self.ranges or self.hierarchy

    def over(self, column: Column) -> Hierarchy | None:
        """The hierarchy over the values of a column."""
        return self.hierarchy if self.ranges is None else self.ranges.build(column)

    def against(self, column: Column) -> Findings:
        """All findings: about the file itself, and about its leaves compared with a column."""
        leaves = self.leaves if self.ranges is None else self.ranges.build(column).leaves
        return compare(self.findings, leaves, column)


def read_hierarchy(path: str | Path, **said: Any) -> HierarchyFile:
    """Read the hierarchy in a file; `said` holds fields of `FileSource`."""
    return read_source(FileSource(str(path), **said))


def read_source(source: FileSource, *, beside: str | Path = ".") -> HierarchyFile:
    """Read the file that a spec names; problems of its content are findings, a file that is none is an error.

    Relative paths start at the folder `beside`. Of the kind `auto`, the name and the content say what it is;
    then files of Amnesia are recognised, too.
    """
    path = Path(beside) / source.path
    name, kind, text = str(path), source.kind, _text(path, source.encoding)
    if kind == "tree" or (kind == "auto" and plain_suffix(path) in _TREE_FILES):
        return _from_paths(_tree_paths(text, name))
    if kind == "auto" and (opening := _OPENING.match(plain := text.replace("\r\n", "\n"))):
        return _from_amnesia(plain, opening, name)
    rows = _rows(text, name, source)
    if kind == "pairs" or (kind == "auto" and _look_like_pairs(rows)):
        return _from_pairs(rows, name)
    return _from_paths((row[0] or None, *(cell for cell in row[1:] if cell.strip())) for row in rows)


def write_hierarchy(hierarchy: Hierarchy, path: str | Path, *, leaves: bool = True) -> None:
    """Write one line per leaf, `;`-separated, the leaf first; short branches repeat the leaf.

    A missing value is an empty first cell. Without the leaves, which are values of the data, a line begins
    with what is right above them. Written straight to `path`; see `atomic.replacing`.
    """
    paths = list(hierarchy.paths() if leaves else _paths_above_leaves(hierarchy))
    if any("" in path for path in paths):
        raise InputError(
            "A hierarchy file cannot distinguish an empty text from a missing value. "
            "Make empty texts null first."
        )
    returns = any("\r" in label for label in hierarchy.label if label)  # the writer would leave them bare
    text = io.StringIO(newline="")
    writer = csv.writer(
        text, delimiter=";", lineterminator="\n", quoting=csv.QUOTE_ALL if returns else csv.QUOTE_MINIMAL
    )
    writer.writerows(_lines(paths))
    write_checked(path, text.getvalue())


def _paths_above_leaves(hierarchy: Hierarchy) -> list[Labels]:
    """One path for each of the lowest inner nodes: the tree that is left when all leaves are cut off."""
    above = dict.fromkeys(path[1:] for path in hierarchy.paths())
    ends = {path[start:] for path in above for start in range(1, len(path))}
    return [path for path in above if path and path not in ends]


def _lines(paths: Sequence[Labels]) -> Iterator[list[Label]]:
    width = max(map(len, paths))
    inner = {label for _, *above in paths for label in above}
    for leaf, *above in paths:
        fill = None if leaf in inner else leaf  # a repeated leaf must not be taken for that inner node
        yield [leaf, *[fill] * (width - 1 - len(above)), *above]


def _from_paths(paths: Iterable[Labels]) -> HierarchyFile:
    tree = PathTree(paths)
    findings = check(tree)
    return HierarchyFile(None if findings.broken else Hierarchy.from_tree(tree), findings, tree.leaves)


def _from_pairs(rows: Sequence[list[str]], name: str) -> HierarchyFile:
    long = sum(any(cell.strip() for cell in row[2:]) for row in rows)
    if long:
        raise InputError(
            f"Hierarchy file {name!r}: {counted(long, 'line has', 'lines have')} more than two cells, but "
            "pairs are child and parent. Is it a leaf-first file?"
        )
    pairs = Pairs.of([(row[0] or None, (row[1] or None) if len(row) > 1 else None) for row in rows])
    read = _from_paths(pairs.paths)
    findings = replace(
        read.findings, repeated=pairs.repeated, cycles=pairs.cycles, two_parents=pairs.two_parents
    )
    return HierarchyFile(None if findings.broken else read.hierarchy, findings, read.leaves)


def _look_like_pairs(rows: Sequence[list[str]]) -> bool:
    """Whether rows are pairs of child and parent: two columns, and some parent is itself a child."""
    if not rows or any(len(row) != 2 for row in rows):
        return False
    parents = {above for child, above in rows if above != child}
    return any(child in parents and above and above != child for child, above in rows)


def _text(path: Path, encoding: str | None) -> str:
    if not path.is_file():
        raise InputError(f"There is no hierarchy file {str(path)!r}. Relative paths start where the spec is.")
    try:
        codecs.lookup(encoding or "utf-8")
        with opened(path) as source, open_text(source, encoding or detect_encoding(source)) as stream:
            return stream.read().removeprefix("\ufeff")
    except LookupError:
        raise InputError(f"Unknown encoding {encoding!r}. Use a name such as utf-8 or cp1252.") from None
    except UnicodeError:
        raise InputError(
            f"Hierarchy file {str(path)!r} is not written in {encoding}. Give another encoding."
        ) from None
    except DAMAGED as error:
        raise InputError(f"Hierarchy file {str(path)!r} cannot be read: {type(error).__name__}.") from None


def _rows(text: str, name: str, source: FileSource) -> list[list[str]]:
    delimiter = _delimiter(text) if source.delimiter is None else checked_delimiter(source.delimiter)
    try:
        rows = [row for row in _parsed(text, delimiter) if any(row)]
    except csv.Error as error:
        raise InputError(
            f"Hierarchy file {name!r} cannot be split at {delimiter!r}: {error}. "
            "Look for a quotation mark that is not closed, or name the delimiter."
        ) from error
    return rows[1:] if source.header else rows


def _parsed(text: str, delimiter: str) -> Iterator[list[str]]:
    # after a comma people write a space that means nothing; other delimiters keep what is there
    lines = io.StringIO(text, newline="")
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=delimiter == ",", strict=True)


def _delimiter(text: str) -> str:
    """The first delimiter that splits most lines: commas come late, for labels such as `[20, 30)`."""
    sample = "\n".join(text.splitlines()[:_SAMPLE])
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in _parsed(sample, delimiter) if any(row)]
        except csv.Error:
            continue
        if rows and sum(len(row) > 1 for row in rows) * 2 > len(rows):
            return delimiter
    return _DELIMITERS[0]


def _tree_paths(text: str, name: str) -> list[Labels]:
    """Paths straight from the YAML nodes: every scalar stays the text it is (NO is not a truth value)."""

    def refuse(line: int, reason: str) -> InputError:
        return InputError(f"Hierarchy file {name!r}, line {line}: {reason}.")

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        refuse_endless(text, refuse, loader=loader)
        root = yaml.compose(text, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise InputError(
            f"Hierarchy file {name!r} is not a YAML tree{where}: check its indentation."
        ) from error
    return [] if root is None else list(_node_paths(root, ()))


def _node_paths(node: yaml.Node, above: Labels) -> Iterator[Labels]:
    if isinstance(node, yaml.ScalarNode):
        yield (_scalar(node), *above)
    elif isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _node_paths(item, above)
    else:
        for key, below in node.value:
            path = (_scalar(key), *above)
            is_leaf = not below.value or (isinstance(below, yaml.ScalarNode) and _scalar(below) is None)
            yield from [path] if is_leaf else _node_paths(below, path)


def _scalar(node: yaml.Node) -> Label:
    """A plain empty, ~ or null is the missing value; anything else is its text."""
    if not isinstance(node, yaml.ScalarNode):
        raise InputError(f"Line {node.start_mark.line + 1} of the hierarchy: a name must be a plain text.")
    return None if not node.style and node.value in ("", "~", "null") else str(node.value)


# Hierarchy files of Amnesia: some lines about the hierarchy, then lines `parent has child child ...`.
_OPENING = re.compile(r"\s*(distinct|range)[ \t]*\n((name|type|height)\b.*\n)+[ \t]*\n", re.IGNORECASE)
_NOTHING = {"nan", "null", "(null)"}
_EPOCH = date(1970, 1, 1).toordinal()


def _from_amnesia(text: str, opening: re.Match[str], name: str) -> HierarchyFile:
    """A hierarchy over single values, or over ranges of numbers or dates; `opening` says which."""
    said = [line.split() for line in opening[0].lower().split("\n")[1:]]
    facts = {words[0]: words[1] for words in said if len(words) > 1}
    families = _families(text, opening.end(), name)
    if opening[1].lower() == "range":
        ranges = _ranges(families, name, days=facts.get("type") == "date")
        return replace(_from_paths(ranges.labels()), ranges=ranges)
    whole = facts.get("type") == "int"
    pairs = [[_value(child, whole), _value(parent, whole)] for parent, below in families for child in below]
    return _from_pairs(pairs, name)


def _ranges(families: list[tuple[str, list[str]]], name: str, *, days: bool) -> Ranges:
    parent_of: dict[Range, Range] = {}
    for parent, children in families:
        around = _range(parent, name, days=days)
        parent_of |= {_range(child, name, days=days): around for child in children if not _is_missing(child)}
    narrowest = [range_ for range_ in parent_of if range_ not in set(parent_of.values())]
    if not narrowest:
        raise InputError(f"Hierarchy file {name!r} has no ranges: lines such as `0,10 has 0,5 5,10`.")
    paths = [[range_] for range_ in narrowest]
    for path in paths:
        while path[-1] in parent_of and parent_of[path[-1]] not in path:
            path.append(parent_of[path[-1]])
    return Ranges(tuple(map(tuple, paths)), "day" if days else "number", name)


def _families(text: str, begin: int, name: str) -> list[tuple[str, list[str]]]:
    """Each parent with its children, in the order of the file, whose facts end at `begin`."""
    found = []
    for number, line in enumerate(text[begin:].split("\n"), start=text.count("\n", 0, begin) + 1):
        words = line.split()
        if words and (len(words) < 2 or words[1] != "has"):
            raise InputError(
                f"Hierarchy file {name!r}, line {number}: expected `parent has child child ...`, "
                "with labels that have no spaces, as Amnesia writes them."
            )
        found += [(words[0], words[2:])] if words else []
    return found


def _value(label: str, whole: bool) -> str:
    """A label as the data has it: Amnesia writes whole numbers as 17.0, and NaN for a missing value."""
    if _is_missing(label):
        return ""
    return label.removesuffix(".0") if whole else label


def _is_missing(label: str) -> bool:
    return label.split(",")[0].lower() in _NOTHING


def _range(text: str, name: str, *, days: bool) -> Range:
    low, _, high = text.partition(",")
    try:
        if days:
            return Range(Decimal(_day(low, first=True)), Decimal(_day(high or low, first=False)))
        return Range(Decimal(low), Decimal(high))
    except (ValueError, InvalidOperation):
        wanted = "dates such as 1/2020,6/2020" if days else "two numbers such as 0,10"
        raise InputError(f"Hierarchy file {name!r}: a range must be {wanted}. Got {text!r}.") from None


def _day(text: str, *, first: bool) -> int:
    """The first or last day, counted from 1970, of a year, a month (6/2020) or a day (15/6/2020)."""
    *smaller, year = (int(part) for part in text.split("/"))
    month = smaller[-1] if smaller else (1 if first else 12)
    day = smaller[0] if len(smaller) > 1 else (1 if first else monthrange(year, month)[1])
    return date(year, month, day).toordinal() - _EPOCH
