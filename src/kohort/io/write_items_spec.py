"""A starting spec for a file of baskets, as text."""

from __future__ import annotations

from kohort.io.baskets import BasketShape
from kohort.io.write_spec import comment
from kohort.io.yaml_text import dumped, printable
from kohort.profiling.profile import BasketProfile

_M = 2
_HIERARCHY = (
    "Items are published as they are, or as groups of this hierarchy. A file of your own that groups "
    "similar items keeps more of their meaning: hierarchy: products.csv."
)
_MORE = """\
#seed: 1               # the same seed gives the same release
#time_limit: 60        # seconds; then the best release so far is used
"""


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
        f"algorithm: apriori-items  # see kohort algorithms\n\n{_MORE}"
    )
