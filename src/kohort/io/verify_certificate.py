"""Check a certificate: the files are those it names, and its promises are measured again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isclose
from pathlib import Path
from typing import Any

from kohort.errors import InputError
from kohort.io.certificate import Certificate, CertifiedModel
from kohort.io.private_files import is_signed_by, read_public_key, signature_path
from kohort.job.figures import gap_to
from kohort.job.public import OF_RELEASE, commitment_to, public_version
from kohort.problem.costs import COSTS
from kohort.problem.promises import MODELS, Model
from kohort.problem.roles import WHO
from kohort.statement import Statement
from kohort.tables.table import Table
from kohort.verification import (
    RECORDS,
    JoinedTables,
    Verdict,
    Verification,
    join_tables,
    linked,
    published_classes,
    verify_models,
)

_OF_SPEC = ("title", "owner", "labels", "cost", "suppression", "seed")
_ELSEWHERE = ("kohort", "audience", "models", "sha256", "commitment")  # looked at when it is read, and below
_NEEDS_PEOPLE = "People cannot be counted without the original: give --original and --spec."
_NEEDS_ORIGINAL = "Give --original and --spec to compute it again."
_NEEDS_ORDER = "It depends on who is who: give --order-file."
_NEEDS_SPEC = "Give --spec to compare it with."
_STATED = "The certificate says so; verification does not make the release again."


@dataclass(frozen=True)
class CheckedClaim:
    """What a certificate says, and what was found. `holds` is None where it could not be checked."""

    claim: str
    certified: Any = None
    found: Any = None
    holds: bool | None = None
    detail: str = ""
    promise: bool = False

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))


def check_signature(certificate: Path, public_key: Path | None, *, content: bytes) -> CheckedClaim:
    """Whether the signature beside a certificate is by the owner of a key, and nothing was changed since.

    `content` is what was read from the certificate: what is claimed and what is signed are the same bytes.
    """
    signature = signature_path(certificate)
    if public_key is None:
        signed = "It is signed; give --public-key to check by whom."
        return CheckedClaim("signature", detail=signed if signature.exists() else "It is not signed.")
    key = read_public_key(public_key)
    holds = signature.exists() and is_signed_by(content, signature, key)
    if holds:
        detail = "The certificate has not changed since the owner of the key signed it."
    elif signature.exists():
        detail = (
            "the signature was not made with this key, or the certificate was changed after it was signed."
        )
    else:
        detail = f"the certificate is not signed: {signature.name} is missing."
    return CheckedClaim("signature", holds=holds, detail=detail)


def check_release_files(certificate: Certificate, found: Sequence[str]) -> list[CheckedClaim]:
    """Whether the release is the file that the certificate is about, or the two, by their SHA-256."""
    named = {"sha256 of the release": certificate.sha256.output}
    if certificate.events is not None:
        named["sha256 of the events"] = certificate.sha256.events
    missing = "The certificate does not name a release file: the release was a dataframe."
    return [_same(claim, *pair, missing) for claim, pair in zip(named, zip(named.values(), found))]


def check_original_file(certificate: Certificate, found: str | None, salt: bytes | None) -> CheckedClaim:
    """Whether the original is the file that the certificate commits to.

    Certificates of version 0.1.0 hold its plain SHA-256. `found` is the SHA-256 of the file at hand, which is
    not shown unless the certificate already names it.
    """
    plain = certificate.sha256.input
    if plain is not None:
        return _same("sha256 of the original", plain, found, "Give --original to check it.")
    if certificate.commitment is None:
        detail = "The certificate does not commit to an original file (anonymize --salt makes it do so)."
        return CheckedClaim("original", detail=detail)
    opened = None if found is None or salt is None else commitment_to(found, salt)
    missing = "Give --original and --salt to check it."
    return _same("commitment to the original", certificate.commitment, opened, missing)


def _same(claim: str, certified: str | None, found: str | None, missing: str) -> CheckedClaim:
    if certified is None or found is None:
        return CheckedClaim(claim, certified, found, detail=missing)
    return CheckedClaim(claim, certified, found, certified == found)


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
    published = joined.table
    published.require(certificate.quasi_identifiers)
    promised = [_model(certified) for certified in certificate.models]
    models = [model for model in promised if not _needs_spec(model)]
    if certificate.counted == "people":  # what is left is necessary for people, too
        models = [model for model in models if model.survives_unions_of_people]
    published.require([model.attribute for model in models if model.attribute])
    units, by = RECORDS, certificate.linked
    if by is not None:
        units = linked(published, by.person, by.slot, joined.eventless)
    classes = published_classes(published, certificate.quasi_identifiers, models, units=units)
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
        checks=joined.checks,
        sensitive=sensitive,
        counterfeits=certificate.counterfeits,
    )
    return Verification(verdict)


def _joined(people: Table, events: Table | None, certificate: Certificate) -> JoinedTables:
    """The people and events of a release joined, or its one table."""
    if (certificate.events is None) != (events is None):
        raise InputError(
            "The certificate is about two files, people and events: give --events as well."
            if events is None
            else "The certificate is about one file: leave out --events."
        )
    if certificate.events is None or events is None:
        return JoinedTables(people)
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


# The claims, field by field: found again, or stated by the certificate alone and not checked.
def check_claims(
    certificate: Certificate,
    found: Verification,
    published: Sequence[str],
    *,
    asked: Statement | None = None,
    columns: Sequence[str] = (),
) -> list[CheckedClaim]:
    """Every field of a certificate with what was found: each is compared, or listed as not checked."""
    stated = certificate.stated
    again = _Again(certificate, found, asked, columns)
    facts = {name: value for name, value in again.facts().items() if name in stated}
    shown = public_version(stated | facts) if certificate.audience == "public" else stated | facts
    claims = [_columns(certificate, published), *again.promises()]
    if any(caution["kind"] not in OF_RELEASE for caution in stated.get("cautions", [])):
        claims.append(CheckedClaim("cautions of who made it", detail=_STATED))
    for name, certified in stated.items():
        if name in facts or not _alike(certified, shown.get(name)):
            claims += _compared(name, certified, shown.get(name))
        elif name not in _ELSEWHERE and certified not in (None, [], {}):
            shown_as = certified if isinstance(certified, (str, int, float)) else None
            claims.append(CheckedClaim(name, shown_as, detail=again.why(name)))
    return claims


_PARTS = {"loss": "loss ", "unweighted_loss": "unweighted loss ", "risk": "risk, "}


def _compared(name: str, certified: Any, found: Any) -> Iterator[CheckedClaim]:
    if name not in _PARTS or not (isinstance(certified, dict) and isinstance(found, dict)):
        yield CheckedClaim(name, certified, found, _alike(certified, found))
        return
    for key in dict.fromkeys([*certified, *found]):
        claim, pair = f"{_PARTS[name]}{key}", (certified.get(key), found.get(key))
        if name != "risk" and key not in found and key in COSTS:
            yield CheckedClaim(claim, *pair, detail=_NEEDS_ORDER)
        else:
            yield CheckedClaim(claim, *pair, _alike(*pair))


@dataclass(frozen=True)
class _Again:
    """What can be found again of a certificate."""

    certificate: Certificate
    found: Verification
    asked: Statement | None
    columns: Sequence[str]

    @property
    def verdict(self) -> Verdict:
        return self.found.verdict

    @property
    def lacks_people(self) -> bool:
        """Whether people were counted, and cannot be counted again."""
        return self.certificate.counted == "people" and self.verdict.people is None

    def why(self, name: str) -> str:
        if name in ("loss", "unweighted_loss", "checks"):
            return _NEEDS_ORIGINAL
        if name in ("people", "smallest_class_people", "risk", "counted"):
            return _NEEDS_PEOPLE
        return _NEEDS_SPEC if self.asked is None and name in (*_OF_SPEC, "roles", "order") else _STATED

    def facts(self) -> dict[str, Any]:
        """Every field that was found again, in full."""
        stated, verdict = self.certificate.stated, self.verdict.to_dict()
        facts = {name: verdict[name] for name in ("holds", "suppressed", "counterfeits", "classes")}
        facts |= {"smallest_class": verdict["smallest_class"], **self._records(), **self._gaps()}
        if not self.lacks_people:
            names = ("counted", "people", "smallest_class_people", "risk")
            facts |= {name: verdict[name] for name in names}
        if self.certificate.risk is None:  # Spark states none
            facts.pop("risk", None)
        if self.found.loss is not None:
            facts |= {"loss": self.found.loss, "unweighted_loss": self.found.unweighted_loss}
        if self.certificate.audience == "internal":
            facts["audience"] = "public" if stated["seed"] is None else "internal"
        # what a ledger promises, verification of one release does not see; cautions count people, too
        if self.certificate.together is None and not self.lacks_people:
            facts["cautions"] = self._cautions()
        return facts | self._checks() | self._of_roles() | self._of_spec()

    def _records(self) -> dict[str, Any]:
        certificate, verdict = self.certificate, self.verdict
        genuine = verdict.records - verdict.counterfeits
        dropped = max(certificate.records - genuine, 0)
        left_out = min(dropped, verdict.withheld)
        how = None if not verdict.withheld else "drop" if dropped else "star"
        return {"records": genuine + left_out, "suppressed_as": how}

    def _gaps(self) -> dict[str, Any]:
        """The gaps that follow from the certified bounds; a bound above the cost is false."""
        certificate = self.certificate
        cost = certificate.loss.get(certificate.cost)
        bounds = {"bound": certificate.bound, "solver_bound": certificate.solver_bound}
        gaps = {name: None if cost is None else gap_to(bound, cost) for name, bound in bounds.items()}
        above = {
            name: f"no bound is above the cost, {cost:.9g}"
            for name, bound in bounds.items()
            if None not in (bound, cost) and bound > cost * (1 + 1e-9)  # type: ignore[operator]
        }
        return {"gap": gaps["bound"], "solver_gap": gaps["solver_bound"], **above}

    def _cautions(self) -> list[dict[str, Any]]:
        """Those found, and those certified of kinds that only who made the release can find."""
        found = [caution.to_dict() for caution in self.verdict.cautions]
        stated = self.certificate.stated.get("cautions", [])
        return found + [caution for caution in stated if caution["kind"] not in OF_RELEASE]

    def _checks(self) -> dict[str, Any]:
        """The certified checks with what was found of each; nothing where one was made otherwise, or not."""
        made = {check.name: check.to_dict() for check in self.verdict.checks}
        stated = self.certificate.stated["checks"]
        if any(made.get(check["check"], {"holds": None})["holds"] is None for check in stated):
            return {}
        facts = [made[check["check"]] for check in stated]
        pairs = list(zip(stated, facts))
        same = all((one["holds"], one["detail"]) == (two["holds"], two["detail"]) for one, two in pairs)
        wrong = any(one["holds"] is not two["holds"] for one, two in pairs)
        return {"checks": facts} if same or wrong or self.certificate.audience == "public" else {}

    def _of_roles(self) -> dict[str, Any]:
        """Roles by the spec; without it, quasi-identifiers by the certified roles."""
        certified, asked = self.certificate, self.asked
        if asked is None or certified.events is not None:
            of = [name for name, role in certified.roles.items() if role == "quasi-identifier"]
            return {"quasi_identifiers": of}
        try:
            roles = asked.roles.settled(self.columns or list(certified.roles))
        except InputError:
            return {"roles": None}
        return {"roles": dict(roles.of), "quasi_identifiers": roles.having("quasi-identifier")}

    def _of_spec(self) -> dict[str, Any]:
        """What the spec says, too; where it says otherwise, another option may have been given."""
        if self.asked is None:
            return {}
        stated, asked = self.certificate.stated, self.asked
        said = {name: getattr(asked, name) for name in _OF_SPEC}
        same = {name: value for name, value in said.items() if _alike(stated.get(name), value)}
        order = stated.get("order")
        if self.certificate.audience == "public" and order is not None and order["shuffle"] == asked.shuffle:
            same["order"] = order
        return same

    def promises(self) -> list[CheckedClaim]:
        """Each certified promise, and those of the spec that are not certified."""
        made = self.verdict.to_dict()["models"]
        known = [model.model_dump() for model in self.certificate.models]
        claims = [self._promise(model, made) for model in known]
        for entry in made if self.asked is not None else []:
            if not any(_is_same(entry, model) for model in known):
                detail = "It is not certified."
                claims.append(CheckedClaim(_name(entry), None, entry["measured"], False, detail, True))
        return claims

    def _promise(self, stated: dict[str, Any], made: Sequence[dict[str, Any]]) -> CheckedClaim:
        claim, measured = _name(stated), stated["measured"]
        if self.lacks_people:
            return CheckedClaim(claim, measured, detail=_NEEDS_PEOPLE, promise=True)
        again = next((entry for entry in made if _is_same(entry, stated)), None)
        if again is None and self.asked is None:
            return CheckedClaim(claim, measured, detail=_NEEDS_SPEC, promise=True)
        if again is None:
            return CheckedClaim(claim, measured, None, False, "The spec does not promise this.", promise=True)
        shown = again
        if self.certificate.audience == "public":
            shown = public_version(self.certificate.stated | {"models": [again]})["models"][0]
        same = again["holds"] is True and _alike(stated, shown)
        return CheckedClaim(claim, measured, again["measured"], same, promise=True)


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(_alike(one[name], other[name]) for name in ("model", "attribute", "parameters"))


def _name(model: dict[str, Any]) -> str:
    return f"{model['model']} of {model['attribute']}" if model["attribute"] else str(model["model"])


def _columns(certificate: Certificate, published: Sequence[str]) -> CheckedClaim:
    """The claim that all columns are published; identifiers may be, as pseudonyms or masked, and weights."""
    optional = (*WHO, "weight")
    expected = [name for name, role in certificate.roles.items() if role not in optional]
    found = [name for name in published if certificate.roles.get(name) not in optional]
    return CheckedClaim("columns", len(expected), len(found), sorted(expected) == sorted(found))


def _alike(certified: Any, found: Any) -> bool:
    if isinstance(certified, dict) and isinstance(found, dict):
        return certified.keys() == found.keys() and all(_alike(certified[key], found[key]) for key in found)
    if isinstance(certified, (list, tuple)) and isinstance(found, (list, tuple)):
        return len(certified) == len(found) and all(map(_alike, certified, found))
    if isinstance(certified, bool) or isinstance(found, bool):
        return certified is found
    if isinstance(certified, (int, float)) and isinstance(found, (int, float)):
        return isclose(certified, found, rel_tol=1e-9, abs_tol=1e-12)
    return bool(certified == found)
