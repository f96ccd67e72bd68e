"""Refusals: whether what is refused really cannot be done, or is a documented limit."""

from __future__ import annotations

import re
from fractions import Fraction

from by_definition.itemsets import highest_uncertainty
from by_definition.optimum import least_total
from by_definition.original_columns import OriginalColumn
from fuzz.case import Case, python_values
from fuzz.judge_models import satisfied

__all__ = ["refusal_complaints"]

MOST_RECORDS = 7  # for trying all partitions
DOCUMENTED = (  # the error's class, and what its message has in it
    ("UnsupportedError", "needs a hierarchy for column"),
    ("UnsupportedError", "cannot minimise"),
    ("UnsupportedError", "cannot be minimised over free intervals or sets"),
    ("UnsupportedError", "publishes the labels of the hierarchies"),
    ("UnsupportedError", "full-domain would have to search"),
    ("UnsupportedError", "incognito would have to examine"),
    ("UnsupportedError", "Time ran out before a full-domain generalization"),
    ("UnsupportedError", "does not round alpha up, and without that"),
    ("UnsupportedError", r"does not satisfy the models \(alpha with rounding: ceiling"),
    ("UnsupportedError", "k-anon looks at every set"),
    ("UnsupportedError", "not for tight labels. Use labels: hierarchy"),
    ("UnsupportedError", " is for k = "),
    ("UnsupportedError", "(its limit is|the limit of)"),
    ("UnsupportedError", "Under a scheme every value is published in one way only"),
    ("UnsupportedError", "A scheme needs all values"),
    ("UnsupportedError", "The scheme .* needs a hierarchy"),
    ("UnsupportedError", "does not support .* Choose"),
    ("UnsupportedError", "improve does not support this kind of"),
    ("UnsupportedError", "makes no groups that could be united"),
    ("UnsupportedError", "compares every class with the whole table"),
    ("UnsupportedError", r"publishes some of its values as `\*`"),
    ("UnsupportedError", "A table with items cannot withhold"),
    ("UnsupportedError", "Items have one cost"),
    ("UnsupportedError", "counts records, and in this table people have several"),
    ("UnsupportedError", "proves its result for records that all count the same"),
    ("InputError", "records are of one person"),
    ("InputError", "All attribute weights are 0"),
    ("InputError", "nulls: refuse is set"),
    ("InputError", "holds no items"),
    ("InputError", "named like a sensitive item"),
    ("InputError", "'suppression' must be below 1"),
)


def refusal_complaints(case: Case, kind: str, message: str) -> list[str]:
    """A refusal that is neither true nor documented."""
    if kind == "InfeasibleError":
        return _infeasible_complaints(case, message)
    if "missing from it" in message and _lacks_leaves(case):
        return []
    if any(kind == known and re.search(text, message) for known, text in DOCUMENTED):
        return []
    return [f"refusal: {kind}: {message}"]


def _infeasible_complaints(case: Case, message: str) -> list[str]:
    if not case.quasi or " items, so k can be at most" in message:
        return _baskets_complaints(case, message)
    if case.k > case.n or (case.person is not None and case.k > len(set(case.columns[case.person].values))):
        return []
    orders = case.options.get("orders", {})
    originals = {
        name: OriginalColumn(python_values(case.columns[name]), orders.get(name)) for name in case.sensitive
    }
    if case.items is not None and not satisfied(case, originals, range(case.n)):
        return []
    ceiling = any(model.get("rounding") == "ceiling" for model in case.privacy)
    if not ceiling and satisfied(case, originals, range(case.n)):
        return [f"infeasible: the whole table as one class keeps everything, yet: {message}"]
    searched = "No full-domain generalization" in message or "No release was found" in message
    if searched or case.options.get("suppression"):
        return []
    if case.n <= MOST_RECORDS:
        least = least_total(case.n, lambda _: 0.0, lambda rows: satisfied(case, originals, rows))
        if least == 0.0:
            return [f"infeasible: there is a valid partition, yet: {message}"]
    return []


def _lacks_leaves(case: Case) -> bool:
    """Whether some value is in no path of its hierarchy, and nobody said what to do with it."""
    if case.options.get("on_missing") == "suppress":
        return False
    for name, source in case.quasi.items():
        if isinstance(source, dict) and (paths := source.get("paths", source.get("csv"))):
            texts = OriginalColumn(python_values(case.columns[name])).distinct
            if not set(texts) <= {path[0] for path in paths}:
                return True
    return False


def _baskets_complaints(case: Case, message: str) -> list[str]:
    """k is above the number of baskets with items, or a sensitive item is too frequent."""
    if "limit =" in message:
        return []
    assert case.items is not None
    sensitive = {item for m in case.privacy for item in m.get("sensitive", ())}
    separator = case.items.get("separator")
    filled, secrets = 0, []
    for basket in case.columns[case.items["column"]].values:
        given = basket if separator is None or basket is None else basket.split(separator)
        items = {item.strip() for item in given or () if item.strip()}
        filled += bool(items - sensitive)
        secrets.append((items & sensitive, bool(items - sensitive)))
    if "rho =" in message:
        return _uncertainty_complaints(case, message, secrets)
    return [] if filled < case.k else [f"infeasible: {filled} baskets have items, yet: {message}"]


def _uncertainty_complaints(case: Case, message: str, secrets: list[tuple[set[str], bool]]) -> list[str]:
    """Sensitive items alone keep rho-uncertainty, or may be dropped.

    secrets  per basket its sensitive items, and whether it has others
    """
    model = case.model("rho-uncertainty")
    assert model is not None and case.items is not None
    alone = highest_uncertainty([list(held) for held, _ in secrets], model["sensitive"], model["m"])
    beside = [list(held) for held, others in secrets if others]
    highest = max(alone, highest_uncertainty(beside, model["sensitive"], model["m"] - 1))
    if highest >= Fraction(model["rho"]) and not case.items.get("suppress"):
        return []
    return [f"infeasible: sensitive items alone imply others with {highest}, yet: {message}"]
