"""The part of the page about all releases of the same people."""

from __future__ import annotations

from typing import Any

from kohort.errors import counted
from kohort.report.page import Section, Table

_WAYS = {
    "history-keeping": (
        "Whom earlier releases put together stays together, and who has left is replaced by somebody with "
        "the same sensitive values: the promise holds even where records can be followed from one release "
        "to the next."
    ),
    "m-invariance": (
        "The sensitive values around everybody are the same in all releases: the promise is about these "
        "values, where records cannot be followed from one release to the next."
    ),
    "fresh": "It was made as if there were no earlier one, and found to be safe together with them.",
}
_PEOPLE = {
    "new": "people published for the first time",
    "kept": "people who were published before",
    "gone": "people of earlier releases who have left",
    "passed_on": "newcomers who took over the place of somebody who left",
    "resting": "people withheld because their group cannot be shown",
    "waiting": "newcomers withheld until there are more of them",
}


def together_section(facts: dict[str, Any]) -> Section | None:
    """What all releases leave to somebody who has them; None without a ledger."""
    together = facts["together"]
    if together is None:
        return None
    tables = []
    if "people" in together:
        rows = [[words, together["people"][name]] for name, words in _PEOPLE.items()]
        tables.append(Table(("people", "how many"), rows))
    return Section("together", "Together with earlier releases", together_sentences(together), tables=tables)


def together_sentences(together: dict[str, Any]) -> list[str]:
    """Sentences for the person who signs."""
    found = [
        f"This is release {together['release']} of its ledger. Whoever has all releases so far is left with "
        f"at least {counted(together['candidates'], 'record')} that may be a person's.",
        _WAYS[together["again"]],
    ]
    if together["counterfeits"]:
        are = counted(together["counterfeits"], "record is a counterfeit", "records are counterfeits")
        found.append(
            f"{are}: nobody's, published so that no group lacks a sensitive value. Whoever counts records "
            "counts them, too."
        )
    if together["ratio"] is not None:
        found.append(
            f"It loses {together['ratio']:.2f} times the information that a release on its own would lose."
        )
    return found
