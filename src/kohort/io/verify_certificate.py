"""Check a certificate: the files are those it names, and its promises are measured again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kohort.errors import InputError
from kohort.io.certificate import Certificate, CertifiedModel
from kohort.io.certificate_claims import CheckedClaim
from kohort.io.signature import is_signed_by, read_public_key, signature_path
from kohort.job.public import commitment_to
from kohort.problem.promises import MODELS, Model
from kohort.tables.table import Table
from kohort.verification import (
    JoinedTables,
    Verification,
    join_tables,
    published_classes,
    verify_models,
)


def check_signature(certificate: Path, public_key: Path | None, *, content: bytes) -> CheckedClaim:
    """Whether the signature beside a certificate is by the owner of a key, and nothing was changed since.

    `content` is what was read from the certificate: what is claimed and what is signed are the same bytes.
    """
    signature = signature_path(certificate)
    if public_key is None:
        there = (
            "It is signed; give --public-key to check by whom." if signature.exists() else "It is not signed."
        )
        return CheckedClaim("signature", None, None, None, there)
    key = read_public_key(public_key)
    if not signature.exists():
        return CheckedClaim(
            "signature", None, None, False, f"the certificate is not signed: {signature.name} is missing."
        )
    if is_signed_by(content, signature, key):
        return CheckedClaim(
            "signature",
            None,
            None,
            True,
            "The certificate has not changed since the owner of the key signed it.",
        )
    detail = "the signature was not made with this key, or the certificate was changed after it was signed."
    return CheckedClaim("signature", None, None, False, detail)


def check_release_files(certificate: Certificate, found: Sequence[str]) -> list[CheckedClaim]:
    """Whether the release is the file that the certificate is about, or the two, by their SHA-256."""
    named = {"sha256 of the release": certificate.sha256.output}
    if certificate.events is not None:
        named["sha256 of the events"] = certificate.sha256.events
    return [_release_file(claim, *pair) for claim, pair in zip(named, zip(named.values(), found))]


def _release_file(claim: str, certified: str | None, found: str) -> CheckedClaim:
    if certified is None:
        detail = "The certificate does not name a release file: the release was a dataframe."
        return CheckedClaim(claim, None, found, None, detail)
    return CheckedClaim(claim, certified, found, certified == found)


def check_original_file(certificate: Certificate, found: str | None, salt: bytes | None) -> CheckedClaim:
    """Whether the original is the file that the certificate commits to.

    Certificates of version 0.1.0 hold its plain SHA-256. `found` is the SHA-256 of the file at hand, which is
    not shown unless the certificate already names it.
    """
    plain = certificate.sha256.input
    if plain is not None:
        return _compared("sha256 of the original", plain, found, "Give --original to check it.")
    if certificate.commitment is None:
        detail = "The certificate does not commit to an original file (anonymize --salt makes it do so)."
        return CheckedClaim("original", None, None, None, detail)
    opened = None if found is None or salt is None else commitment_to(found, salt)
    missing = "Give --original and --salt to check it."
    return _compared("commitment to the original", certificate.commitment, opened, missing)


def _compared(name: str, certified: str, found: str | None, missing: str) -> CheckedClaim:
    if found is None:
        return CheckedClaim(name, certified, None, None, missing)
    return CheckedClaim(name, certified, found, certified == found)


def verify_certified(
    published: Table, certificate: Certificate, *, events: Table | None = None
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
    published.require([model.attribute for model in models if model.attribute])
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


def _joined(people: Table, events: Table | None, certificate: Certificate) -> JoinedTables | None:
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
