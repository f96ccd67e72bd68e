"""What `import kohort` offers: the whole job in a call, on dataframes or files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from kohort.algorithms import Algorithm, ItemsAlgorithm
from kohort.algorithms.mining import closed_records
from kohort.comparison import Comparison, Frontier, Settings, compare_releases, trace_frontier
from kohort.data.hierarchies import Builder
from kohort.data.hierarchy import Hierarchy
from kohort.errors import InputError, did_you_mean
from kohort.io import hierarchies
from kohort.io.data_files import read_release
from kohort.io.databases import DatabaseTable
from kohort.io.ledger_file import read_ledger, verify_with_ledger
from kohort.io.maps import read_maps
from kohort.io.private_files import read_order
from kohort.io.read_spec import files_of, with_files
from kohort.io.source_file import sha256_of_source
from kohort.job.maps import Applied
from kohort.job.maps import apply_maps as apply_to
from kohort.job.prepare import prepare
from kohort.job.verify import verify_release
from kohort.problem.promises import KAnonymity
from kohort.profiling import profile as profiles
from kohort.progress import ShowProgress, shown_progress
from kohort.release.artefacts import ledger_for
from kohort.release.job import release_of
from kohort.release.origin import (
    Origin,
    as_named,
    events_of,
    is_named,
    named_files,
    opened,
    original_of,
    path_of,
    spec_and_folder,
    table_and_statement,
)
from kohort.release.release import Release
from kohort.risk import attack_ledger
from kohort.statement import Items, Statement
from kohort.statement.columns import columns_of, hierarchy_of
from kohort.statement.from_keywords import (
    KEYWORDS,
    Source,
    from_keywords,
    hierarchies_by_column,
    proposed_hierarchies,
    spelled_out,
)
from kohort.statement.privacy import Promise
from kohort.statement.words import Checking, ColumnWords, Ledger, Options, Person
from kohort.tables.memory import MemoryTable
from kohort.tables.table import Table
from kohort.treatments import Perturbation
from kohort.verification import Verdict
from kohort.verification.releases import GivenRelease

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    "anonymize",
    "apply_maps",
    "attack_releases",
    "compare",
    "frontier",
    "mine_closed_records",
    "profile",
    "read_hierarchy",
    "verify",
]


def anonymize(
    data: Any,
    *,
    events: Any = None,
    spec: str | Path | Mapping[str, Any] | None = None,
    quasi_identifiers: Mapping[str, Source | ColumnWords] | Sequence[str] | None = None,
    sensitive: Sequence[str] | Mapping[str, Perturbation | ColumnWords | Literal["keep"]] = (),
    identifiers: Sequence[str] | Mapping[str, ColumnWords | Literal["drop", "pseudonym", "mask"]] = (),
    insensitive: Sequence[str] | Mapping[str, Perturbation | ColumnWords | Literal["keep", "shift"]] = (),
    items: Items | Mapping[str, Source] | str | None = None,
    person: str | Mapping[str, Literal["drop", "pseudonym"]] | Person | None = None,
    others: Literal["error", "keep", "drop"] = "error",
    privacy: Sequence[Promise] | Promise = (),
    k: int | None = None,
    cost: str = "loss",
    algorithm: str | Algorithm | ItemsAlgorithm = "auto",
    suppression: float = 0.0,
    labels: Literal["hierarchy", "tight"] = "hierarchy",
    shuffle: bool | Literal["auto"] = "auto",
    seed: int = 0,
    time_limit: float | None = None,
    key: bytes | None = None,
    ledger: str | Path | Ledger | None = None,
    progress: ShowProgress = None,
    **options: Unpack[Options],
) -> Release:
    """Publish a table without giving anybody away.

    Parameters
    ----------
    data
        A pandas, Polars or PyArrow table, the path of a file, `ko.file(...)` or `ko.database(...)`. Or a
        dataframe of Spark's, which is anonymized on its cluster; with `engine="spark"`, so is a path.
    events
        A second table, of events, where `data` has one record for each person; or `ko.Events(...)` with more
        to say. `person` names the column that both have; it is published as a fresh pseudonym. Other columns
        may be of either table. With `items`, a column of the events holds items; otherwise events are linked
        records.
    spec
        A release spec (file or mapping) instead of everything else but `data`, `events`, `key`, `ledger`,
        `engine`, `progress`, `stop`.
    quasi_identifiers
        Columns that others may know. As a mapping, each with a hierarchy: a builder such as
        `ko.intervals(5, 10)`, a `Hierarchy`, the path of a file, or None: then numbers and dates are
        published as any interval, other columns as the value or `*`; `ko.column(...)` says more, such as how
        much a column's detail is worth. A list of names does the same, except that columns of codes, such as
        postcodes, are masked from the right; a note says which.
    sensitive, identifiers, insensitive, others
        The other columns: what nobody may be tied to; what is dropped (or, as a mapping, replaced by a
        keyed pseudonym or masked); what is kept as it is (as a mapping, `shift` moves the dates of linked
        records); what becomes of the rest. As a mapping, sensitive and insensitive columns may be perturbed,
        such as `{"wage": ko.Noise(0.1)}`, which makes no promise.
    items
        The column that holds a set of items per record, alone or beside quasi-identifiers: its name, a
        mapping from its name to a hierarchy, or `ko.Items(...)` with more to say. `ko.KmAnonymity` is the
        promise for it, with `ko.ItemConfidence` or `ko.RhoUncertainty` for sensitive items.
    person
        The column that says whose record it is, where a person may have several: every promise then counts
        people. It is dropped. `ko.Person(...)` says more: whether the records of a person stay linked by a
        pseudonym, who lives together, how many people a record stands for.
    privacy, k
        What is promised, such as `[ko.KAnonymity(10), ko.LDiversity("diagnosis", 3)]`. `k=10` is short for
        `ko.KAnonymity(10)` and goes together with other models in `privacy`.
    cost, algorithm
        The measure to minimise and how, by name (or an algorithm with its parameters).
    suppression, suppressed
        The share of records that may be withheld, and whether they become `*` or are left out.
    labels
        `hierarchy`: node labels; `tight`: the interval or set of values that each class really has.
    shuffle
        Whether records are published in another order: `auto` and True do so, False keeps the original one.
    seed, time_limit
        For everything that is drawn at random; seconds after which the best release so far is used.
    key
        The secret for pseudonyms and the ledger, at least 16 bytes.
    ledger
        The file of a ledger, or `ko.Ledger(...)` with how it is used. It ties releases of the same people
        together (with `person` and `key`): made by the first release, extended by each later one when that
        is written. `release.facts()["counterfeits"]` says how many records of nobody's were published.
    progress
        None: a bar in notebooks, nothing elsewhere. True: a line on stderr there. False: nothing. Or a
        function that is called with what is being done and the share that is done.

    Less often:

    sample
        The share of the records that is drawn at random and published; the others are left out.
    nulls, on_missing
        What a missing value is; what becomes of values missing from a hierarchy.
    formulas
        Texts that begin like a formula, in CSV files: written as they are, or after an apostrophe (`escape`).
    scheme
        How values may be merged, in all records alike: `bhs`, `ghs`, `gops`, `ops`, `gsps` or `sps`, or a
        mapping from columns to these. Asks for `optimal-recoding` unless another search is named.
    diversify_weight
        Where groups are united until the models hold: how much the cost counts, from 0 to 1.
    shift_days
        The most days by which the dates of a person move, where a column is shifted.
    title, owner
        The name of the data set and who is responsible for the release, for the report and the certificate.
    recipients, context, utility
        For the dossier: who gets the release (mappings with `name`, `knows`, `controls`, `review`), answers
        to questions of context, and analyses such as `{"models": ["income ~ age + sex"]}`.
    engine
        Where to compute.
    stop
        A function that is asked again and again during the search, such as `is_set` of an event: once it
        returns True, the best release found so far is published.
    household, weight, history, orphans, weights, publish, orders, joins, again, counterfeits, header
        Old keywords: a FutureWarning says what to write.

    Examples
    --------
    >>> import pyarrow as pa, kohort as ko
    >>> people = pa.table({"age": [21, 22, 41, 42], "illness": ["flu", "cold", "flu", "cough"]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(10, 20)}, sensitive=["illness"],
    ...     privacy=[ko.KAnonymity(2)],
    ...     shuffle=False,
    ... )
    >>> release.table["age"].to_pylist()
    ['[20, 30)', '[20, 30)', '[40, 50)', '[40, 50)']

    The shortest way:

    >>> release = ko.anonymize(people, quasi_identifiers=["age"], sensitive=["illness"], k=2, shuffle=False)
    >>> release.table["age"].to_pylist()
    ['[21, 22]', '[21, 22]', '[41, 42]', '[41, 42]']
    """
    said: dict[str, Any] = locals()
    given = spelled_out({**said.pop("options"), **said})
    if spec is not None:
        _refuse_besides_spec(given)
    read, beside = (from_keywords(given), Path()) if spec is None else spec_and_folder(spec)
    ledger_file = None if given["ledger"] is None else Path(given["ledger"])
    tied = ledger_for(ledger_file, key, read.roles.only("person"))
    request = with_files(read, beside=beside, key=key, engine=given["engine"], ledger=tied)
    reads = named_files(data, given["events"], spec, *files_of(read, beside=beside))
    origin = Origin(shape=read.shape, reads=reads, making=_name_of(data), ledger=ledger_file)
    with shown_progress(progress) as report:
        header = given.get("header")
        sources = [original_of(data, request, read.shape, header=header, progress=report)]
        if given["events"] is not None:
            sources.append(events_of(given["events"], header))
        tables = [source.dataset for source in sources]
        proposed = {} if spec is not None else proposed_hierarchies(request, quasi_identifiers, tables)
        return release_of(
            sources,
            request.with_columns(hierarchy={name: hierarchy_of(how) for name, how in proposed.items()}),
            origin=origin,
            progress=report,
            notes=_notes(proposed),
            stop=given.get("stop"),
        )


def _notes(proposed: Mapping[str, Any]) -> list[str]:
    """Notes that say which hierarchies were chosen."""
    return [
        f"Column {name!r} holds codes and was given no hierarchy, so it got {source}. To choose another one, "
        "give quasi_identifiers as a mapping from columns to hierarchies."
        for name, source in proposed.items()
    ]


def _name_of(data: Any) -> dict[str, str]:
    """The name of the file or table of the original, for the report; empty for a dataframe."""
    if isinstance(data, DatabaseTable):
        return {"data": data.name}
    data = path_of(data)
    return {"data": Path(data).name} if isinstance(data, (str, Path)) else {}


def _refuse_besides_spec(given: Mapping[str, Any]) -> None:
    """Raise InputError for keywords that a spec would silently overrule."""
    outside = ("events", "key", "ledger", "engine")
    besides = [
        name
        for name, default in KEYWORDS.items()
        if name not in outside and given[name] is not None and given[name] != default
    ]
    if besides:
        raise InputError(
            f"With a spec, all other options are read from it: leave out {', '.join(besides)}, or write them "
            "into the spec."
        )


def apply_maps(
    maps: str | Path,
    data: Any,
    *,
    unseen: Literal["error", "suppress"] = "error",
    k: int | None = None,
    key: bytes | None = None,
    header: bool | None = None,
) -> Applied:
    """Publish another table as a release was published: by the maps that `release.maps(path)` wrote.

    Values that the maps do not know are an error, or with `unseen="suppress"` become `*`. With a k the result
    is verified (the models of the release, with this k) or refused; without, nothing is promised about it.

    >>> import pyarrow as pa, kohort as ko, tempfile
    >>> people = pa.table({"age": [21, 22, 41, 42]})
    >>> release = ko.anonymize(
    ...     people, quasi_identifiers={"age": ko.intervals(10)}, privacy=[ko.KAnonymity(2)],
    ...     algorithm="full-domain",
    ...     shuffle=False,
    ... )
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     release.maps(file.name)
    ...     applied = ko.apply_maps(file.name, pa.table({"age": [29, 45]}))
    >>> applied.table["age"].to_pylist()
    ['[20, 30)', '[40, 50)']
    """
    dataset = opened(data, header=header).dataset
    return apply_to(read_maps(maps), dataset, unseen=unseen, k=k, key=key)


def attack_releases(ledger: str | Path, *, key: bytes) -> dict[str, Any]:
    """Attack all releases of a ledger together: how many candidates are left, and how certain values are.

    Three adversaries intersect, subtract and follow what the releases show; `kohort risk --ledger` prints the
    same figures.
    """
    found = read_ledger(ledger, key)
    if not found.entries:
        raise InputError(f"The ledger {str(ledger)!r} has no release yet.")
    return attack_ledger(found)


def verify(
    release: Any,
    *,
    spec: str | Path | Mapping[str, Any],
    original: Any = None,
    events: Any = None,
    original_events: Any = None,
    **options: Unpack[Checking],
) -> Verdict:
    """Check a release of any tool against a spec, and against its original where that is at hand.

    Where the records were shuffled, `order_file` (see `Release.order_file`) names the original of each. A
    release of people and events is two tables: `events` is the second one, `original_events` its original.
    With a `ledger` and its `key`, all of its releases are checked together; `earlier` lists those before this
    one, from the first on, each as its release, its original and its order file, as far as they are at hand.
    `header` and `original_header` say whether the first line of a file names its columns.

    >>> import pyarrow as pa, kohort as ko
    >>> spec = {"attributes": {"age": {"role": "quasi-identifier"}}, "privacy": {"k": 2}}
    >>> ko.verify(pa.table({"age": ["20-29", "20-29", "30-39"]}), spec=spec).holds
    False
    """
    for name in set(options) - set(Checking.__annotations__):
        raise TypeError(f"verify() has no {name!r}. {did_you_mean(name, Checking.__annotations__)}")
    read, beside = spec_and_folder(spec)
    current = _given_release(read, options, release, original, options.get("order_file"))
    if current.rows is not None and current.original is None:
        raise InputError(
            "An order file is used to compare a release with its original: give the original as well."
        )
    second: dict[str, Any] = {
        "events": None if events is None else _release_table(events, read, options.get("header"))
    }
    if original_events is not None:
        second["original_events"] = events_of(original_events, options.get("original_header")).dataset
    request = with_files(read, beside=beside)
    second |= {"original": current.original, "order": current.rows}
    verdict = verify_release(current.published, request, **second).verdict
    if (ledger := options.get("ledger")) is None:
        return verdict
    earlier = [_given_release(read, options, *files) for files in options.get("earlier", ())]
    together = verify_with_ledger(ledger, options.get("key"), earlier, current, request.table_models)
    return replace(verdict, checks=(*verdict.checks, *together.checks))


def _given_release(
    spec: Statement,
    options: Checking,
    release: Any,
    original: Any = None,
    order_file: str | Path | None = None,
) -> GivenRelease:
    """A release and, where they are at hand, its original and its order; beside a ledger also its hash."""
    reading = {"header": options.get("original_header"), "header_option": "original-header"}
    path = path_of(release)
    hashed = options.get("ledger") is not None and isinstance(path, (str, Path))
    return GivenRelease(
        _release_table(release, spec, options.get("header")),
        sha256_of_source(path) if hashed else None,
        None if original is None else opened(original, spec.shape, **reading).dataset,
        None if order_file is None else read_order(order_file),
    )


def _release_table(table: Any, spec: Statement, header: bool | None) -> Table:
    """A published table, which may be a file."""
    if is_named(table):
        table, reading = as_named(table, {"header": header})
        table = read_release(table, spec.shape, formulas=spec.formulas, **reading).table
    return MemoryTable(table)


def compare(
    data: Any,
    *,
    spec: str | Path | Mapping[str, Any] | None = None,
    k: Sequence[int] | None = None,
    algorithms: Sequence[str] | None = None,
    costs: Sequence[str] | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> Comparison:
    """Make a release with each algorithm, each k (and cost, l, alpha, t), and compare them in one table.

    Every release is made in a process of its own, so that its memory can be measured. One that is impossible
    is a row with the reason. Without `algorithms`, all are tried.

    Less often:

    l, alpha, t
        Values of these parameters to try as well.
    out
        A CSV file for the table: a comparison goes on where it stopped.
    queries, seed
        How many COUNT queries to ask for the query error, and the seed of these and of the people looked up.
    time_limit
        Seconds allowed for each release.
    header
        Whether the first line of a file names its columns.

    Instead of a spec, keywords of `anonymize` may say what is asked, such as `quasi_identifiers`.
    """
    return _swept(compare_releases, data, spec, k, progress, options, algorithms=algorithms, costs=costs)


def frontier(
    data: Any,
    *,
    spec: str | Path | Mapping[str, Any] | None = None,
    k: Sequence[int] | None = None,
    algorithm: str | None = None,
    progress: ShowProgress = None,
    **options: Any,
) -> Frontier:
    """Sweep k (or l, alpha or t), the rest as in the spec, and find the knee between risk and loss.

    The other options, and keywords instead of a spec, are those of `compare`.
    """
    return _swept(trace_frontier, data, spec, k, progress, options, algorithm=algorithm)


_SWEEP: dict[str, Any] = {
    **dict.fromkeys(("l", "alpha", "t", "out", "time_limit", "header")),
    "queries": Settings.queries,
    "seed": Settings.seed,
}


def _swept(
    make: Callable[..., Any],
    data: Any,
    spec: Any,
    k: Sequence[int] | None,
    progress: ShowProgress,
    options: dict[str, Any],
    **own: Any,
) -> Any:
    """The releases of a sweep, made by a function of `kohort.comparison`."""
    said = {name: options.pop(name, default) for name, default in _SWEEP.items()}
    if spec is None and options:
        options["k"] = k[0] if k else None
    out = None if said["out"] is None else Path(said["out"])
    table, read, beside = table_and_statement(data, spec, options, out, said["header"])
    settings = Settings(beside, out, said["queries"], said["seed"], said["time_limit"])
    with shown_progress(progress) as report:
        swept = {"k": k, **{name: said[name] for name in ("l", "alpha", "t")}}
        return make(table, read, settings, progress=report, **swept, **own)


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
    dataset = opened(data, header=header).dataset
    trees = hierarchies_by_column(quasi_identifiers)
    named = columns_of(
        dict.fromkeys(trees, "quasi-identifier"),
        hierarchy=trees,
        on_missing=dict.fromkeys(trees, on_missing),
    )
    request = with_files(Statement.of(columns=named, others="keep", promises=[KAnonymity(k)]))
    problem = prepare(dataset, request).problem
    found = closed_records.mine_closed_records(problem)
    columns = {
        attribute.name: [tree.published[node] for node in nodes]
        for attribute, tree, nodes in zip(problem.attributes, problem.coded.hierarchies, found.nodes.T)
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
    table = opened(data, header=header).table
    return profiles.profile(table, max_combination=max_combination, sample=sample, seed=seed)


def read_hierarchy(
    path: str | Path,
    *,
    kind: str = "auto",
    delimiter: str | None = None,
    encoding: str | None = None,
    header: bool = False,
) -> Hierarchy | Builder:
    """Read a hierarchy file: leaf first, parent/child pairs, a YAML tree or Amnesia's; refuse a broken one.

    Where the file has ranges of numbers or dates, the result builds the hierarchy for a column's values.
    """
    file = hierarchies.read_hierarchy(path, kind=kind, delimiter=delimiter, encoding=encoding, header=header)
    file.findings.raise_if_broken(Path(path).name)
    assert file.source is not None
    return file.source
