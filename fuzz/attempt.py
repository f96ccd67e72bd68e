"""Hand a case to Kohort: a release, a refusal, or something that should not be."""

from __future__ import annotations

import csv
import tempfile
import time
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kohort as ko
from fuzz.case import Case
from fuzz.frames import FILE_KINDS, as_lists, frame_of, same_kind
from fuzz.spec import spec_of
from kohort.algorithms import ALGORITHMS
from kohort.errors import InternalError, KohortError

__all__ = ["Outcome", "arguments_of", "attempt"]

MODELS = {
    "k-anonymity": ko.KAnonymity,
    "l-diversity": ko.LDiversity,
    "alpha-deassociation": ko.AlphaDeassociation,
    "t-closeness": ko.TCloseness,
    "delta-disclosure": ko.DeltaDisclosure,
    "beta-likeness": ko.BetaLikeness,
    "km-anonymity": ko.KmAnonymity,
    "item-confidence": ko.ItemConfidence,
    "rho-uncertainty": ko.RhoUncertainty,
}


@dataclass
class Outcome:
    """What came of a case.

    release   and its table as lists, or None
    refusal   the class and the message of an error that Kohort raised on purpose, or None
    crash     a traceback of anything else, or None
    worked    seconds that processors were busy with it
    """

    release: Any = None
    table: dict[str, list] | None = None
    refusal: tuple[str, str] | None = None
    crash: str | None = None
    worked: float = 0.0


def attempt(case: Case) -> Outcome:
    """Anonymize the case's table. Warnings are errors."""
    with tempfile.TemporaryDirectory() if _needs_files(case) else _Nowhere() as folder:
        try:
            data = frame_of(case, folder and Path(folder))
            asked = arguments_of(case, folder and Path(folder))
        except KohortError as error:
            return _refused(error)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            began = time.process_time()
            try:
                release = ko.anonymize(data, **asked)
                table, worked = release.table, time.process_time() - began
            except KohortError as error:
                return _refused(error)
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException:  # also a panic of Polars, which is no Exception
                return Outcome(crash=traceback.format_exc(limit=-6))
        if not same_kind(data, table):
            return Outcome(crash=f"The published table is of the kind {type(table).__name__}.")
        return Outcome(release, as_lists(table), worked=worked)


def arguments_of(case: Case, folder: Path | None = None) -> dict[str, Any]:
    """The arguments of `ko.anonymize` that a case stands for."""
    if case.by_spec:
        assert folder is not None
        files = {name: _written(folder / f"tree-{name}.csv", paths) for name, paths in case.trees.items()}
        sources = {name: _file_or(name, source, folder) for name, source in case.quasi.items()}
        return {"spec": spec_of(case, sources, files)}
    options = dict(case.options)
    parameters = options.pop("parameters", None)
    if parameters:
        options["algorithm"] = ALGORITHMS[options["algorithm"]](**parameters)
    found = {
        "quasi_identifiers": {name: _source(name, s, folder) for name, s in case.quasi.items()} or None,
        "sensitive": case.sensitive,
        "insensitive": case.insensitive,
        "identifiers": case.identifiers,
        "person": case.person,
        "weight": case.weight,
        "privacy": [_model(model) for model in case.privacy],
        **options,
    }
    if case.items is not None:
        found["items"] = _items(case.items)
    return found


def _items(items: dict[str, Any]) -> ko.Items:
    hierarchy = _source("items", items.get("hierarchy"), None)
    if isinstance(hierarchy, dict):
        hierarchy = ko.order(hierarchy["order"], fanout=hierarchy["fanout"])
    return ko.Items(**items | {"hierarchy": hierarchy})


def _model(model: dict[str, Any]) -> Any:
    parameters = {name: value for name, value in model.items() if name != "model"}
    return MODELS[model["model"]](**parameters)


def _source(name: str, source: Any, folder: Path | None) -> Any:
    if isinstance(source, dict) and "paths" in source:
        return ko.Hierarchy.from_paths(source["paths"])
    if isinstance(source, str):
        return getattr(ko, source)()
    return _file_or(name, source, folder)


def _file_or(name: str, source: Any, folder: Path | None) -> Any:
    """The path of a file with these lines; what is no file stays what it is."""
    if not (isinstance(source, dict) and "csv" in source):
        return source
    assert folder is not None
    return str(_written(folder / f"{name}.csv", source["csv"]))


def _written(path: Path, lines: list) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows(lines)
    return path


def _needs_files(case: Case) -> bool:
    return (
        case.by_spec
        or case.frame in FILE_KINDS
        or any(isinstance(s, dict) and "csv" in s for s in case.quasi.values())
    )


class _Nowhere:
    """A folder that nobody needs."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


def _refused(error: KohortError) -> Outcome:
    if isinstance(error, InternalError):
        return Outcome(crash=traceback.format_exc(limit=-4))
    return Outcome(refusal=(type(error).__name__, str(error)))
