"""The dossier as one document: HTML or PDF, by the ending of its file.

The facts of a dossier: all that was computed, what the steward answered, and what is left blank.

The public version has the facts that show no value of the data, named one by one. Left out are values, what
is known of single sets of columns of the original, what the attacks found beside it, the names of
coefficients, and how it was made. A fact that is new is not public until it is named here.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kohort.algorithms import Progress, Run
from kohort.job.public import public_version, two_digits
from kohort.problem.promises import RiskLimit
from kohort.report.asked import Version, check_page, check_version
from kohort.report.columns import attribute_facts, published_values
from kohort.report.dossier.chapters import CHAPTERS, WORDS
from kohort.report.facts import page_facts
from kohort.report.html import about_rows, page_templates, page_title, write_page
from kohort.report.public_facts import NO_UTILITY, public_certificate, public_risk, some
from kohort.risk import assess_risk
from kohort.risk.criteria import three_criteria
from kohort.risk.intruders import automatic_attempts, intruder_facts, near_numbers
from kohort.risk.knowledge import knowledge_sweep
from kohort.risk.review import due_date, recipient_risks
from kohort.statement.approval import QUESTIONS
from kohort.utility import measure_utility
from kohort.utility.model_overlap import model_overlap, number_overlap

if TYPE_CHECKING:
    from kohort.release.release import Release


def dossier_facts(
    release: Release,
    *,
    version: Version = "internal",
    population: Any = None,
    sampling_fraction: float | None = None,
    human: Mapping[str, Any] | None = None,
    targets: int = 500,
    seed: int | None = None,
    progress: Progress | None = None,
    **known: Any,
) -> dict[str, Any]:
    """All that a dossier shows, as plain data.

    human       the summary of human attempts to find people, as `read_attempts` gives it
    known       the keywords of `page_facts`
    population  a table of the population, for the risk in it
    targets     how many people, or predicates, each attack tries
    seed        of everything that is drawn; that of the release, if none is given
    """
    check_version(version)
    run = Run(progress=progress)
    seed = release.request.seed if seed is None else seed
    facts = page_facts(release, **known) | _said(release)
    facts["human"] = None if human is None else dict(human)
    run.report("dossier: risk", 0.05)
    options = {"population": population, "sampling_fraction": _fraction(release, sampling_fraction)}
    facts["risk"] = assess_risk(release, **options, targets=targets, seed=seed)
    facts |= _knowledge_and_recipients(release, facts["risk"]["threshold"], seed, run)
    if version == "public":
        return _public_dossier(facts)
    facts |= _attacks(release, targets, seed, run)
    run.report("dossier: utility", 0.7)
    facts["utility"] = measure_utility(release, seed=seed)
    return facts | _analyses(release, seed)


def _said(release: Release) -> dict[str, Any]:
    """What is said about the release: by the steward, and of its columns and promises."""
    today, request = datetime.date.today(), release.request
    return {
        "context": {key: request.context.get(key) for key in QUESTIONS},
        "reviews": [due_date(recipient, today).to_dict() for recipient in request.recipients],
        "limits": [  # on the risk, and the k that each needs, in words
            {"promise": model.describe(), "k": model.least_class, "sentence": model.why_this_k()}
            for model in request.models
            if isinstance(model, RiskLimit)
        ],
        "attributes": [attribute_facts(values) for values in published_values(release.sides)],
    }


def _fraction(release: Release, given: float | None) -> float | None:
    """The sampling fraction that is given, else that of a limit against the population."""
    promised = [m.sampling_fraction for m in release.request.models if isinstance(m, RiskLimit)]
    found = next((share for share in promised if share is not None), None)
    return given if given is not None or found is None else float(found)


def _knowledge_and_recipients(release: Release, threshold: float, seed: int, run: Run) -> dict[str, Any]:
    """The knowledge sweep, None where it does not apply, and what each recipient may find."""
    sides, request = release.sides, release.request
    limits = [model for model in request.models if isinstance(model, RiskLimit)]
    run.report("dossier: knowledge", 0.15)
    knowledge = knowledge_sweep(sides, threshold=threshold, seed=seed, show_values=True)
    recipients = recipient_risks(sides, request.recipients, limits) if knowledge is not None else None
    return {
        "knowledge": knowledge,
        "recipients": recipients or [recipient.to_dict() for recipient in request.recipients],
    }


def _attacks(release: Release, targets: int, seed: int, run: Run) -> dict[str, Any]:
    """What the attacks find beside the original; None for those that do not apply."""
    run.report("dossier: singling out, linkability, inference", 0.3)
    criteria = three_criteria(release, targets=targets, seed=seed)
    run.report("dossier: numbers and intruders", 0.55)
    attempts = automatic_attempts(release, targets=targets, seed=seed)
    return {
        "criteria": criteria,
        "numbers": near_numbers(release, targets=targets, seed=seed),
        "intruders": None if attempts is None else intruder_facts(attempts, seed),
    }


def _analyses(release: Release, seed: int) -> dict[str, Any]:
    """The analyses that the spec names, and means and quartiles of numbers."""
    asked = release.request.utility
    if not release.sides.attributes or release.sides.units.linked:
        return {"analyses": [], "means": []}
    return {
        "analyses": model_overlap(release, asked.models, labels=asked.labels, seed=seed),
        "means": number_overlap(release, labels=asked.labels, seed=seed),
    }


_KEPT = ("context", "reviews", "limits", "human", "sensitive")
_BESIDE_THE_ORIGINAL = ("criteria", "numbers", "intruders")  # test guesses
_ATTRIBUTE = ("name", "loss")
_SWEEP = ("columns", "sets", "examined", "complete_up_to", "threshold", "counted")
_SIDE = ("by_size", "average_by_column", "smallest_class", "singled_out_by")
_RECIPIENT = ("name", "purpose", "knows", "controls", "review", "known", "after", "limits")


def _public_dossier(facts: dict[str, Any]) -> dict[str, Any]:
    """Those of these facts that everybody may see; what only an internal dossier has is None or empty."""
    return {
        **some(facts, _KEPT),
        **public_certificate(public_version(facts)),
        "kohort": facts["kohort"],
        "report": "public",
        "about": facts["about"] | {"original": None},
        "making": {},
        "roles": facts["roles"],
        "scheme": None,
        "items": None,
        "linked": facts["linked"],
        "attributes": [two_digits(some(attribute, _ATTRIBUTE)) for attribute in facts["attributes"]],
        "risk": public_risk(facts["risk"]),
        "knowledge": facts["knowledge"]
        and some(facts["knowledge"], _SWEEP) | {"after": some(facts["knowledge"]["after"], _SIDE)},
        **dict.fromkeys(_BESIDE_THE_ORIGINAL),
        "recipients": [  # without the risk of the original
            some(found, tuple(name for name in _RECIPIENT if name in found)) for found in facts["recipients"]
        ],
        "utility": NO_UTILITY,
        "analyses": [],
        "means": [],
    }


def write_dossier(release: Release, path: str | Path, **options: Any) -> dict[str, Any]:
    """Write the dossier of a release straight to `path`; returns its facts. Options are `dossier_facts`'s."""
    check_page(path, "dossier")
    facts = dossier_facts(release, **options)
    write_page(dossier_page(facts), Path(path))
    return facts


def chapters(facts: dict[str, Any]) -> list[dict[str, Any]]:
    """The chapters in their order; those that have nothing to say are left out."""
    return [
        {"name": name, **about}
        for name, about in CHAPTERS.items()
        if name != "knowledge" or facts["knowledge"] is not None
    ]


def dossier_page(facts: dict[str, Any]) -> str:
    """The dossier as an HTML page: it has no script and fetches nothing."""
    template, title = page_templates().get_template("dossier.html"), page_title(facts)
    about, shown = about_rows(facts), chapters(facts)
    return template.render(WORDS, facts=facts, title=title, about=about, chapters=shown)
