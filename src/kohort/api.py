"""What `import kohort` offers: the whole job in a call, on dataframes or files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import Any, Literal, TypeVar

import pyarrow as pa

from kohort.algorithms import Algorithm, ItemsAlgorithm, Progress
from kohort.algorithms.hierarchy_trees import hierarchies_of
from kohort.algorithms.local import closed_records
from kohort.algorithms.local.diversify import WEIGHT
from kohort.comparison import Comparison, Frontier, Settings, compare_releases, trace_frontier
from kohort.data import profile as profiles
from kohort.data.build_hierarchy import Builder, FileSource, from_spec
from kohort.data.column import text_of
from kohort.data.dataset import Dataset
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError
from kohort.io import hierarchies
from kohort.io.baskets import BasketShape, read_data, read_release
from kohort.io.hierarchies import read_source
from kohort.io.maps import read_maps
from kohort.io.order_file import read_order
from kohort.io.outputs import Outputs
from kohort.io.spec import Spec, parse_spec, read_spec
from kohort.io.tables import TableFile
from kohort.io.verify import verify_release
from kohort.parameters import check_option, shown
from kohort.pipeline import Items, Release, Request, apply, make_release
from kohort.pipeline.prepare import build_problem, settled_roles
from kohort.problem.models import ItemConfidence, KAnonymity, KmAnonymity, Model
from kohort.problem.roles import Role, Roles
from kohort.verification import Verdict

__all__ = [
    "anonymize",
    "apply_maps",
    "compare",
    "frontier",
    "mine_closed_records",
    "profile",
    "read_hierarchy",
    "verify",
]

Promise = Model | KmAnonymity | ItemConfidence
ItemsPromise = TypeVar("ItemsPromise", KmAnonymity, ItemConfidence)
Source = Builder | Hierarchy | str | Path | Mapping[str, Any] | None


def anonymize(
    data: Any,
    *,
    quasi_identifiers: Mapping[str, Source] | Sequence[str] | None = None,
    sensitive: Sequence[str] = (),
    identifiers: Sequence[str] | Mapping[str, Literal["drop", "pseudonym", "mask"]] = (),
    insensitive: Sequence[str] = (),
    others: Literal["error", "keep", "drop"] = "error",
    items: Items | Mapping[str, Source] | str | None = None,
    privacy: Sequence[Promise] | Promise = (),
    cost: str = "loss",
    algorithm: str | Algorithm | ItemsAlgorithm = "auto",
    suppression: float = 0.0,
    suppressed: Literal["star", "drop"] = "star",
    labels: Literal["hierarchy", "tight"] = "hierarchy",
    weights: Mapping[str, float] | None = None,
    orders: Mapping[str, Sequence[Any]] | None = None,
    nulls: Literal["value", "star", "refuse"] = "value",
    on_missing: Literal["error", "suppress"] = "error",
    diversify_weight: float = WEIGHT,
    shuffle: bool | Literal["auto"] = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    scheme: str | Mapping[str, str] | None = None,
    key: bytes | None = None,
    joins: Mapping[str, str] | None = None,
    engine: str = "local",
    progress: Progress | None = None,
    spec: str | Path | Mapping[str, Any] | None = None,
    header: bool | None = None,
) -> Release:
    """Publish a table without giving anybody away.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow table, or the path of a file.
    quasi_identifiers
        Columns that others may know, each with a hierarchy: a builder such as `ko.intervals(5, 10)`, a
        `Hierarchy`, the path of a file, or None: then numbers and dates are published as any interval,
        other columns as the value or `*`.
    sensitive, identifiers, insensitive, others
        The other columns: what nobody may be tied to; what is dropped (or, as a mapping, replaced by a
        keyed pseudonym or masked); what is kept as it is; what becomes of the rest.
    items
        The column that holds a set of items per record, alone or beside quasi-identifiers: its name, a
        mapping from its name to a hierarchy, or `ko.Items(...)` with more to say. `ko.KmAnonymity` is the
        promise for it, with `ko.ItemConfidence` for sensitive items.
    privacy
        What is promised, such as `[ko.KAnonymity(10), ko.LDiversity("diagnosis", 3)]`.
    cost, algorithm
        The measure to minimise and how, by name (or an algorithm with its parameters).
    suppression, suppressed
        The share of records that may be withheld, and whether they become `*` or are left out.
    labels
        `hierarchy`: node labels; `tight`: the interval or set of values that each class really has.
    weights, orders
        Where detail matters more; the order of a column's values.
    nulls, on_missing
        What a missing value is; what becomes of values missing from a hierarchy.
    diversify_weight
        Where groups are united until the models hold: how much the cost counts, from 0 to 1.
    shuffle
        Whether records are published in another order: `auto` where the original order tells something.
    scheme
        How values may be merged, in all records alike: `bhs`, `ghs`, `gops`, `ops`, `gsps` or `sps`, or a
        mapping from columns to these. Asks for `optimal-recoding` unless another search is named.
    key, joins
        The secret for pseudonyms, at least 16 bytes; for columns whose pseudonyms are to be the same where
        their values are, such as `{"me": "people", "spouse": "people"}`, a name that they share.
    spec
        A release spec (file or mapping) instead of all of the above but `data`, `key`, `engine`,
        `progress`.
    header
        Whether the first line of a CSV or Excel file names its columns. If not said, a first line that may
        be a record is refused; with False the columns are called `column_1`, `column_2`, and so on.

    Examples
    --------
    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 41, 42], "illness": ["flu", "cold", "flu", "cough"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(10, 20)}, sensitive=["illness"],
    ...     privacy=[ko.KAnonymity(2)],
    ... )
    >>> release.table["age"].to_pylist()
    ['[20, 30)', '[20, 30)', '[40, 50)', '[40, 50)']
    """
    given = locals()
    if spec is not None:
        _refuse_besides_spec(given)
        read, beside = _spec(spec)
        source = _source(data, read.shape, header=header)
        request = read.request(beside=beside, key=key, engine=engine)
        return _release(source, request, progress, [data, spec, *read.files(beside=beside)])
    source = _source(data, header=header)
    found = _items(items)
    hierarchies = _hierarchies(quasi_identifiers, optional=found is not None)
    treatments = dict(identifiers) if isinstance(identifiers, Mapping) else {}
    asked = _promises(privacy)
    request = Request(
        roles=_roles(hierarchies, sensitive, identifiers, insensitive, others, found),
        models=tuple(model for model in asked if not isinstance(model, (KmAnonymity, ItemConfidence))),
        km=_one_of(KmAnonymity, asked, "keep the larger k and m"),
        confidence=_one_of(ItemConfidence, asked, "list all sensitive items in one"),
        items=found,
        hierarchies=hierarchies,
        orders=_orders({} if orders is None else orders),
        on_missing=dict.fromkeys(hierarchies, on_missing),
        treatments=treatments,
        joins=joins or {},
        key=key,
        weights={} if weights is None else weights,
        cost=cost,
        algorithm=algorithm,
        engine=engine,
        suppression=suppression,
        suppressed=suppressed,
        labels=labels,
        nulls=nulls,
        diversify_weight=diversify_weight,
        shuffle=shuffle,
        seed=seed,
        time_limit=time_limit,
        scheme=scheme if isinstance(scheme, str) else None,
        schemes={} if scheme is None or isinstance(scheme, str) else scheme,
    )
    return _release(source, request, progress, [data, *_hierarchy_files(quasi_identifiers, items)])


def apply_maps(
    maps: str | Path,
    data: Any,
    *,
    unseen: Literal["error", "suppress"] = "error",
    k: int | None = None,
    key: bytes | None = None,
    header: bool | None = None,
) -> apply.Applied:
    """Publish another table as a release was published: by the maps that `release.maps(path)` wrote.

    Values that the maps do not know are an error, or with `unseen="suppress"` become `*`. With a k the result
    is verified (the models of the release, with this k) or refused; without, nothing is promised about it.

    >>> import pyarrow as pa, kohort as ko, tempfile
    >>> people = pa.table({"age": [21, 22, 41, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(10)}, privacy=[ko.KAnonymity(2)],
    ...     algorithm="full-domain",
    ... )
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     release.maps(file.name)
    ...     applied = ko.apply_maps(file.name, pa.table({"age": [29, 45]}))
    >>> applied.table["age"].to_pylist()
    ['[20, 30)', '[40, 50)']
    """
    dataset = _dataset(data, header=header)
    return apply.apply_maps(read_maps(maps), dataset, unseen=unseen, k=k, key=key)


def verify(
    release: Any,
    *,
    spec: str | Path | Mapping[str, Any],
    original: Any = None,
    header: bool | None = None,
    original_header: bool | None = None,
    order_file: str | Path | None = None,
) -> Verdict:
    """Check a release of any tool against a spec, and against its original where that is at hand.

    Of a release in another order, `order_file` (see `Release.order_file`) says which record is which.

    >>> import pyarrow as pa, kohort as ko
    >>> spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    >>> ko.verify(pa.table({"age": ["20-29", "20-29", "30-39"]}), spec=spec).holds
    False
    """
    read, beside = _spec(spec)
    if isinstance(release, (str, Path)):
        release = read_release(release, read.shape, formulas=read.formulas, header=header).table
    published = Dataset(release)
    reading = {"header": original_header, "header_option": "original-header"}
    before = None if original is None else _dataset(original, read.shape, **reading)
    order = None if order_file is None else read_order(order_file)
    if order is not None and before is None:
        raise InputError("An order file compares a release with its original: give the original, too.")
    return verify_release(published, read, beside=beside, original=before, order=order).verdict


def compare(
    data: Any,
    *,
    spec: str | Path | Mapping[str, Any],
    k: Sequence[int] | None = None,
    algorithms: Sequence[str] | None = None,
    costs: Sequence[str] | None = None,
    l: Sequence[float] | None = None,  # noqa: E741
    alpha: Sequence[float] | None = None,
    t: Sequence[float] | None = None,
    out: str | Path | None = None,
    queries: int = 1000,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | None = None,
    header: bool | None = None,
) -> Comparison:
    """Make a release with each algorithm, each k (and cost, l, alpha, t), and compare them in one table.

    Every release is made in a process of its own, so that its memory can be told. One that cannot be had is
    a row with a reason. With `out`, a CSV file, a comparison goes on where it stopped. Without `algorithms`,
    all are tried.
    """
    table, read, beside = _table_and_spec(data, spec, out, header)
    settings = Settings(beside, None if out is None else Path(out), queries, seed, time_limit)
    swept = {"k": k, "l": l, "alpha": alpha, "t": t}
    return compare_releases(
        table, read, settings, algorithms=algorithms, costs=costs, progress=progress, **swept
    )


def frontier(
    data: Any,
    *,
    spec: str | Path | Mapping[str, Any],
    k: Sequence[int] | None = None,
    l: Sequence[float] | None = None,  # noqa: E741
    alpha: Sequence[float] | None = None,
    t: Sequence[float] | None = None,
    algorithm: str | None = None,
    out: str | Path | None = None,
    queries: int = 1000,
    seed: int = 0,
    time_limit: float | None = None,
    progress: Progress | None = None,
    header: bool | None = None,
) -> Frontier:
    """Sweep k (or l, alpha or t), the rest as in the spec, and find the knee between risk and loss."""
    table, read, beside = _table_and_spec(data, spec, out, header)
    settings = Settings(beside, None if out is None else Path(out), queries, seed, time_limit)
    swept = {"k": k, "l": l, "alpha": alpha, "t": t}
    return trace_frontier(table, read, settings, algorithm=algorithm, progress=progress, **swept)


def _dataset(data: Any, shape: BasketShape | None = None, **reading: Any) -> Dataset:
    """The records of a dataframe or of a file."""
    source = _source(data, shape, **reading)
    return Dataset(source.table if isinstance(source, TableFile) else source)


def _source(data: Any, shape: BasketShape | None = None, **reading: Any) -> Any:
    """A dataframe as it is, or a file read (a TableFile); `header` is for files only."""
    if isinstance(data, (str, Path)):
        return read_data(data, shape, **reading)
    if reading["header"] is not None:
        raise InputError("'header' is for files: a dataframe has its names. Leave it out.")
    return data


def _table_and_spec(
    data: Any, spec: str | Path | Mapping[str, Any], out: str | Path | None, header: bool | None
) -> tuple[pa.Table, Spec, Path]:
    """The table and the spec, read; refused is an output that would replace a file of them."""
    read, beside = _spec(spec)
    sources = [Path(source) for source in (data, spec) if isinstance(source, (str, Path))]
    Outputs([] if out is None else [Path(out)], reads=[*sources, *read.files(beside=beside)]).check()
    if isinstance(data, (str, Path)):
        return read_data(data, read.shape, header=header).table, read, beside
    dataset = _dataset(data, header=header)
    return pa.table({name: dataset.arrow(name) for name in dataset.names}), read, beside


def _refuse_besides_spec(given: Mapping[str, Any]) -> None:
    """Options that a spec would silently overrule."""
    besides = [
        name
        for name, parameter in signature(anonymize).parameters.items()
        if name not in ("data", "key", "engine", "progress", "spec", "header")
        and given[name]
        and given[name] != parameter.default
    ]
    if besides:
        raise InputError(
            f"The spec says it all: leave out {', '.join(besides)}, or write them into the spec."
        )


def mine_closed_records(
    data: Any,
    *,
    quasi_identifiers: Mapping[str, Source],
    k: int,
    on_missing: Literal["error", "suppress"] = "error",
    header: bool | None = None,
) -> pa.Table:
    """All closed generalized records that at least k records support, and by how many (`support`).

    A generalized record is closed if no narrower one has the same support. Every column needs a hierarchy.

    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"sex": ["f", "f", "m"], "town": ["Ayr", "Ely", "Ely"]})
    >>> found = ko.mine_closed_records(people, quasi_identifiers={"sex": ko.flat(), "town": ko.flat()}, k=2)
    >>> sorted(found.to_pylist(), key=str)  # doctest: +NORMALIZE_WHITESPACE
    [{'sex': '*', 'town': '*', 'support': 3}, {'sex': '*', 'town': 'Ely', 'support': 2},
     {'sex': 'f', 'town': '*', 'support': 2}]
    """
    dataset = _dataset(data, header=header)
    trees = _hierarchies(quasi_identifiers)
    request = Request(
        roles=Roles(dict.fromkeys(trees, "quasi-identifier"), "keep"),
        models=(KAnonymity(k),),
        hierarchies=trees,
        on_missing=dict.fromkeys(trees, on_missing),
    )
    problem = build_problem(dataset, request, settled_roles(dataset, request))
    found = closed_records.mine_closed_records(problem)
    columns = {
        attribute.name: [tree.published[node] for node in nodes]
        for attribute, tree, nodes in zip(problem.attributes, hierarchies_of(problem), found.nodes.T)
    }
    return pa.table(columns | {"support": found.weight})


def profile(
    data: Any,
    *,
    max_combination: int = 3,
    sample: int = 100_000,
    seed: int = 0,
    header: bool | None = None,
) -> profiles.Profile:
    """Look at a table before publishing it: columns, suggested roles with reasons, who stands out.

    >>> import pyarrow as pa, kohort as ko
    >>> found = ko.profile(pa.table({"age": [21, 22, 22], "illness": ["flu", "cold", "flu"]}))
    >>> [column.role for column in found.columns]
    ['quasi-identifier', 'sensitive']
    """
    dataset = _dataset(data, header=header)
    table = pa.table({name: dataset.arrow(name) for name in dataset.names})
    return profiles.profile(table, max_combination=max_combination, sample=sample, seed=seed)


def read_hierarchy(
    path: str | Path,
    *,
    kind: str = "auto",
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = False,
) -> Hierarchy:
    """Read a hierarchy file: leaf first, parent/child pairs or a YAML tree; a broken one is refused."""
    file = hierarchies.read_hierarchy(path, kind=kind, delimiter=delimiter, encoding=encoding, header=header)
    file.findings.raise_if_broken(Path(path).name)
    assert file.hierarchy is not None
    return file.hierarchy


def _spec(spec: str | Path | Mapping[str, Any]) -> tuple[Spec, Path]:
    if isinstance(spec, Mapping):
        return parse_spec(spec), Path()
    return read_spec(spec), Path(spec).parent


def _items(items: Items | Mapping[str, Source] | str | None) -> Items | None:
    if items is None or isinstance(items, Items):
        return items if items is None else replace(items, hierarchy=_hierarchy(items.column, items.hierarchy))
    if isinstance(items, str):
        return Items(items)
    if not isinstance(items, Mapping) or len(items) != 1:
        raise InputError(
            "'items' is the name of one column, a mapping from it to a hierarchy, or ko.Items(...)."
        )
    [(column, source)] = items.items()
    return Items(column, _hierarchy(column, source))


def _one_of(kind: type[ItemsPromise], asked: Sequence[Any], instead: str) -> ItemsPromise | None:
    found = [model for model in asked if isinstance(model, kind)]
    if len(found) > 1:
        raise InputError(f"{kind.name} is asked for twice: {instead}.")
    return found[0] if found else None


def _release(source: Any, request: Request, progress: Progress | None, reads: Iterable[Any]) -> Release:
    """The release of a dataframe or of a file, with what is to be said about reading the file.

    reads  what it is made from; those that are paths will not be replaced
    """
    files = tuple(Path(path).absolute() for path in reads if isinstance(path, (str, Path)))
    if not isinstance(source, TableFile):
        return replace(make_release(Dataset(source), request, progress=progress), reads=files)
    release = make_release(Dataset(source.table), request, progress=progress)
    return replace(release, notes=(*source.notes, *release.notes), reads=files)


def _hierarchy_files(quasi_identifiers: Any, items: Any) -> list[str]:
    """The files among the sources of hierarchies, in any of the forms in which these are given."""
    sources = list(quasi_identifiers.values()) if isinstance(quasi_identifiers, Mapping) else []
    sources += [items.hierarchy] if isinstance(items, Items) else []
    sources += list(items.values()) if isinstance(items, Mapping) else []
    sources = [str(source) if isinstance(source, Path) else source for source in sources]
    named = [from_spec(source) for source in sources if isinstance(source, (str, Mapping))]
    return [source.path for source in named if isinstance(source, FileSource)]


def _hierarchies(
    quasi_identifiers: Mapping[str, Source] | Sequence[str] | None, *, optional: bool = False
) -> dict[str, Any]:
    names = [] if quasi_identifiers is None else _listed(quasi_identifiers)
    if not names and optional:
        return {}
    if not names:
        raise InputError("Name the quasi_identifiers: the columns that others may know.")
    given = quasi_identifiers if isinstance(quasi_identifiers, Mapping) else dict.fromkeys(names)
    return {name: _hierarchy(name, given[name]) for name in names}


def _hierarchy(name: str, source: Source) -> Builder | Hierarchy | None:
    if isinstance(source, Path):
        source = str(source)
    if isinstance(source, (str, Mapping)):
        found = from_spec(source)
        if isinstance(found, FileSource):
            file = read_source(found)
            file.findings.raise_if_broken(name)
            return file.hierarchy
        return found
    return source


def _listed(names: Sequence[str] | Mapping[str, Any]) -> list[str]:
    """Names of columns; a single one need not be in a list."""
    listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else [names]
    if not all(isinstance(name, str) for name in listed):
        raise InputError(f"Columns are given by their names, as texts in a list. Got {shown(names)}.")
    return listed


def _promises(privacy: Sequence[Promise] | Promise) -> tuple[Promise, ...]:
    if isinstance(privacy, Promise):
        return (privacy,)
    if not isinstance(privacy, Iterable) or isinstance(privacy, (str, Mapping)):
        raise InputError(f"'privacy' lists models such as KAnonymity(10). Got {shown(privacy)}.")
    return tuple(privacy)


def _orders(orders: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
    check_option("orders", orders, Mapping[str, Any])
    for name, values in orders.items():
        if not isinstance(values, Iterable) or isinstance(values, (str, Mapping)):
            raise InputError(f"The order of {name!r} must be a list of its values. Got {shown(values)}.")
    return {name: [text_of(value) for value in values] for name, values in orders.items()}


def _roles(
    quasi_identifiers: Mapping[str, Any],
    sensitive: Sequence[str],
    identifiers: Sequence[str] | Mapping[str, Any],
    insensitive: Sequence[str],
    others: Literal["error", "keep", "drop"],
    items: Items | None,
) -> Roles:
    given: list[tuple[str, Role]] = [(name, "quasi-identifier") for name in quasi_identifiers]
    given += [(name, "sensitive") for name in _listed(sensitive)]
    given += [(name, "identifier") for name in _listed(identifiers)]
    given += [(name, "insensitive") for name in _listed(insensitive)]
    given += [] if items is None else [(items.column, "items")]
    roles: dict[str, Role] = {}
    for name, role in given:
        if name in roles:
            raise InputError(f"Column {name!r} has two roles: {roles[name]} and {role}. Give it one.")
        roles[name] = role
    return Roles(roles, others)
