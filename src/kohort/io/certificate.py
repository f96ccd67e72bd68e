"""The certificate of a release: its fields, from which the JSON Schema is made; writing and reading one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from kohort.files.checked import write_checked
from kohort.io.json_text import read_document
from kohort.problem.roles import Role

SHA256 = r"^[0-9a-f]{64}$"
Number = int | float


class _Part(BaseModel):
    """A part of a certificate; keys that later versions add are allowed."""

    model_config = ConfigDict(extra="allow", strict=True, protected_namespaces=())


class CertifiedModel(_Part):
    """One promise."""

    model: str = Field(description="The name of the privacy model, such as l-diversity.")
    attribute: str | None = Field(description="The sensitive column, or null.")
    promise: str = Field(description="The promise in words.")
    parameters: dict[str, Any] = Field(description="All parameters of the model.")
    asked: Number | None = Field(description="The parameter that `measured` is to be compared with.")
    measured: Number | None = Field(
        description="What was measured in the worst class; null if it is infinite or there is no class."
    )
    failing_classes: int = Field(ge=0, description="Classes that break the promise.")
    holds: bool = Field(description="Whether no class breaks the promise.")


class CertifiedRisk(_Part):
    """The chance that somebody is found in the release by all quasi-identifiers: one over the class size.

    Of people, where these were counted, else of records.
    """

    maximum: Number = Field(ge=0, le=1, description="Of the one who is most at risk.")
    average: Number = Field(ge=0, le=1, description="On average over all who are published.")


class CertifiedCheck(_Part):
    """One check of the published table."""

    check: str = Field(description="The name of the check.")
    holds: bool | None = Field(description="True or false; null if it could not be checked.")
    detail: str = Field(description="What was found, in a sentence; empty in public.")


class CertifiedCaution(_Part):
    """Something that the promises do not cover, although every one of them holds."""

    kind: str = Field(description="A short name, such as no-promise.")
    column: str | None = Field(description="The column that it is about, or null.")
    records: int | None = Field(description="How many published records it is about, or null: not counted.")
    what: str = Field(description="What is not protected, in a sentence.")
    advice: str = Field(description="What to do about it, in a sentence.")
    add: dict[str, Any] | None = Field(
        description="What to add to the spec for that, as in the spec, or null."
    )


class CertifiedEvidence(_Part):
    """What speaks for a figure."""

    evidence: Literal["checked", "solver", "theorem", "stated"] = Field(
        description="Proven again by verification, a solver's word, a theorem of a paper, or only said."
    )
    reason: str = Field(description="Which proof, solver or paper that is.")


class CertifiedItems(_Part):
    """What became of the column of items."""

    column: str
    algorithm: str
    parameters: dict[str, Any]
    hierarchy: Any = Field(
        description="How the hierarchy of the items was built, as in the spec, or `given`."
    )
    items: int = Field(ge=0, description="The number of different items.")
    occurrences: int = Field(ge=0, description="The number of items in all baskets together.")
    published_items: int = Field(
        ge=0, description="The number of different items and nodes that are published."
    )
    withheld: int = Field(ge=0, description="The number of records whose items are not published.")
    dropped: int | None = Field(
        ge=0, description="The number of items that are dropped from their baskets; null in public."
    )
    dropped_share: float | None = Field(
        ge=0, le=1, description="The share of all items in baskets that are dropped from them."
    )
    dropped_sensitive: int | None = Field(
        0, ge=0, description="The number of sensitive items that are dropped from their baskets."
    )
    class_size: int | None = Field(
        description="With quasi-identifiers beside the items: the smallest class asked for."
    )
    ncp: float
    bound: float | None = Field(description="A lower bound on the least possible NCP, by the solver's word.")


class CertifiedScheme(_Part):
    """What a search says of a recoding among those that publish a value in one way wherever it occurs."""

    attributes: dict[str, str] = Field(description="The scheme of every quasi-identifier, such as ops.")
    bound: Number | None = Field(
        description="No recoding of these schemes costs less, by the word of the search."
    )
    gap: Number | None = Field(description="cost / bound - 1; 0 where the recoding is proven to be the best.")
    nodes: int | None = Field(ge=0, description="How many nodes of the search were examined; null in public.")


class CertifiedOrder(_Part):
    """The order in which the records are published."""

    shuffle: bool | Literal["auto"] = Field(description="What was asked for.")
    shuffled: bool | None = Field(
        description="Whether the records stand in another order than the original's; null in public."
    )


class CertifiedLinks(_Part):
    """How the records of a person are linked; then a class is a set of people with the same history."""

    person: str = Field(description="The column of pseudonyms.")
    slot: str | None = Field(
        description="The column that says which record of a person it is; null: they are an unordered bag."
    )
    people: int = Field(ge=1, description="People in the original.")


class CertifiedEvents(_Part):
    """A table of people and one of their events, published together; records are those of the two joined."""

    key: str = Field(description="The column of pseudonyms that both files have.")
    columns: list[str] = Field(description="The columns of the events that were used.")
    items: str | None = Field(description="The column of items; null where events are linked records.")
    people: int = Field(ge=1, description="People in the original.")
    events: int = Field(ge=0, description="Events in the original, without orphans.")
    without_events: int = Field(ge=0, description="People in the original who have no event.")
    orphans: int | None = Field(
        ge=0, description="Events left out because their person is not in the original; null in public."
    )


class CertifiedTogether(_Part):
    """What all releases of the same people leave to somebody who has them, where a ledger ties them."""

    release: int = Field(ge=1, description="Which release of the ledger this is.")
    again: str = Field(description="How it was made safe together with the earlier ones.")
    candidates: int = Field(
        ge=0, description="The fewest records among which anybody's is hidden, over all releases."
    )
    counterfeits: int = Field(
        default=0, ge=0, description="Published records that are nobody's, so that no group lacks a value."
    )
    people: dict[str, int] = Field(
        description="People who are new, kept and gone; places passed on; people who rest or wait."
    )
    checks: list[CertifiedCheck] = Field(description="One entry per rule over all releases.")
    alone: Number | None = Field(
        description="The cost of a release on its own, by the same algorithm; null for the first release."
    )
    ratio: Number | None = Field(description="The cost of this release over `alone`.")


class CertifiedFiles(_Part):
    """SHA-256 of files; null for dataframes."""

    input: str | None = Field(
        pattern=SHA256,
        description=(
            "Always null, because it would let anybody test guesses of the original; version 0.1.0 wrote it."
        ),
    )
    output: str | None = Field(pattern=SHA256, description="The SHA-256 of the file written.")
    events: str | None = Field(
        default=None, pattern=SHA256, description="The SHA-256 of the file of events, if there is one."
    )


class Certificate(_Part):
    """What was promised about a release, what was measured, and how it was made."""

    kohort: Literal["release"] = Field(description="What kind of facts these are.")
    audience: Literal["public", "internal"] = Field(
        "internal", description="Public: its figures test no guess of the original. Internal: the holder's."
    )
    version: str = Field(description="The version of Kohort.")
    title: str | None = Field(None, description="The name of the data set, if it was given.")
    owner: str | None = Field(None, description="Who is responsible for the release, if it was said.")
    holds: bool = Field(description="Whether every promise holds.")
    records: int = Field(ge=1, description="The number of records of the original.")
    suppressed: int = Field(ge=0, description="The number of records that are withheld.")
    suppressed_as: Literal["star", "drop"] | None = Field(
        None, description="What withheld records became: `*` everywhere, or left out; null if there are none."
    )
    counterfeits: int = Field(
        default=0, ge=0, description="The number of published records that are nobody's."
    )
    classes: int = Field(
        ge=0, description="The number of classes of records that look alike, without withheld records."
    )
    smallest_class: int | None = Field(description="The number of records in the smallest class.")
    counted: Literal["records", "people"] = Field(
        default="records", description="What was counted: people, where a column has the role person."
    )
    people: int | None = Field(
        default=None, ge=1, description="People whose records are published; null where records were counted."
    )
    smallest_class_people: int | None = Field(
        default=None, description="People in the class with the fewest; null where records were counted."
    )
    risk: CertifiedRisk | None = Field(
        default=None,
        description="The risk of the release; null for baskets, and in certificates that did not say.",
    )
    models: list[CertifiedModel] = Field(min_length=1, description="One entry per promise.")
    checks: list[CertifiedCheck] = Field(description="One entry per check.")
    cautions: list[CertifiedCaution] = Field(
        default=[], description="What the promises do not cover; version 0.1.0 did not say."
    )
    cost: str = Field(description="The name of the cost that was minimised.")
    loss: dict[str, Number] = Field(description="Every cost by its name, measured on what is published.")
    unweighted_loss: dict[str, Number] | None = Field(
        default=None,
        description="Where records have weights: the costs that use them, with all records counted alike.",
    )
    labels: Literal["hierarchy", "tight"] = Field(description="The domain in which `loss` counts values.")
    bound: Number | None = Field(
        description="A lower bound on the least possible cost that verification proved again; null in public."
    )
    gap: Number | None = Field(description="cost / bound - 1.")
    solver_bound: Number | None = Field(
        None,
        description="A lower bound by the word of a solver or of the search: nothing checked it; or null.",
    )
    solver_gap: Number | None = Field(None, description="cost / solver_bound - 1.")
    guarantee: Number | None = Field(description="The approximation factor of this run.")
    evidence: dict[str, CertifiedEvidence] = Field(
        default={},
        description="What speaks for `bound`, `solver_bound` and `guarantee`, where there are any.",
    )
    scheme: CertifiedScheme | None = Field(description="What a search for schemes has proven.")
    algorithm: str = Field(description="The algorithm that made it.")
    parameters: dict[str, Any] = Field(description="The parameters of the algorithm.")
    seed: int | None = Field(ge=0, description="The seed; null in public.")
    cut_by_time: bool | None = Field(
        default=None,
        description="Whether a time limit cut the search, so that the same input and seed may give another "
        "release; null in public, and in version 0.1.0, which did not say.",
    )
    quasi_identifiers: list[str] = Field(description="The names of the quasi-identifiers.")
    items: CertifiedItems | None = Field(description="What became of the column of items, or null.")
    roles: dict[str, Role] = Field(description="The role of every column of the original.")
    suppression: Number = Field(ge=0, le=1, description="The share of records that could have been withheld.")
    linked: CertifiedLinks | None = Field(
        None, description="How the records of a person are linked; null: they are not."
    )
    events: CertifiedEvents | None = Field(
        None, description="The two tables, where the release is people and events; else null."
    )
    together: CertifiedTogether | None = Field(
        None, description="Its place among all releases of the same people; null without a ledger."
    )
    order: CertifiedOrder | None = Field(
        None, description="The order of the records; null in documents of version 0.1."
    )
    notes: list[str] = Field(description="Sentences that the person who signs should read.")
    seconds: dict[str, Number] = Field(description="The seconds that each phase took.")
    sha256: CertifiedFiles
    commitment: str | None = Field(
        default=None,
        pattern=SHA256,
        description="HMAC-SHA-256, keyed with the steward's salt, of the SHA-256 of the file read; or null.",
    )
    _content: bytes = PrivateAttr(b"")

    @property
    def content(self) -> bytes:
        """The bytes of the file that it was read from, which a signature is about."""
        return self._content

    @property
    def stated(self) -> dict[str, Any]:
        """All of it as it was written, with fields that this version does not know."""
        return self.model_dump(exclude_unset=True)

    @property
    def k(self) -> int | None:
        """The k that was promised, which the command line may have chosen; None where none was."""
        asked = (model.parameters.get("k") for model in self.models if model.model == "k-anonymity")
        return next(asked, None)


def certificate_schema() -> dict[str, Any]:
    """The JSON Schema of a certificate."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **Certificate.model_json_schema()}


def write_certificate(facts: dict[str, Any], path: str | Path) -> None:
    """Write the facts of a release as JSON straight to `path`; see `atomic.replacing`."""
    write_checked(path, json.dumps(facts, indent=2, ensure_ascii=False) + "\n")


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate, or say what is wrong with it."""
    hint = "`kohort anonymize --certificate` writes one."
    certificate, content = read_document(path, Certificate, "a certificate of a release", hint)
    certificate._content = content
    return certificate
