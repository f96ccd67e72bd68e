"""Commands that need no table: kohort algorithms, models, compile, key and ledger show."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.table import Column

from kohort.algorithms import EVERY_ALGORITHM, algorithm_named, parameters_of
from kohort.cli.commands import Algorithms, Compile, Key, Models, ShowLedger
from kohort.cli.console import Output, table
from kohort.cli.sources import secret_key
from kohort.errors import counted
from kohort.io.ledger_file import read_ledger
from kohort.parameters import annotations_of, wanted
from kohort.problem.costs import COSTS
from kohort.problem.promises import ITEM_MODELS, MODELS, Model


def algorithms(asked: Algorithms, output: Output) -> None:
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "summary": algorithm.summary,
            "paper": algorithm.paper,
            "guarantee": algorithm.promise,
            "models": list(algorithm.models),
            "costs": list(algorithm.costs),
            "parameters": _parameters(algorithm),
        }
        for name, algorithm in EVERY_ALGORITHM.items()
    ]
    _show(output, "algorithm", "what it does", rows, _lines_of_algorithm)


def _lines_of_algorithm(row: dict[str, Any]) -> list[str]:
    of = [f"{name}: {_listed(row[name], known)}" for name, known in (("models", MODELS), ("costs", COSTS))]
    return [row["summary"], f"guarantee: {row['guarantee']}", *of]


def _show(
    output: Output,
    what: str,
    said: str,
    rows: list[dict[str, Any]],
    lines_of: Callable[[dict[str, Any]], list[str]],
) -> None:
    """Show what is said of each row, in a table that fits a terminal of 80 columns."""
    output.result(rows)
    cells = [(row["name"], "\n".join(lines_of(row))) for row in rows]
    output.show(table([Column(what, no_wrap=True), said], cells, show_lines=True))


def _parameters(algorithm: Any) -> dict[str, dict[str, Any]]:
    """The type, in words, and the default of every parameter, by its name."""
    defaults = parameters_of(algorithm())
    return {
        name: {"type": wanted(annotation), "default": defaults[name]}
        for name, annotation in annotations_of(algorithm).items()
    }


def _listed(names: Sequence[str], known: Collection[str]) -> str:
    """The names in a line; `all` where it is all of them."""
    return "all" if set(names) == set(known) else ", ".join(names)


ADULT_LOSS: dict[str, dict[str, float]] = {
    "k-anonymity": {"mondrian": 0.03, "improve": 0.025, "full-domain": 0.588},
    "risk-limit": {"mondrian": 0.055, "improve": 0.044},
    "l-diversity": {"mondrian": 0.219, "improve": 0.085},
    "alpha-deassociation": {"mondrian": 0.072, "improve": 0.035},
    "t-closeness": {"mondrian": 0.832, "improve": 0.453},
    "delta-disclosure": {"mondrian": 0.877, "improve": 0.877},
    "beta-likeness": {"mondrian": 0.565, "improve": 0.31},
    "known-columns": {"mondrian": 0.03, "improve": 0.026, "full-domain": 0.522},
    "k-map": {"mondrian": 0.03, "improve": 0.025, "full-domain": 0.547},
    "delta-presence": {"full-domain": 0.522},
    "population-uniqueness": {"full-domain": 0.03},
    "differential-privacy": {"safe-pub": 0.712},
}
"""The loss of a release of Adult under each model at a usual value, by algorithm.

Measured by `python -m experiments.promises`; docs/which-promise.md has the same figures, and says how.
"""


def models(asked: Models, output: Output) -> None:
    everything: dict[str, Any] = {**MODELS, **ITEM_MODELS}
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "key": model.spec_key,
            "stops": model.stops,
            "does_not_stop": model.leaves,
            "usual": model.typical,
            "algorithms": [n for n, algorithm in EVERY_ALGORITHM.items() if name in algorithm.models],
            "by_k": name not in ITEM_MODELS and model.of_table and model.enough_k is not Model.enough_k,
            "united": not (name in ITEM_MODELS or model.of_table or model.by_sampling),
            "loss_on_adult": ADULT_LOSS.get(name, {}),
        }
        for name, model in everything.items()
    ]
    _show(output, "model", "what it promises", rows, _lines_of_model)


def _lines_of_model(row: dict[str, Any]) -> list[str]:
    others = "; others that make groups unite them" if row["united"] else ""
    others = "; others search for a k that is enough" if row["by_k"] else others
    found = ", ".join(f"{loss:.3f} by {name}" for name, loss in row["loss_on_adult"].items())
    return [
        f"stops: {row['stops']}",
        f"does not stop: {row['does_not_stop']}",
        f"usual value: {row['usual']} (privacy: {row['key']})",
        f"kept by: {', '.join(row['algorithms'])}{others}",
        *([f"loss on Adult: {found}"] if found else []),
    ]


def compile(asked: Compile, output: Output) -> None:
    from kohort.compiling import compile_algorithms  # loads the compiler
    from kohort.compiling.calls import recorded_algorithms

    names = list(dict.fromkeys(asked.algorithms or recorded_algorithms()))
    for name in names:
        algorithm_named(name)
    with output.progress() as progress:
        compiled = compile_algorithms(names, progress)
    output.result({"algorithms": names, "compiled": compiled})
    output.say(f"{compiled} kernels compiled; {', '.join(names)} can start at once.")


def key(asked: Key, output: Output) -> None:
    from kohort.files.atomic import Outputs
    from kohort.files.checked import write_checked
    from kohort.io.private_files import make_keys

    private, public = asked.private, asked.public or Path(f"{asked.private}.pub")
    outputs = Outputs([private, public], new=[private, public], private=[private])
    outputs.check()
    secret, open_ = make_keys()
    with outputs.drafts() as draft_of:
        write_checked(draft_of[private], secret)
        write_checked(draft_of[public], open_)
    output.say_whole(f"Written: {private} (keep it secret) and {public} (give it to those who check).")


def show(asked: ShowLedger, output: Output) -> None:
    found = read_ledger(asked.file, secret_key(asked.key_file))
    releases = [dict(entry.facts) for entry in found.entries]
    facts = {"person": found.person, "people": len(found.people), "releases": releases}
    output.result({"kohort": "ledger", **facts})
    output.say(f"{len(found.entries):,} releases of {len(found.people):,} people, known by {found.person!r}.")
    figures = [
        Column(name, justify="right", no_wrap=True)
        for name in ("records", "new", "kept", "gone", "candidates")
    ]
    output.show(table(["", "release", *figures], _rows(releases), box=None, show_edge=False, padding=(0, 1)))


def _rows(releases: list[dict[str, Any]]) -> Iterator[list[str]]:
    """The releases, for a terminal of 80 columns: the words in one column, the figures beside them."""
    for facts in releases:
        people, false = facts.get("people", {}), facts.get("counterfeits", 0)
        words = [facts["date"], facts["title"], facts["again"], *map(_promise, facts["models"])]
        words += [counted(false, "counterfeit")] if false else []
        figures = [facts["published"], *(people.get(name, 0) for name in ("new", "kept", "gone"))]
        figures.append(facts.get("candidates", 0))
        yield [str(facts["number"]), "; ".join(word for word in words if word), *(f"{n:,}" for n in figures)]


def _promise(model: dict[str, Any]) -> str:
    named = [f"{name} {model[name]}" for name in ("k", "l", "alpha") if name in model]
    about = f" of {model['attribute']}" if model.get("attribute") else ""
    return ", ".join(named) + about
