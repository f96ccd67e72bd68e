"""Questions about specs: read them, write their files out, say what is impossible and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kohort import datasets
from kohort.algorithms import ALGORITHMS, ITEMS_ALGORITHMS
from kohort.data.hierarchies.build_hierarchy import FileSource
from kohort.errors import InputError, KohortError
from kohort.io.data_files import read_data, write_basket_file
from kohort.io.databases import database
from kohort.io.hierarchies import read_source
from kohort.io.read_spec import read_spec_text as text_of_spec
from kohort.io.read_spec import with_files
from kohort.io.tables import write_table
from kohort.io.yaml_text import load_yaml
from kohort.job.choose import choose
from kohort.job.prepare import prepare
from kohort.problem.costs import COSTS
from kohort.statement.from_yaml import Written, read_written
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.statement.items import BASKETS, BasketShape
from kohort.studio.worker.trees import over
from kohort.studio.worker.workplace import Items, Source, Workplace

_HOSPITAL_RECORDS = 10_000
_BASKETS: dict[str, Any] = {"n": 10_000, "n_items": 200, "mean_size": 4, "seed": 1}
_TABLES: dict[str, Callable[[], Any]] = {
    "health": datasets.load_health,
    "adult": datasets.load_adult,
    "hospital": lambda: datasets.generate_hospital(_HOSPITAL_RECORDS),
}


def write_builtin(workplace: Workplace, *, name: str, path: str) -> dict[str, Any] | None:
    """Write a built-in table to a file; return its example spec, if it has one."""
    if name == "baskets":
        write_basket_file(datasets.generate_baskets(**_BASKETS), path, BasketShape())
        return None
    if name not in _TABLES:
        raise InputError(f"There is no built-in table {name!r}.")
    workplace.tell("writing the table", 0.0)
    write_table(_TABLES[name](), path)
    return read_spec_path(workplace, path=datasets.example_spec(name), source={"path": path})


def write_query(workplace: Workplace, *, url: str, query: str, path: str) -> None:
    """Write what a query of a database gives to a private file; the password is in the environment."""
    workplace.tell("asking the database", 0.0)
    table = read_data(database(url, query=query)).table
    write_table(table, path)


def read_spec_path(workplace: Workplace, *, path: str, source: Source) -> dict[str, Any]:
    """A spec as plain data; the hierarchy files that it names are written out over the table's values."""
    content, spec = _written(path)
    own = {BASKETS: content["items"]} if "shape" in spec.fields else content.get("attributes", {})
    for name, column in _with_file(spec):
        if name not in own:
            raise InputError(
                f"This spec names a hierarchy file for {name!r} of the events, which the studio opens later. "
                "Leave it out, and import the file at its column."
            )
        file = read_source(column.hierarchy, beside=Path(path).parent)
        own[name]["hierarchy"] = over(file, workplace.column(source, name, _items_asked(spec, column)), name)
    return content


def _written(path: str) -> tuple[dict[str, Any], Written]:
    """The content of a spec, and what it says part by part."""
    text, _ = text_of_spec(Path(path))
    content, lines = load_yaml(text, name=Path(path).name)
    return content, read_written(content, name=Path(path).name, lines=lines)


def _with_file(spec: Written) -> list[tuple[str, Any]]:
    """The columns whose hierarchy is a file, the first first."""
    columns = spec.fields["columns"].items()
    return [(name, column) for name, column in columns if isinstance(column.hierarchy, FileSource)]


def _items_asked(spec: Written, column: Any) -> Items | None:
    """How to read the items of a column of the spec; None for a column of single values."""
    if column.role != "items":
        return None
    without = [item for promise in spec.privacy.items for item in promise.sensitive]
    return {"separator": column.separator, "without": without}


def shape_in_spec(workplace: Workplace, *, path: str) -> dict[str, Any] | None:
    """How the spec in a file says that baskets are held; None where it is for a table."""
    shape = _written(path)[1].fields.get("shape")
    return None if shape is None else asdict(shape)


def read_spec_text(workplace: Workplace, *, text: str, name: str) -> dict[str, Any]:
    """A spec that came from the browser, as plain data; it may name no files of this machine."""
    content, lines = load_yaml(text, name=name)
    if named := [column for column, _ in _with_file(read_written(content, name=name, lines=lines))]:
        raise InputError(
            f"This spec names a hierarchy file for {', '.join(map(repr, named))}, and the studio opens no "
            "file that a page names. Start it with kohort studio DATA --spec SPEC, or import the file at its "
            "column."
        )
    return content


def check_spec(
    workplace: Workplace, *, source: Source, spec: dict[str, Any], events: Source | None = None
) -> dict[str, Any]:
    """Whether a spec can be met on a table, and which algorithm would be used; else the reason."""
    try:
        request = with_files(parse_spec(spec))
        second = None if events is None else workplace.dataset(events)
        choice = choose(prepare(workplace.dataset(source), request, second).problem, request)
    except KohortError as error:
        return {"possible": False, "kind": type(error).__name__, "reason": str(error)}
    return {"possible": True, "algorithm": choice.name, "notes": list(choice.notes)}


def algorithms(workplace: Workplace, *, for_items: bool = False) -> dict[str, Any]:
    """The algorithms for tables, or for items, and the costs, each with what it does."""
    known: Mapping[str, Any] = ITEMS_ALGORITHMS if for_items else ALGORITHMS
    return {
        "algorithms": [
            {"name": name, "summary": found.summary, "promise": found.promise}
            for name, found in known.items()
        ],
        "costs": [{"name": name, "meaning": cost.meaning} for name, cost in COSTS.items()],
    }
