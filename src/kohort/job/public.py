"""The facts of a release, and what may leave its holder: those for everybody, a commitment, and no pickle.

The facts for everybody follow from the release, or test no guess.

Somebody who knows all of the original but one value can compute every figure again for each value that it
may have. So bounds and entropies, which depend on every value of the original, are for the holder alone, and
so is what tells of the run: notes, seconds, the seed. Rounding to two digits does not cure a bound: with 500
records it still excluded some ages of a person. Figures of the release whose domain may come from the
original, and numbers of people and items, have two significant digits.

A commitment to the original file: those who hold the salt can check the file, others cannot test guesses.

With the plain SHA-256 of a table, anybody can test a guess of the whole table. Where its release is public,
little is left to guess. So the plain hash stays in internal documents.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar

from kohort.errors import UnsupportedError
from kohort.version import __version__

if TYPE_CHECKING:
    from kohort.release.release import Release

SALT_BYTES = 32
Self = TypeVar("Self", bound="HoldsOriginal")


def new_salt() -> bytes:
    """A random secret of 256 bits."""
    return secrets.token_bytes(SALT_BYTES)


def commitment_to(sha256: str, salt: bytes) -> str:
    """HMAC-SHA-256, keyed with the salt, of a file's SHA-256 as 64 hexadecimal digits.

    >>> commitment_to("0" * 64, bytes(32))[:16]
    '013e60350b8e6efb'
    """
    return hmac.new(salt, sha256.encode("ascii"), hashlib.sha256).hexdigest()


def sha256_of_files(first: str, second: str | None = None) -> str:
    """One SHA-256 for an original: that of its file or, of two files, that of both with a space between them.

    >>> sha256_of_files("0" * 64) == "0" * 64
    True
    """
    if not first or not second:
        return first
    return hashlib.sha256(f"{first} {second}".encode("ascii")).hexdigest()


def committed(sha256: Mapping[str, str | None] | None, salt: bytes | None) -> dict[str, Any]:
    """The facts about files that may be public: the hashes of the output, and a commitment to the input.

    >>> committed({"input": "0" * 64, "output": "f" * 64}, None)["sha256"]["input"] is None
    True
    """
    files = sha256 or {}
    original = files.get("input")
    commitment = None if salt is None or original is None else commitment_to(original, salt)
    published = {"input": None, "output": files.get("output")}
    if "events" in files:
        published["events"] = files["events"]
    return {"sha256": published, "commitment": commitment}


_JUDGED = (
    "classes", "smallest_class", "counted", "people", "smallest_class_people", "risk", "models", "checks",
    "cautions",
)  # fmt: skip
_BOUNDS = ("bound", "gap", "solver_bound", "solver_gap")


def release_facts(release: Release) -> dict[str, Any]:
    """All facts of a release but the hashes of its files, without any cell of the data."""
    verdict, request = release.verdict.to_dict(), release.request
    linked = None
    if release.problem.units.linked:
        people = release.problem.units.histories.n_people
        linked = {"person": request.linked_by, "slot": request.slot, "people": people}
    return {
        "kohort": "release",
        "audience": "internal",
        "version": __version__,
        "title": request.title,
        "owner": request.owner,
        "holds": verdict["holds"],
        "records": release.dataset.n_records,
        "suppressed": verdict["suppressed"],
        "suppressed_as": release.suppressed_as,
        "counterfeits": release.published.counterfeits,
        **{name: verdict[name] for name in _JUDGED},
        "cost": release.problem.cost.name,
        "loss": release.loss,
        "unweighted_loss": release.unweighted_loss,
        "labels": request.labels,
        **{name: getattr(release, name) for name in (*_BOUNDS, "guarantee")},
        "evidence": {
            name: {"evidence": claim.evidence, "reason": claim.reason}
            for name, claim in release.claims.items()
        },
        "algorithm": release.algorithm,
        "parameters": release.parameters,
        "scheme": release.scheme,
        "seed": request.seed,
        "cut_by_time": release.cut_by_time,
        "quasi_identifiers": release.roles.having("quasi-identifier"),
        "items": None if release.items is None else release.items.facts(),
        "roles": dict(release.roles.of),
        "linked": linked,
        "events": release.files.facts(),
        "together": release.tied.facts(release.cost),
        "suppression": request.suppression,
        "order": release.order.facts(),
        "notes": list(release.notes),
        "seconds": {phase: round(value, 4) for phase, value in release.seconds.items()},
    }


_OF_CLASSES = ("discernibility", "average-class-size", "suppressions")  # the release alone tells these
_OF_RECORDS = ("entropy", "monotone-entropy", "hierarchical-discernibility", "squares")  # of original values
OF_RELEASE = ("no-promise", "known-for-certain", "one-value", "k-is-1")  # cautions that it shows itself
_HOLDERS: dict[str, Any] = {"seed": None, "cut_by_time": None, "notes": [], "seconds": {}}
# of parts of the facts: what is for the holder alone, and the figures that have two digits
_HOLDERS_PARTS: dict[str, dict[str, Any]] = {
    "order": {"shuffled": None},
    "scheme": dict.fromkeys(("bound", "gap", "nodes")),
    "events": {"orphans": None},
    "items": dict.fromkeys(("dropped", "dropped_share", "dropped_sensitive", "bound")),
    "together": {"people": {}, "checks": []},
}
_ROUNDED = {"items": ("items", "occurrences", "ncp"), "together": ("alone", "ratio")}
_SLACK = 1e-9  # relative: what is computed twice may differ by rounding


def public_version(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a certificate with what is for the holder taken out: the same names, fewer digits."""
    chosen = facts | _HOLDERS | {"audience": "public"}
    chosen |= {name: _losses(facts, name) for name in ("loss", "unweighted_loss")}
    # an approximation factor that a theorem gives asks for no bound of this table
    proven = {name: why for name, why in facts["evidence"].items() if why["evidence"] == "theorem"}
    chosen |= dict.fromkeys(_BOUNDS) | {"evidence": proven}
    chosen["guarantee"] = facts["guarantee"] if proven else None
    chosen["checks"] = [check | {"detail": ""} for check in facts["checks"]]
    chosen["cautions"] = [caution for caution in facts["cautions"] if caution["kind"] in OF_RELEASE]
    of_people = facts["counted"] == "people"  # who has which records, the release does not tell
    for name in ("people", "smallest_class_people", "risk") if of_people else ():
        chosen[name] = two_digits(facts[name])
    chosen["models"] = [
        model | {"measured": two_digits(model["measured"])}
        if of_people or "population" in model["parameters"]
        else model
        for model in facts["models"]
    ]
    for name, private in _HOLDERS_PARTS.items():
        part = facts[name]
        rounded = {figure: two_digits(part[figure]) for figure in _ROUNDED.get(name, ()) if part}
        chosen[name] = part and part | rounded | private
    return chosen


def two_digits(value: Any) -> Any:
    """A figure, or every figure in lists and dictionaries, to two significant digits."""
    if isinstance(value, dict):
        return {name: two_digits(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [two_digits(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.2g}")
    return int(float(f"{value:.2g}")) if isinstance(value, int) and not isinstance(value, bool) else value


def _losses(facts: dict[str, Any], name: str) -> dict[str, float] | None:
    """The costs, rounded up, without those that are computed from values of the original."""
    found: dict[str, float] | None = facts[name]
    if found is None:
        return None
    exact = _OF_CLASSES if facts["unweighted_loss"] is None else ()
    shown = {cost: value for cost, value in found.items() if cost not in _OF_RECORDS}
    return {cost: value if cost in exact else _rounded_up(value) for cost, value in shown.items()}


def _rounded_up(value: float) -> float:
    """Two significant digits, no less than the value but for its rounding error."""
    if value == 0:
        return 0.0
    unit = math.floor(math.log10(abs(value))) - 1
    return float(f"{math.ceil(value * (1 - _SLACK) / 10.0**unit)}e{unit}")


class HoldsOriginal:
    """A base class whose objects refuse to be pickled.

    A pickle is a file that is passed on as what it is called, here a release, while the whole original is in
    it. pickle, joblib, dill, cloudpickle and multiprocessing all ask `__reduce_ex__`, and so would copying,
    which never leaves the process.
    """

    _instead = "Pickle the published table instead."

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise UnsupportedError(
            f"This {type(self).__name__} holds the original table, which a pickle would give away. "
            f"{self._instead}"
        )

    def __copy__(self: Self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(deepcopy(self.__dict__, memo))
        return made
