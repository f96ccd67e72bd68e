"""The facts of a release, as certificate, report and `--json` have them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kohort.version import __version__

if TYPE_CHECKING:
    from kohort.release.release import Release

_CLAIMED = ("bound", "gap", "solver_bound", "solver_gap", "guarantee")


def release_facts(release: Release) -> dict[str, Any]:
    """All facts of a release but the hashes of its files, without any cell of the data."""
    verdict = release.verdict.to_dict()
    return {
        "kohort": "release",
        "audience": "internal",
        "version": __version__,
        "title": release.request.title,
        "owner": release.request.owner,
        "holds": verdict["holds"],
        "records": release.dataset.n_records,
        "suppressed": verdict["suppressed"],
        "suppressed_as": release.suppressed_as,
        "counterfeits": release.counterfeits,
        **_of(verdict, "classes", "smallest_class", "counted", "people", "smallest_class_people"),
        **_of(verdict, "risk", "models", "checks", "cautions"),
        "cost": release.cost_name,
        "loss": release.loss,
        "unweighted_loss": release.unweighted_loss,
        "labels": release.request.labels,
        **{name: getattr(release, name) for name in _CLAIMED},
        "evidence": {
            name: {"evidence": claim.evidence, "reason": claim.reason}
            for name, claim in release.claims.items()
        },
        "algorithm": release.algorithm,
        "parameters": release.parameters,
        "scheme": release.scheme,
        "seed": release.request.seed,
        "cut_by_time": release.cut_by_time,
        "quasi_identifiers": release.roles.having("quasi-identifier"),
        "items": None if release.items is None else release.items.facts(),
        "roles": dict(release.roles.of),
        "linked": _linked_facts(release),
        "events": release.files.facts(),
        "together": release.tied.facts(release.cost),
        "suppression": release.request.suppression,
        "order": release.order.facts(),
        "notes": list(release.notes),
        "seconds": {phase: round(value, 4) for phase, value in release.seconds.items()},
    }


def _of(facts: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: facts[name] for name in names}


def _linked_facts(release: Release) -> dict[str, Any] | None:
    """How records are linked; None if they are not."""
    if not release.problem.units.linked:
        return None
    people = release.problem.units.histories.n_people
    return {"person": release.request.linked_by, "slot": release.request.slot, "people": people}
