"""Questions about specs: read them, write their files out, say what is impossible and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from kohort import datasets
from kohort.algorithms import ALGORITHMS
from kohort.data.build_hierarchy import FileSource
from kohort.errors import InputError, KohortError
from kohort.io.hierarchies import read_source
from kohort.io.read_spec import parse_spec, read_spec_file
from kohort.io.spec import Spec
from kohort.io.tables import write_table
from kohort.io.yaml_text import load_yaml
from kohort.pipeline.choose import choose
from kohort.pipeline.prepare import prepare
from kohort.problem.costs import COSTS
from kohort.studio.worker.telling import Telling
from kohort.studio.worker.trees import tree_spec
from kohort.studio.worker.workplace import Source, Workplace

__all__ = ["algorithms", "check_spec", "read_spec_path", "read_spec_text", "write_builtin"]

_HOSPITAL_RECORDS = 10_000
_TABLES: dict[str, Callable[[], Any]] = {
    "health": datasets.load_health,
    "adult": datasets.load_adult,
    "hospital": lambda: datasets.generate_hospital(_HOSPITAL_RECORDS),
}


def write_builtin(workplace: Workplace, telling: Telling, *, name: str, path: str) -> dict[str, Any]:
    """Write a built-in table to a file; return its example spec."""
    if name not in _TABLES:
        raise InputError(f"There is no built-in table {name!r}.")
    telling("writing the table", 0.0)
    write_table(_TABLES[name](), path)
    return read_spec_path(workplace, telling, path=datasets.example_spec(name), source={"path": path})


def read_spec_path(workplace: Workplace, telling: Telling, *, path: str, source: Source) -> dict[str, Any]:
    """A spec as plain data; the hierarchy files that it names are written out over the table's values."""
    text = read_spec_file(path).text
    content, _ = load_yaml(text, name=Path(path).name)
    spec = parse_spec(content)
    dataset = workplace.dataset(source)
    for name, attribute in spec.attributes.items():
        if attribute.file is not None:
            file = read_source(attribute.file, beside=Path(path).parent)
            file.findings.raise_if_broken(name)
            tree = file.over(dataset.column(name))
            assert tree is not None
            content["attributes"][name]["hierarchy"] = tree_spec(tree)
    of_events = {} if spec.events is None else spec.events.attributes
    files = [name for name, attribute in of_events.items() if attribute.file is not None]
    if files := files + _files_of_items(spec):
        raise InputError(
            f"This spec names a hierarchy file for {', '.join(map(repr, files))} of the events, which the "
            "studio opens later. Leave it out, and import the file at its column."
        )
    _refuse_baskets(spec)
    return content


def _files_of_items(spec: Spec) -> list[str]:
    """The column of items among the events, if the spec names a file for its hierarchy."""
    events = spec.events
    if events is None or events.items is None or not isinstance(events.hierarchy, FileSource):
        return []
    return [events.items]


def read_spec_text(workplace: Workplace, telling: Telling, *, text: str, name: str) -> dict[str, Any]:
    """A spec that came from the browser, as plain data; it may name no files of this machine."""
    content, _ = load_yaml(text, name=name)
    spec = parse_spec(content if isinstance(content, dict) else {})
    named = [column for column, part in spec.columns.items() if isinstance(part.hierarchy, FileSource)]
    named += _files_of_items(spec)
    if named:
        raise InputError(
            f"This spec names a hierarchy file for {', '.join(map(repr, named))}, and the studio opens no "
            "file that a page names. Start it with kohort studio DATA --spec SPEC, or import the file at its "
            "column."
        )
    _refuse_baskets(spec)
    return content


def _refuse_baskets(spec: Spec) -> None:
    if spec.items is not None:
        raise InputError("This spec is for a file of nothing but baskets. The studio is for tables.")


def check_spec(
    workplace: Workplace,
    telling: Telling,
    *,
    source: Source,
    spec: dict[str, Any],
    events: Source | None = None,
) -> dict[str, Any]:
    """Whether a spec can be met on a table, and which algorithm would be used; else the reason."""
    try:
        request = parse_spec(spec).request()
        second = None if events is None else workplace.dataset(events)
        choice = choose(prepare(workplace.dataset(source), request, second).problem, request)
    except KohortError as error:
        return {"possible": False, "kind": type(error).__name__, "reason": str(error)}
    return {"possible": True, "algorithm": choice.name, "notes": list(choice.notes)}


def algorithms(workplace: Workplace, telling: Telling) -> dict[str, Any]:
    """The algorithms for tables and the costs, each with what it does."""
    return {
        "algorithms": [
            {"name": name, "summary": found.summary, "promise": found.promise}
            for name, found in ALGORITHMS.items()
        ],
        "costs": [{"name": name, "meaning": cost.meaning} for name, cost in COSTS.items()],
    }
