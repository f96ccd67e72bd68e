"""Everything that is wrong with a hierarchy, all at once, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from kohort.data.column import Column
from kohort.data.hierarchy import Hierarchy
from kohort.data.path_tree import Label, PathTree
from kohort.errors import InputError, counted

_NAMED = 5  # labels of the hierarchy in a message


@dataclass(frozen=True)
class Findings:
    """What a check of a hierarchy, alone or against a column, has found.

    Wrong: `contradicting` leaves (listed with different ancestors), `cycles` and `two_parents` (labels of
    parent/child pairs), `missing` values of the column. Worth knowing: leaves `repeated` identically,
    labels of both a leaf and an inner node, leaves outside the common root, leaves `unused` by the data.
    """

    leaves: int = 0
    repeated: int = 0
    contradicting: tuple[Label, ...] = ()
    cycles: tuple[Label, ...] = ()
    two_parents: tuple[Label, ...] = ()
    leaf_and_inner: tuple[Label, ...] = ()
    rootless: int = 0
    unused: tuple[Label, ...] = ()
    missing: tuple[str, ...] = ()
    missing_records: int = 0
    records: int = 0
    near_misses: int = 0

    @property
    def broken(self) -> bool:
        """Whether it is not a tree, whatever the data."""
        return bool(not self.leaves or self.contradicting or self.cycles or self.two_parents)

    @property
    def errors(self) -> bool:
        return self.broken or bool(self.missing)

    def message(self) -> str:
        """The findings, a line each, with what to do. No value of the data is shown."""
        return "\n".join([*self._error_lines(), *self._note_lines()]) or "The hierarchy can be used as it is."

    def offending(self) -> dict[str, list[Label]]:
        """The values behind the message, by problem, for a file that the user keeps."""
        problems = ("missing", "contradicting", "cycles", "two_parents", "leaf_and_inner", "unused")
        return {name: list(getattr(self, name)) for name in problems if getattr(self, name)}

    def raise_if_broken(
        self, column_name: str, *, allow_missing: bool = False, expected: str | None = None
    ) -> None:
        """Raise an InputError for all that is wrong; values missing from the tree may be allowed.

        expected  what the values should be, where the tree was built from their structure
        """
        judged = replace(self, missing=()) if allow_missing else self
        if judged.errors:
            lines = "\n".join(f"  - {line}" for line in judged._error_lines(expected))
            raise InputError(f"The hierarchy of column {column_name!r} cannot be used.\n{lines}")

    def _error_lines(self, expected: str | None = None) -> list[str]:
        lines = []
        if not self.leaves and not self.cycles:
            lines.append("It has no leaves. Write one line per value: the value, then its ancestors.")
        if self.contradicting:
            asked = " Does the file name the root first? It must name the leaf first."
            lines.append(
                f"{_count(self.contradicting, 'leaf', 'leaves')} listed with different ancestors. "
                f"List each leaf once.{asked if self.leaves == 1 else ''}"
            )
        for found, what, todo in (
            (self.cycles, "among their own ancestors", "Remove one pair from each cycle."),
            (self.two_parents, "given two parents", "Keep one pair for each child."),
        ):
            if found:
                lines.append(f"{_count(found, 'label', 'labels')} {what} ({_named(found)}). {todo}")
        return lines + [self._missing_line(expected)] * bool(self.missing)

    def _missing_line(self, expected: str | None) -> str:
        share = self.missing_records / max(self.records, 1)
        if expected is not None:
            return (
                f"{counted(len(self.missing), 'value does', 'values do')} not look like {expected} "
                f"({self.missing_records:,} records, {share:.1%} of all). "
                "Correct them, or set on_missing: suppress."
            )
        near = f" {self.near_misses:,} differ from a leaf only in case, spaces or the form of a number."
        return (
            f"{_count(self.missing, 'value', 'values')} missing from it "
            f"({counted(self.missing_records, 'record')}, "
            f"{share:.1%} of all).{near if self.near_misses else ''} Add them, or set on_missing: suppress."
        )

    def _note_lines(self) -> Iterator[str]:
        if self.repeated:
            lines = counted(self.repeated, "line repeats", "lines repeat")
            yield f"Note: {lines} a leaf with the same ancestors, which does no harm."
        if self.leaf_and_inner:
            yield (
                f"Note: {_count(self.leaf_and_inner, 'label', 'labels')} both a leaf and an inner node "
                f"({_named(self.leaf_and_inner)}); inner ones are published with their parent's name, and a "
                "value may be read as the inner one, which counts in the loss. Give them different names."
            )
        if self.rootless:
            lines = counted(self.rootless, "line does", "lines do")
            yield f"Note: {lines} not end in the root and got the root *."
        if self.unused:
            yield f"Note: {len(self.unused):,} of its {self.leaves:,} leaves are not in the data."


def check(source: Hierarchy | PathTree | Iterable[Sequence[Label]], column: Column | None = None) -> Findings:
    """Find all problems of a hierarchy, or of its paths (leaf first), by itself and against a column."""
    if isinstance(source, Hierarchy):
        leaves: tuple[Label, ...] = source.leaves
        leaf_nodes = set(source.leaf_node.tolist())
        inner = {label for node, label in enumerate(source.label) if node not in leaf_nodes}
        findings = Findings(leaves=len(leaves))
    else:
        tree = source if isinstance(source, PathTree) else PathTree(source)
        leaves, inner = tree.leaves, tree.inner_labels
        findings = Findings(len(leaves), tree.repeated, tuple(tree.contradicting), rootless=tree.rootless)
    findings = replace(findings, leaf_and_inner=tuple(leaf for leaf in leaves if leaf in inner))
    return findings if column is None else compare(findings, leaves, column)


def compare(findings: Findings, leaves: Sequence[Label], column: Column) -> Findings:
    """The findings about a hierarchy with these leaves, and what a column adds to them."""
    known, used = set(leaves), set(column.texts)
    absent = [code for code, text in enumerate(column.texts) if text is not None and text not in known]
    missing = tuple(str(column.texts[code]) for code in absent)
    loose = {_loosely(leaf) for leaf in leaves if leaf is not None} if missing else set()
    return replace(
        findings,
        unused=tuple(leaf for leaf in leaves if leaf not in used and leaf is not None),
        missing=missing,
        missing_records=int(column.counts[absent].sum()) if absent else 0,
        records=len(column),
        near_misses=sum(_loosely(text) in loose for text in missing),
    )


def _loosely(text: str) -> str:
    plain = " ".join(text.casefold().split())
    try:
        return repr(float(plain))
    except ValueError:
        return plain


def _count(found: Sequence[Label], one: str, many: str) -> str:
    return f"{len(found):,} {one} is" if len(found) == 1 else f"{len(found):,} {many} are"


def _named(labels: Sequence[Label]) -> str:
    names = ["(empty)" if label is None else repr(label) for label in labels[:_NAMED]]
    more = f" and {len(labels) - _NAMED:,} more" if len(labels) > _NAMED else ""
    return ", ".join(names) + more
