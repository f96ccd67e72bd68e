"""A release in plain words, for the person who signs: is it safe, what was done, what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from kohort import errors
from kohort.algorithms import EVERY_ALGORITHM
from kohort.errors import counted
from kohort.problem.costs import COSTS

_SMALL_GAP = 0.05  # below it, no search can bring much


def percent(share: float | None) -> str:
    """A share as text for people: 0 and 100 % only where they are exact, never with an exponent.

    >>> percent(0.9999), percent(1e-7), percent(14.4), percent(None)
    ('almost 100 %', 'under 0.01 %', '1,440 %', '-')
    """
    if share is None:
        return "-"
    if 0 < share < 0.0001:
        return "under 0.01 %"
    if 0.9995 <= share < 1:
        return "almost 100 %"
    return f"{100 * share:,.0f} %" if share >= 10 else errors.percent(share)


def capitalized(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def withheld_text(facts: dict[str, Any]) -> str:
    """How many records are withheld; public reports do not show a small number."""
    if facts["suppressed"] is None:
        return f"fewer than {facts['smallest_class']:,}"
    return f"{facts['suppressed']:,}"


def extent(facts: dict[str, Any]) -> str:
    """How many records, of how many people, are in how many classes, and how many are withheld."""
    smallest = ""
    if facts["smallest_class_people"] is not None:
        smallest = f", none with fewer than {facts['smallest_class_people']:,} people"
    elif facts["smallest_class"] is not None:
        smallest = f", the smallest with {facts['smallest_class']:,}"
    people = "" if facts["people"] is None else f" of {facts['people']:,} people"
    return (
        f"{counted(facts['records'], 'record')}{people} in {counted(facts['classes'], 'class', 'classes')}"
        f"{smallest}; {withheld_text(facts)} withheld."
    )


def verdict_sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences that say whether the release is safe, for people who do not know the models."""
    if not facts["holds"]:
        return ["At least one promise does not hold. Do not publish this."]
    columns = len(facts["quasi_identifiers"])
    words = []
    if columns and facts["smallest_class"] is not None:
        known = "the quasi-identifier" if columns == 1 else f"all {columns} quasi-identifiers"
        words.append(
            f"Somebody who knows {known} of a person finds at least {_look_alikes(facts)}"
            + (" Withheld records are not among them." if facts["suppressed"] != 0 else "")
        )
    others = [model for model in facts["models"] if model["model"] != "k-anonymity"]
    if others:
        words.append(
            f"{'It is also' if words else 'It is'} promised: {'; '.join(m['promise'] for m in others)}."
        )
    unknown = "" if facts["together"] is None else " that no ledger ties"
    words.append(
        "All of this was measured on the published table itself. It does not protect against somebody who "
        f"knows a sensitive value already, or who puts several releases about the same people{unknown} "
        "together."
    )
    return words


def _look_alikes(facts: dict[str, Any]) -> str:
    if facts["smallest_class_people"] is None:
        records = counted(facts["smallest_class"], "record")
        return f"{records} that look alike, and cannot know which of them is that person's."
    people, records = facts["smallest_class_people"], facts["smallest_class"]
    return (
        f"{people:,} people whose records look alike ({records:,} records or more), and cannot know which of "
        "them it is."
    )


def method_sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences that say what was done and why."""
    return [*_columns(facts), *_algorithm(facts), *_quality(facts)]


def _columns(facts: dict[str, Any]) -> list[str]:
    quasi, sensitive = facts["quasi_identifiers"], facts["sensitive"]
    words = []
    if quasi:
        words.append(
            f"The {counted(len(quasi), 'quasi-identifier')} ({_listed(quasi)}) may be known to others, so "
            f"{'its' if len(quasi) == 1 else 'their'} values were generalized until every promise held."
        )
    if facts.get("items"):
        items = facts["items"]
        words.append(
            f"The {counted(items['items'], 'item')} of {items['column']!r} were generalized to "
            f"{items['published_items']:,} by {items['algorithm']}." + dropped_items(items)
        )
    if sensitive:
        words.append(
            f"Sensitive columns are published unchanged: {_listed(sensitive)}. The table below says "
            "what is promised about them."
        )
    roles = facts.get("roles", {})
    identifiers = [name for name, role in roles.items() if role == "identifier"]
    if identifiers:
        words.append(f"These columns were dropped or replaced: {_listed(identifiers)}.")
    return words


def _listed(names: list[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"


def _algorithm(facts: dict[str, Any]) -> list[str]:
    known: Any = EVERY_ALGORITHM.get(facts["algorithm"])
    if known is None:  # an algorithm of the user's own
        return [f"The release was made by {facts['algorithm']}."]
    given = parameters_text(facts)
    return [
        f"The release was made by {facts['algorithm']}{f' ({given})' if given else ''}: "
        f"{_sentence(known.summary)} Its guarantee: {_sentence(known.promise)}"
    ]


def parameters_text(facts: dict[str, Any]) -> str:
    """The parameters of the algorithm in a line; empty where it has none."""
    return ", ".join(f"{name} = {value}" for name, value in facts["parameters"].items())


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _quality(facts: dict[str, Any]) -> list[str]:
    cost = facts["cost"]
    meaning = f" ({COSTS[cost].meaning})" if cost in COSTS else ""
    reached = f", and reached {number(facts['loss'][cost])}" if cost in facts["loss"] else ""  # not in public
    words = [f"It minimised the cost {cost!r}{meaning}{reached}."]
    for name, gap, proven in (
        ("bound", "gap", "It is checked"),
        ("solver_bound", "solver_gap", "A solver says"),
    ):
        if facts[name] is None:
            continue
        than = f" than {number(facts[name])}" if facts[gap] != 0 else ""
        if than and facts[gap] is not None and facts[gap] <= 1:
            than += f": this one costs at most {percent(facts[gap])} more than the best possible"
        words.append(f"{proven} that no release that keeps these promises can cost less{than}.")
    return [*words, *factor_sentences(facts)]


def advice_sentences(facts: dict[str, Any]) -> list[str]:
    """Sentences that advise the person who signs, given what was found."""
    if facts["report"] == "public":
        return []
    advice = _about_attack(facts)
    if facts["cautions"]:
        advice.append(
            "Decide about what is not protected (see the top of this page): follow the advice there and run "
            "again, or make sure that nobody can be harmed by it."
        )
    advice += _about_loss(facts)
    advice.append(
        "Publish the release with its certificate and the public version of this report "
        "(--report-version public). Keep this version: it shows values of the original."
    )
    if facts["together"] is None:
        advice.append("To publish again about the same people, tie the releases together by a ledger.")
    return advice


def _about_attack(facts: dict[str, Any]) -> list[str]:
    attack, allowed = facts["risk"]["linkage"], facts["risk"]["threshold"]
    if attack is None or attack["after"]["maximum"] <= allowed * (1 + 1e-9):
        return []
    return [
        f"The attack found one person with a chance of {percent(attack['after']['maximum'])}, more than the "
        f"{percent(allowed)} that k allows."
    ]


def _about_loss(facts: dict[str, Any]) -> list[str]:
    """Advice where much detail is lost; another algorithm only where it could help."""
    lost = facts["loss"].get("loss")
    if lost is None or lost < 0.5:
        return []
    worst = max(facts["attributes"], key=lambda attribute: attribute["loss"])
    return [
        f"Much detail is lost, most of it in {worst['name']!r}. Give that column a finer hierarchy or leave "
        "it out, ask whether others really know every quasi-identifier, or try a smaller k."
        + _search_longer(facts)
    ]


def _search_longer(facts: dict[str, Any]) -> str:
    """What another search could bring; empty where the release is nearly the best possible."""
    gaps = [gap for gap in (facts["gap"], facts["solver_gap"]) if gap is not None]
    if gaps and min(gaps) < _SMALL_GAP:
        return ""
    if facts["algorithm"] == "improve":
        return " A longer time limit may find a better release." if facts["cut_by_time"] else ""
    if not facts["improvable"]:
        return ""
    return " The algorithm improve may find a release that loses less."


def factor_sentences(facts: dict[str, Any]) -> list[str]:
    """A sentence on the approximation factor with what it rests on, if there is one."""
    if facts["guarantee"] is None:
        return []
    claim = facts["evidence"]["guarantee"]
    return [
        f"The cost is at most {facts['guarantee']:.2f} times the least possible "
        f"({claim['evidence']}: {claim['reason']})."
    ]


def dropped_items(items: dict[str, Any]) -> str:
    """A sentence, after a space, on the items that were dropped from their baskets; empty where none was."""
    if not items["dropped"]:
        return ""
    return (
        f" {items['dropped']:,} of {items['occurrences']:,} items in baskets "
        f"({errors.percent(items['dropped_share'])}) were dropped."
    )


def beside_the_best(facts: dict[str, Any]) -> str:
    """How far the cost is above the least possible, and by whose word; empty where nothing is known."""
    said = []
    for bound, gap, word in (
        ("bound", "gap", "checked"),
        ("solver_bound", "solver_gap", "solver, not checked"),
    ):
        if facts[bound] is None:
            continue
        if facts[gap] is None or facts[gap] > 1:
            said.append(f"no release can lose less than {number(facts[bound])} ({word})")
        elif facts[gap] == 0:
            said.append(f"the least possible ({word})")
        else:
            said.append(f"at most {errors.percent(facts[gap])} more than the best possible ({word})")
    return "".join(f", {text}" for text in said)


def number(value: float | int | None) -> str:
    """A number as text for people: whole numbers with commas, others with four digits."""
    if value is None:
        return "-"
    if float(value).is_integer() and abs(value) >= 2:
        return f"{int(value):,}"
    return f"{value:.4g}"


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


@dataclass(frozen=True)
class TrafficLight:
    """Green: all promises hold. Amber: they hold, and leave something unprotected. Red: one is broken."""

    colour: Literal["green", "amber", "red"]
    title: str

    @property
    def terminal_style(self) -> str:
        """The name of the colour for the terminal."""
        return "yellow" if self.colour == "amber" else self.colour


def traffic_light_of(facts: dict[str, Any], *, green: str = "Safe to publish as promised") -> TrafficLight:
    """The traffic light of these facts; `green` is its title if there is nothing to add."""
    if not facts["holds"]:
        found = [*facts["models"], *facts["checks"]]
        only = bool(facts.get("claims")) and all(one["holds"] is not False for one in found)
        return TrafficLight("red", "The certificate is false" if only else "The promise does not hold")
    if facts.get("unmeasured"):
        return TrafficLight("amber", "What was checked holds, but not everything was checked")
    if facts["cautions"]:
        return TrafficLight("amber", "Every promise holds, but not everything is protected")
    return TrafficLight("green", green)


def advice_of(facts: dict[str, Any]) -> list[str]:
    """The advice of the cautions, each sentence once."""
    return list(dict.fromkeys(caution["advice"] for caution in facts["cautions"]))


def spec_to_add(facts: dict[str, Any]) -> str | None:
    """All that the cautions suggest to add to the spec, as YAML; None if they suggest nothing."""
    import yaml

    merged: dict[str, dict[str, list[Any]]] = {}
    for caution in facts["cautions"]:
        for section, keys in (caution["add"] or {}).items():
            for key, entries in keys.items():
                merged.setdefault(section, {}).setdefault(key, []).extend(entries)
    if not merged:
        return None
    return yaml.safe_dump(merged, sort_keys=False, default_flow_style=None, allow_unicode=True, width=10_000)
