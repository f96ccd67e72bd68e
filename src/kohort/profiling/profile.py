"""Look at a table before publishing it: what its columns are, and how many people they single out."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.data.arrow_values import is_bytes
from kohort.data.baskets import Baskets
from kohort.data.codebook import codebook_of
from kohort.data.column import Column, code_column
from kohort.display import Display, Figures
from kohort.errors import counted, percent
from kohort.parameters import Seed, Within, check_option
from kohort.profiling.keys import DOZEN, settle, suggest_keys
from kohort.profiling.roles import Known, Role, Suggestion, suggest, suggest_hierarchy
from kohort.profiling.uniqueness import (
    Combinations,
    Savings,
    class_sizes,
    combine,
    contributions,
    estimate_savings,
    share,
)


@dataclass(frozen=True)
class ColumnProfile:
    """One column: what it holds, and the role and hierarchy suggested for it.

    kind               integer, float, string, boolean, date or datetime, also when written as text;
                       items (lists) or nested (not looked into)
    distinct           distinct values, missing ones aside; of a column of lists, distinct items
    unique_share       share of the records whose value nobody else has
    most_common_share  share of the records that have the most common value, itself in `most_common`
    known              how likely others know it: likely, possible or hardly
    hierarchy          as the release spec writes it; None: no levels between a value and `*`
    singles_out        of a quasi-identifier, the share of the records that it makes unique given the others,
                       on average over the orders in which these may become known
    """

    name: str
    type: str
    kind: str
    records: int
    distinct: int
    nulls: int
    unique_share: float
    most_common_share: float
    role: Role
    reason: str
    known: Known
    hierarchy: Any
    singles_out: float | None = None
    most_common: str | None = field(default=None, repr=False)

    def to_dict(self, *, show_values: bool = False) -> dict[str, Any]:
        facts = asdict(self)
        if not show_values:
            del facts["most_common"]
        return facts


@dataclass(frozen=True, repr=False)
class Profile:
    """A table: its columns, and the risk of the quasi-identifiers suggested for it. It prints as a table.

    unique_share   share of the records that are unique on all suggested quasi-identifiers
    highest_risk   prosecutor risk: 1 / the size of the smallest class of look-alikes
    average_risk   the mean of 1 / class size over all records
    savings        where there are more than a dozen quasi-identifiers: what they cost, and the costliest
    """

    records: int
    columns: tuple[ColumnProfile, ...]
    quasi_identifiers: tuple[str, ...]
    classes: int
    smallest_class: int
    unique_share: float
    highest_risk: float
    average_risk: float
    combinations: Combinations
    savings: Savings | None = None

    def to_dict(self, *, show_values: bool = False) -> dict[str, Any]:
        facts = asdict(self)
        facts["columns"] = [column.to_dict(show_values=show_values) for column in self.columns]
        return facts

    def __repr__(self) -> str:
        return _profile_display(self).text()

    def _repr_html_(self) -> str:
        return _profile_display(self).html()


def profile(table: pa.Table, *, max_combination: int = 3, sample: int = 100_000, seed: int = 0) -> Profile:
    """Profile a table: its columns, suggested roles, and how many people stand out.

    Missing values count as a value of their own. Everything is exact on the whole table, except that
    combinations of up to `max_combination` columns are counted on `sample` records, drawn with `seed`,
    where there are more. O(records) per column, plus a sort of the records for the classes.

    >>> p = profile(pa.table({"sex": ["f", "f", "m"], "age": [30, 30, 41]}))
    >>> p.quasi_identifiers, p.classes, round(p.unique_share, 2)
    (('sex', 'age'), 2, 0.33)
    """
    for name, number in (("max_combination", max_combination), ("sample", sample)):
        check_option(name, number, Annotated[int, Within(1)])
    check_option("seed", seed, Seed)
    coded, labels, suggestions = _looked_at(table)
    settled = settle(coded, suggestions | suggest_keys(coded, labels), seed)
    quasi = {n: column.codes for n, column in coded.items() if settled[n].role == "quasi-identifier"}
    adds = contributions(quasi, table.num_rows, seed)
    profiles = [
        replace(_profile_column(table, name, coded, labels, settled[name]), singles_out=adds.get(name))
        for name in table.column_names
    ]
    sizes = class_sizes(list(quasi.values()), table.num_rows)
    many = table.num_rows > 0 and len(quasi) > DOZEN
    savings = estimate_savings({name: coded[name] for name in quasi}, table.num_rows, seed) if many else None
    return Profile(
        records=table.num_rows,
        columns=tuple(profiles),
        quasi_identifiers=tuple(quasi),
        classes=len(sizes),
        smallest_class=int(sizes.min(initial=table.num_rows)),
        unique_share=share(np.count_nonzero(sizes == 1), table.num_rows),
        highest_risk=float(1 / sizes.min()) if len(sizes) else 0.0,
        average_risk=share(len(sizes), table.num_rows),
        combinations=combine(quasi, table.num_rows, max_combination, sample, seed),
        savings=savings,
    )


def _looked_at(table: pa.Table) -> tuple[dict[str, Column], dict[str, str], dict[str, Suggestion]]:
    """The columns with one value per record in codes, their labels, and a suggestion for every column."""
    coded, labels, suggestions = {}, {}, {}
    for about in table.schema:
        name, book = about.name, codebook_of(about)
        if _is_list(about.type):
            suggestions[name] = Suggestion(
                "items", "It holds lists: single items may be known, and a few together identify a person."
            )
        elif pa.types.is_nested(about.type) or is_bytes(about.type):
            suggestions[name] = Suggestion(
                "identifier", "It holds nested or binary values, which cannot be generalized: drop it."
            )
        else:
            labels[name] = book.label or ""
            coded[name] = code_column(name, table[name], apart=book.missing_texts)
            suggestions[name] = suggest(coded[name], labels[name])
    return coded, labels, suggestions


def _profile_column(
    table: pa.Table, name: str, coded: dict[str, Column], labels: dict[str, str], suggestion: Suggestion
) -> ColumnProfile:
    values, hierarchy = table[name], None
    if name in coded:
        column = coded[name]
        kind: str = column.kind
        if suggestion.role == "quasi-identifier":
            hierarchy = suggest_hierarchy(column, labels[name])
    elif suggestion.role == "items":
        column, kind = code_column(name, pc.list_flatten(values)), "items"
    else:
        column, kind = code_column(name, pa.nulls(0, pa.string())), "nested"
    distinct = len(column.texts) - column.has_null
    counts = column.counts[:distinct]
    return ColumnProfile(
        name=name,
        type=str(values.type),
        kind=kind,
        records=len(values),
        distinct=distinct,
        nulls=len(column) - int(counts.sum()) if name in coded else values.null_count,
        unique_share=share(np.count_nonzero(counts == 1), len(values)),
        most_common_share=share(counts.max(initial=0), len(values)),
        role=suggestion.role,
        reason=suggestion.reason,
        known=suggestion.known,
        hierarchy=hierarchy,
        most_common=column.texts[int(counts.argmax())] if distinct else None,
    )


def _is_list(arrow_type: pa.DataType) -> bool:
    is_list = pa.types.is_list(arrow_type) or pa.types.is_large_list(arrow_type)
    return is_list and not pa.types.is_nested(arrow_type.value_type)


def _profile_display(found: Profile) -> Display:
    """The columns with their suggested roles, and the risk as the table is; no value is shown."""
    heading = ["column", "kind", "distinct", "missing", "unique", "suggested role", "why"]
    rows = [
        [c.name, c.kind, f"{c.distinct:,}", f"{c.nulls:,}", f"{c.unique_share:.1%}", c.role, c.reason]
        for c in found.columns
    ]
    columns = Figures(heading, rows, left=["column", "kind", "suggested role"], wide=["why"])
    risk = (
        f"On the suggested quasi-identifiers together, {percent(found.unique_share)} of the records are "
        f"unique; the records form {counted(found.classes, 'class', 'classes')}, the smallest with "
        f"{found.smallest_class:,}. The roles are suggestions: check each one."
        if found.quasi_identifiers
        else "No column looks like a quasi-identifier, one that others may know about a person."
    )
    size = f"{counted(found.records, 'record')}, {counted(len(found.columns), 'column')}"
    return Display(size, [columns, risk])


@dataclass(frozen=True)
class BasketProfile:
    """Figures of baskets before they are published.

    mean_size, largest  items per basket
    empty               baskets without items
    rare_items          items that a single basket has
    unique_share        share of the baskets that one known item singles out
    """

    records: int
    items: int
    mean_size: float
    largest: int
    empty: int
    rare_items: int
    unique_share: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def profile_baskets(baskets: Baskets) -> BasketProfile:
    """Profile baskets. O(items in all of them)."""
    codes, sizes = baskets.items.codes, baskets.sizes
    support = np.bincount(codes, minlength=len(baskets.items.texts))
    found = np.unique(baskets.record_of_item[support[codes] == 1])
    return BasketProfile(
        records=len(baskets),
        items=int((support > 0).sum()),
        mean_size=float(sizes.mean()) if len(sizes) else 0.0,
        largest=int(sizes.max(initial=0)),
        empty=int((sizes == 0).sum()),
        rare_items=int((support == 1).sum()),
        unique_share=len(found) / len(baskets) if len(baskets) else 0.0,
    )
