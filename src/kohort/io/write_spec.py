"""A starting spec as text: suggested roles and hierarchies, why, and the other options as comments.

What can be switched on is written as `#key: value`; prose has a space after the `#`.
"""

from __future__ import annotations

from textwrap import indent, wrap
from typing import Any

from kohort.algorithms import ALGORITHMS
from kohort.errors import counted
from kohort.io.yaml_text import dumped, printable
from kohort.profiling.profile import BasketProfile, ColumnProfile, Profile
from kohort.statement.items import BasketShape

_WIDTH = 100
_ALPHA = 0.5
_ROLES = """\
# identifier         says who it is; dropped (with treatment: pseudonym or mask, replaced)
# quasi-identifier   others may know it; generalized until k records look alike
# sensitive          nobody should learn it about a person; published as it is, see privacy
# insensitive        nobody could know or misuse it; published as it is
# person             whose record it is; not published, and promises count people
"""
_HIERARCHIES = """\
# hierarchy: {intervals: [5, 10, 20]}   numbers: 23, [20, 25), [20, 30), [20, 40), *
# hierarchy: {mask: right}              codes: 4350, 435*, 43**, 4***, *
# hierarchy: {code: icd10}              known codes: J45.0, J45, J40-J49, J00-J99, *
# hierarchy: {date: [month, year]}      dates: 2024-03-05, 2024-03, 2024, *
# hierarchy: auto                       chosen by the values
# hierarchy: education.csv              a file, see kohort hierarchy build; best where meaning counts
# none                                  the value itself or *; of numbers, any interval
"""
_CHECK = {
    "sensitive": "Check: it is published as it is. If others may know it, it is a quasi-identifier.",
    "insensitive": "Check: it is published as it is. If others may know it, it is a quasi-identifier.",
    "items": "Dropped. To publish it: role items, and under privacy m, how many items others may know.",
}
_DROPPED = ("items", "household", "weight")
_UNSURE = (
    "Check: if nobody outside can know it, it is sensitive or insensitive, and the release keeps more detail."
)
_OF_EVERY_RUN = """\
#seed: 1               # the same seed gives the same release
#time_limit: 60        # seconds; then the best release so far is used
"""
_MORE = f"""\
#suppressed: drop      # leave withheld records out, instead of * in every quasi-identifier
#labels: tight         # publish the interval or set that a class really has, not the hierarchy's labels
#nulls: star           # publish a missing value as *, instead of treating it as a value of its own
#formulas: escape      # in CSV files, an apostrophe before text that a spreadsheet would compute
#others: drop          # what becomes of columns that are not named above: error, keep or drop
#shuffle: false        # keep the original order, which links the release to any file in that order
{_OF_EVERY_RUN}#title: Our patients   # the name of the data set, for the report
#owner: Our office     # the person or office responsible for the release, for the report
"""


def spec_text(found: Profile, *, data: str, command: str, k: int) -> str:
    """A valid spec for the table in the file `data`; `command` is what to do with it next."""
    attributes = "\n".join(_attribute(column) for column in found.columns)
    return (
        f"{_header(found, data, command)}\nattributes:\n{indent(attributes, '  ')}\n"
        f"privacy:\n{indent(_privacy(found, k), '  ')}\n{_options(found)}"
    )


def suggested_attribute(column: ColumnProfile) -> dict[str, Any]:
    """The entry of a column in the spec; what no algorithm can use yet is dropped."""
    attribute: dict[str, Any] = {"role": "identifier" if column.role in _DROPPED else column.role}
    if column.hierarchy is not None:
        attribute["hierarchy"] = column.hierarchy
    return attribute


def _header(found: Profile, data: str, command: str) -> str:
    about = (
        f"A starting spec for {data} ({counted(found.records, 'record')}), by kohort init. The roles are "
        "suggestions, "
        "from names and values: check each one, as you answer for the release."
    )
    too_many = found.savings.sentence(len(found.quasi_identifiers)) if found.savings else ""
    return (
        f"{comment(about)}{comment(too_many)}#\n{_ROLES}#\n{_HIERARCHIES}#\n"
        "# Lines that begin with # and no space are options: take the # away.\n"
        f"# Then: {printable(command)}\n"
    )


def _attribute(column: ColumnProfile) -> str:
    entry = dumped(column.name, suggested_attribute(column))
    adds = "" if not column.singles_out else f" It adds {column.singles_out:.1%} to the unique records."
    check = _UNSURE if column.known == "possible" else _CHECK.get(column.role, "")
    return comment(column.reason + adds) + comment(check) + entry


def _privacy(found: Profile, k: int) -> str:
    lines = f"k: {k}  # every record looks like at least {k - 1:,} others\n"
    diverse = [c for c in found.columns if c.role == "sensitive" and c.distinct > 1]
    if not diverse:
        return lines
    even = [c for c in diverse if max(c.most_common_share, c.nulls / c.records) <= _ALPHA]
    why = (
        "Records that look alike may still share one sensitive value, which is then known for all of them. "
        "Diversity asks for several values among them, alpha that none has more than this share, closeness "
        "for about the shares of the whole table."
    )
    examples = {
        "diversity": [{"attribute": c.name, "l": min(3, c.distinct), "kind": "distinct"} for c in diverse],
        "alpha": [{"attribute": c.name, "alpha": _ALPHA} for c in even],
        "closeness": [{"attribute": c.name, "t": 0.3} for c in diverse],
    }
    options = "".join(dumped(model, entries) for model, entries in examples.items() if entries)
    return lines + comment(why) + indent(options, "#")


def _options(found: Profile) -> str:
    costs = ", ".join(ALGORITHMS["auto"].costs)
    weighted = found.quasi_identifiers[:1]
    weights = dumped("weights", dict.fromkeys(weighted, 2))
    return (
        f"{comment(f'The measure to keep low: {costs}.')}cost: loss\n"
        "algorithm: auto  # see kohort algorithms\n"
        "suppression: 0.0  # share of the records that may be withheld, such as 0.02\n"
        f"\n{_MORE}" + (f"# Weights say which columns to keep detailed:\n#{weights}" if weighted else "")
    )


def comment(text: str) -> str:
    """A text as lines of comment."""
    return "".join(f"# {line}\n" for line in wrap(printable(text), _WIDTH - 2, break_on_hyphens=False))


_M = 2
_HIERARCHY = (
    "Items are published as they are, or as groups of this hierarchy. A file of your own that groups "
    "similar items keeps more of their meaning: hierarchy: products.csv."
)


def items_spec_text(found: BasketProfile, shape: BasketShape, *, data: str, command: str, k: int) -> str:
    """A valid spec for the baskets in the file `data`; `command` is what to do with it next."""
    about = (
        f"A starting spec for {data} ({found.records:,} baskets of {found.items:,} different items), by "
        "kohort init. The file seems to hold one basket per line. If it is a table, pass --header or "
        "--no-header."
    )
    items: dict[str, object] = {} if shape.separator is None else {"separator": shape.separator}
    items["hierarchy"] = {"fanout": 5, "order": "frequency"}
    return (
        f"{comment(about)}#\n# Then: {printable(command)}\n\n"
        f"{comment(_HIERARCHY)}{dumped('items', items)}"
        f"privacy:\n  k: {k}  # what is known of a basket fits at least {k:,} of them\n"
        f"  m: {_M}  # as long as no more than this many of its items are known\n"
        f"algorithm: apriori-items  # see kohort algorithms\n\n{_OF_EVERY_RUN}"
    )
