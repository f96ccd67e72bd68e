"""Check what a certificate claims: the files are those it names, and every figure is measured again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from kohort.data.dataset import Dataset
from kohort.errors import InputError
from kohort.io.certificate import Certificate, CertifiedModel
from kohort.io.signature import is_signed_by, read_public_key, signature_path
from kohort.pipeline.commitment import commitment_to
from kohort.problem.models import MODELS, Model
from kohort.problem.roles import WHO
from kohort.verification import (
    JoinedTables,
    Verdict,
    Verification,
    join_tables,
    published_classes,
    verify_models,
)

__all__ = [
    "Claim",
    "check_claims",
    "check_original_file",
    "check_release_files",
    "check_signature",
    "verify_certified",
]


@dataclass(frozen=True)
class Claim:
    """What a certificate says, and what was found. `holds` is None where it could not be checked."""

    claim: str
    certified: Any
    found: Any
    holds: bool | None
    detail: str = ""

    def to_dict(self) -> dict[str, Any]:
        return {
            "claim": self.claim,
            "certified": self.certified,
            "found": self.found,
            "holds": self.holds,
            "detail": self.detail,
        }


def check_signature(certificate: Path, public_key: Path | None, *, content: bytes) -> Claim:
    """Whether the signature beside a certificate is by the owner of a key, and nothing was changed since.

    `content` is what was read from the certificate: what is claimed and what is signed are the same bytes.
    """
    signature = signature_path(certificate)
    if public_key is None:
        there = (
            "It is signed; give --public-key to check by whom." if signature.exists() else "It is not signed."
        )
        return Claim("signature", None, None, None, there)
    key = read_public_key(public_key)
    if not signature.exists():
        return Claim(
            "signature", None, None, False, f"the certificate is not signed: {signature.name} is missing."
        )
    if is_signed_by(content, signature, key):
        return Claim(
            "signature",
            None,
            None,
            True,
            "The certificate has not changed since the owner of the key signed it.",
        )
    detail = "the signature was not made with this key, or the certificate was changed after it was signed."
    return Claim("signature", None, None, False, detail)


def check_release_files(certificate: Certificate, found: Sequence[str]) -> list[Claim]:
    """Whether the release is the file that the certificate is about, or the two, by their SHA-256."""
    named = {"sha256 of the release": certificate.sha256.output}
    if certificate.events is not None:
        named["sha256 of the events"] = certificate.sha256.events
    return [_release_file(claim, *pair) for claim, pair in zip(named, zip(named.values(), found))]


def _release_file(claim: str, certified: str | None, found: str) -> Claim:
    if certified is None:
        detail = "The certificate does not name a release file: the release was a dataframe."
        return Claim(claim, None, found, None, detail)
    return Claim(claim, certified, found, certified == found)


def check_original_file(certificate: Certificate, found: str | None, salt: bytes | None) -> Claim:
    """Whether the original is the file that the certificate commits to.

    Certificates of version 0.1.0 hold its plain SHA-256. `found` is the SHA-256 of the file at hand, which is
    not shown unless the certificate already names it.
    """
    plain = certificate.sha256.input
    if plain is not None:
        return _compared("sha256 of the original", plain, found, "Give --original to check it.")
    if certificate.commitment is None:
        detail = "The certificate does not commit to an original file (anonymize --salt makes it do so)."
        return Claim("original", None, None, None, detail)
    opened = None if found is None or salt is None else commitment_to(found, salt)
    missing = "Give --original and --salt to check it."
    return _compared("commitment to the original", certificate.commitment, opened, missing)


def _compared(name: str, certified: str, found: str | None, missing: str) -> Claim:
    if found is None:
        return Claim(name, certified, None, None, missing)
    return Claim(name, certified, found, certified == found)


def verify_certified(
    published: Dataset, certificate: Certificate, *, events: Dataset | None = None
) -> Verification:
    """Measure the promises of a certificate on the published table, without a spec.

    events  the published events, where the release is people and events

    What the spec alone knows is left out: how items are written, the order or hierarchy of sensitive values,
    populations.
    """
    if certificate.items is not None:
        raise InputError(
            "The certificate is about items, and only the spec says how they are written. Give --spec as "
            "well."
        )
    joined = _joined(published, events, certificate)
    published = published if joined is None else joined.table
    published.require(certificate.quasi_identifiers)
    promised = [_model(certified) for certified in certificate.models]
    models = [model for model in promised if not _needs_spec(model)]
    if certificate.counted == "people":  # what is left is necessary for people, too
        models = [model for model in models if model.survives_unions_of_people]
    published.require([model.attribute for model in models if model.attribute is not None])
    linked = certificate.linked
    classes = published_classes(
        published,
        certificate.quasi_identifiers,
        models,
        linked_by=None if linked is None else linked.person,
        slot=None if linked is None else linked.slot,
        eventless=None if joined is None else joined.eventless,
    )
    dropped = max(certificate.records + certificate.counterfeits - published.n_records, 0)
    unmeasured = {model.attribute for model in promised if _needs_spec(model)}
    sensitive = [
        published.column(name)
        for name, role in certificate.roles.items()
        if role == "sensitive" and name in published.names and name not in unmeasured
    ]
    verdict = verify_models(
        classes,
        models,
        suppression=certificate.suppression,
        dropped=dropped,
        checks=() if joined is None else joined.checks,
        sensitive=sensitive,
        counterfeits=certificate.counterfeits,
    )
    return Verification(verdict)


def _joined(people: Dataset, events: Dataset | None, certificate: Certificate) -> JoinedTables | None:
    """The people and events of a release joined; None where it is one table."""
    if (certificate.events is None) != (events is None):
        raise InputError(
            "The certificate is about two files, people and events: give --events as well."
            if events is None
            else "The certificate is about one file: leave out --events."
        )
    if certificate.events is None or events is None:
        return None
    return join_tables(people, events, certificate.events.key, None)


def _model(certified: CertifiedModel) -> Model:
    if certified.model not in MODELS:
        raise InputError(
            f"The certificate names the model {certified.model!r}, which this version does not know."
        )
    try:
        return MODELS[certified.model](**certified.parameters)
    except TypeError:
        raise InputError(
            f"The parameters of {certified.model} in the certificate are not those of this version."
        ) from None


def _needs_spec(model: Model) -> bool:
    return getattr(model, "distance", "equal") != "equal" or hasattr(model, "population")


def check_claims(certificate: Certificate, found: Verification, published: Sequence[str]) -> list[Claim]:
    """The claims of a certificate that can be measured again, each with what was found.

    published  the names of the published columns, of both files where there are two
    """
    verdict = found.verdict
    genuine, false = verdict.records - verdict.counterfeits, certificate.counterfeits + verdict.counterfeits
    dropped = max(certificate.records - genuine, 0)
    return [
        _same("records", certificate.records, genuine + min(dropped, verdict.withheld)),
        _same("suppressed", certificate.suppressed, verdict.withheld),
        *([_same("counterfeits", certificate.counterfeits, verdict.counterfeits)] if false else []),
        _same("classes", certificate.classes, verdict.classes),
        _same("smallest_class", certificate.smallest_class, verdict.smallest_class),
        *_people(certificate, verdict),
        *_risk(certificate, verdict),
        _columns(certificate, published),
        *(_promise(model, certificate, verdict) for model in certificate.models),
        *_losses(certificate, found.loss),
    ]


def _same(claim: str, certified: Any, found: Any) -> Claim:
    if isinstance(certified, (int, float)) and isinstance(found, (int, float)):
        return Claim(claim, certified, found, isclose(certified, found, rel_tol=1e-9, abs_tol=1e-12))
    return Claim(claim, certified, found, certified == found)


def _columns(certificate: Certificate, published: Sequence[str]) -> Claim:
    """The claim that all columns are published; identifiers may be, as pseudonyms or masked, and weights."""
    optional = (*WHO, "weight")
    expected = [name for name, role in certificate.roles.items() if role not in optional]
    found = [name for name in published if certificate.roles.get(name) not in optional]
    return Claim("columns", len(expected), len(found), sorted(expected) == sorted(found))


def _people(certificate: Certificate, verdict: Verdict) -> list[Claim]:
    """The claims about people, where they were counted."""
    if certificate.counted == "records":
        return []
    certified = {"people": certificate.people, "smallest_class_people": certificate.smallest_class_people}
    if verdict.people is None:
        return [Claim(name, value, None, None, _NOT_WITHOUT_ORIGINAL) for name, value in certified.items()]
    found = verdict.to_dict()
    return [_same(name, value, found[name]) for name, value in certified.items()]


def _risk(certificate: Certificate, verdict: Verdict) -> list[Claim]:
    """The claims about the risk; older certificates make none."""
    if certificate.risk is None:
        return []
    certified = {f"risk, {name}": getattr(certificate.risk, name) for name in ("maximum", "average")}
    if certificate.counted == "people" and verdict.people is None:
        return [Claim(name, value, None, None, _NOT_WITHOUT_ORIGINAL) for name, value in certified.items()]
    found = {"maximum": None, "average": None} if verdict.risk is None else verdict.risk.to_dict()
    return [_same(name, value, found[name.removeprefix("risk, ")]) for name, value in certified.items()]


_NOT_WITHOUT_ORIGINAL = "People cannot be counted without the original: give --original and --spec."


def _promise(certified: CertifiedModel, certificate: Certificate, verdict: Verdict) -> Claim:
    of = f" of {certified.attribute}" if certified.attribute else ""
    name = f"{certified.model}{of}"
    if certificate.counted == "people" and verdict.people is None:
        return Claim(name, certified.measured, None, None, _NOT_WITHOUT_ORIGINAL)
    for entry in verdict.to_dict()["models"]:
        if (entry["model"], entry["attribute"], entry["parameters"]) == (
            certified.model,
            certified.attribute,
            certified.parameters,
        ):
            claim = _same(name, certified.measured, entry["measured"])
            kept = bool(claim.holds) and entry["holds"] is True and certified.holds
            return Claim(name, certified.measured, entry["measured"], kept)
    return Claim(
        name,
        certified.measured,
        None,
        None,
        "The spec does not promise this, or none was given. Give the spec of the release.",
    )


def _losses(certificate: Certificate, loss: dict[str, float] | None) -> list[Claim]:
    if loss is None:
        return [Claim("loss", None, None, None, "Give --original and --spec to measure it again.")]
    return [
        _same(f"loss {name}", certified, loss[name])
        for name, certified in certificate.loss.items()
        if name in loss
    ]
