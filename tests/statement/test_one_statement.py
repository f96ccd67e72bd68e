"""What is asked of every golden release is the same, stated as YAML, as keywords and as flags."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import kohort as ko
from goldens.cases import CASES, ITEMS, Case, patients
from kohort import api
from kohort.cli.options import Job
from kohort.data.hierarchies.build_hierarchy import from_spec
from kohort.io.read_spec import with_files
from kohort.problem.promises import MODELS
from kohort.statement.from_yaml import from_yaml as parse_spec
from kohort.statement.options import OPTIONS

ONCE = {repr((case.attributes, case.spec)): name for name, case in CASES.items()}  # places ask the same
NAMES = sorted(ONCE.values())
TABLES = [name for name in NAMES if not CASES[name].baskets]
FLAGS = list(Job.gathered())
PER_COLUMN = {"order": "orders", "publish": "publish", "weight": "weights", "join": "joins"}
VIEWS = ("models", "km", "confidence", "items", "orders", "treatments", "perturbations", "joins", "weights")
VIEWS += ("schemes", "publish", "slot", "events", "recipients", "context", "utility", "key", "ledger")


class Stated(Exception):
    """The statement that a call of anonymize makes, before anything is done."""


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    (tmp_path / "population.csv").write_text("sex,age\nf,20\nm,30\n")
    monkeypatch.chdir(tmp_path)


def content(case: Case, **more: Any) -> dict[str, Any]:
    columns = {"attributes": dict(case.attributes), "others": "drop"} if case.attributes else {}
    return {**columns, "algorithm": "mondrian", **case.spec, **more}


def seen(request: Any) -> dict[str, Any]:
    """Everything that a statement says, of columns that have something to say."""
    found = {name: getattr(request, name) for name in (*OPTIONS, *VIEWS)}
    found["models"] = [model.to_dict() for model in request.models]
    found["roles"], found["others"] = dict(sorted(request.roles.of.items())), request.roles.others
    found["hierarchies"] = {n: h for n, h in request.hierarchies.items() if h is not None}
    found["on_missing"] = {n: how for n, how in request.on_missing.items() if how != "error"}
    found["algorithm"] = request.algorithm_name
    found["columns of events"] = found.pop("events") and request.events.key
    return found


def told(state: Callable[[], Any]) -> dict[str, Any]:
    """What a statement says, or why it is refused."""
    try:
        return seen(state())
    except ko.KohortError as error:
        return {"refused": str(error)}


def by_yaml(written: dict[str, Any]) -> dict[str, Any]:
    return told(lambda: with_files(parse_spec(written)))


def keywords(written: dict[str, Any]) -> dict[str, Any]:
    """The keywords that ask for what a spec asks for."""
    given: dict[str, Any] = {name: written[name] for name in (*OPTIONS, "others") if name in written}
    events = written.get("events", {})
    columns = {**written["attributes"], **events.get("attributes", {})}
    of = {role: [n for n, a in columns.items() if a["role"] == role] for role in api_roles()}
    given |= {"quasi_identifiers": {n: columns[n].get("hierarchy") for n in of["quasi-identifier"]}}
    for role, keyword in api_roles().items():
        if role in ("quasi-identifier", "items") or not of[role]:
            continue
        treated = {n: made(columns[n].get("treatment", default(role))) for n in of[role]}
        if keyword in ("person", "household", "weight"):
            [(name, how)] = treated.items()
            given[keyword] = name if how in ("drop", None) else {name: how}
        else:
            given[keyword] = treated
    for name in of["items"]:
        given["items"] = ko.Items(name, from_spec(columns[name]["hierarchy"]), columns[name]["separator"])
    for key, keyword in PER_COLUMN.items():
        if found := {n: a[key] for n, a in columns.items() if key in a}:
            given[keyword] = found
    if "weights" in written:
        given["weights"] = written["weights"]
    if "history" in written:
        given["history"] = written["history"]
    if events:
        given |= {"events": second(), "person": events["key"], "orphans": events["orphans"]}
    return given | {"privacy": promises(written["privacy"])}


def api_roles() -> dict[str, str]:
    return {
        "identifier": "identifiers",
        "quasi-identifier": "quasi_identifiers",
        "sensitive": "sensitive",
        "insensitive": "insensitive",
        "person": "person",
        "household": "household",
        "weight": "weight",
        "items": "items",
    }


def default(role: str) -> Any:
    return {"identifier": "drop", "sensitive": "keep", "insensitive": "keep", "weight": "drop"}.get(role)


def made(treatment: Any) -> Any:
    """A treatment of the spec as Python writes it."""
    if not isinstance(treatment, dict):
        return treatment
    [(name, size)] = treatment.items()
    kinds = {"noise": ko.Noise, "swap": ko.RankSwap, "pram": ko.Pram, "round": ko.Rounding}
    return ko.Limits(*size) if name == "limits" else kinds[name](size)


def promises(privacy: dict[str, Any]) -> list[Any]:
    left = dict(privacy)
    k, m, known = left.pop("k"), left.pop("m", None), left.pop("known", None)
    found: list[Any] = [ko.KAnonymity(k) if known is None else ko.KnownColumns(k, known)]
    found += [] if m is None else [ko.KmAnonymity(k, m)]
    by_key = {model.spec_key: model for model in MODELS.values()}
    return found + [by_key[key](**left[key]) for key in by_key if key in left]


def second() -> pa.Table:
    return pa.table({"person": ["p00"], "ward": ["east"], "ill": ["flu"]})


def by_keywords(given: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    def stop(source: Any, request: Any, **_: Any) -> None:
        raise Stated(seen(request))

    monkeypatch.setattr(api, "release_of", stop)
    rows = [{**row, "items": row["items"] or ITEMS[0]} for row in patients()]
    with pytest.raises((Stated, ko.KohortError)) as caught:
        ko.anonymize(pa.Table.from_pylist(rows), **given)
    found = caught.value
    return found.args[0] if isinstance(found, Stated) else {"refused": str(found)}


@pytest.mark.parametrize("name", TABLES)
def test_keywords_state_what_a_spec_states(name, monkeypatch):
    written = content(CASES[name])
    stated = by_keywords(keywords(written), monkeypatch)
    assert without_defaults(stated) == without_defaults(by_yaml(written))


def without_defaults(stated: dict[str, Any]) -> dict[str, Any]:
    """The statement without treatments that a column has anyway."""
    if "refused" in stated:
        return stated
    roles = stated["roles"]
    usual = {n: how for n, how in stated["treatments"].items() if how != default(roles[n])}
    return stated | {"treatments": usual}


@pytest.mark.parametrize("name", NAMES)
def test_flags_state_what_a_spec_states(name):
    written = content(CASES[name])
    said = {flag: written[flag] for flag in FLAGS if flag in written and flag != "person"}
    said |= {"k": written["privacy"]["k"]} if "k" in written["privacy"] else {}
    rest = {key: value for key, value in written.items() if key not in said}
    rest["privacy"] = {**written["privacy"], "k": 17}
    job = Job(**said)
    asked = told(lambda: with_files(parse_spec(rest, **job.changes), **job.outside))
    assert asked == by_yaml(written)


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_handed_to_anonymize_states_the_same(name, monkeypatch):
    case = CASES[name]
    more = {"events": second()} if case.events else {}
    assert by_keywords({"spec": content(case), **more}, monkeypatch) == by_yaml(content(case))
