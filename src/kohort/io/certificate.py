"""The certificate of a release: its fields, from which the JSON Schema is made; writing and reading one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from kohort.files.checked import write_checked
from kohort.io.json_text import read_document
from kohort.problem.roles import Role

Number = int | float
Count = Annotated[int, Field(ge=0)]
Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


def says(description: str, default: Any = ..., **limits: Any) -> Any:
    """A field of a certificate; one without a default must be there."""
    return Field(default, description=description, **limits)


class _Part(BaseModel):
    """A part of a certificate; keys that later versions add are allowed."""

    model_config = ConfigDict(extra="allow", strict=True, protected_namespaces=())


class CertifiedModel(_Part):
    """One promise."""

    model: str = says("The name of the privacy model, such as l-diversity.")
    attribute: str | None = says("The sensitive column, or null.")
    promise: str = says("The promise in words.")
    parameters: dict[str, Any] = says("All parameters of the model.")
    asked: Number | None = says("The parameter that `measured` is to be compared with.")
    measured: Number | None = says(
        "What was measured in the worst class; null if it is infinite or there is no class."
    )
    failing_classes: Count = says("Classes that break the promise.")
    holds: bool = says("Whether no class breaks the promise.")


class CertifiedRisk(_Part):
    """The chance that somebody is found in the release by all quasi-identifiers: one over the class size.

    Of people, where these were counted, else of records.
    """

    maximum: Number = says("Of the one who is most at risk.", ge=0, le=1)
    average: Number = says("On average over all who are published.", ge=0, le=1)


class CertifiedCheck(_Part):
    """One check of the published table."""

    check: str = says("The name of the check.")
    holds: bool | None = says("True or false; null if it could not be checked.")
    detail: str = says("What was found, in a sentence; empty in public.")


class CertifiedCaution(_Part):
    """Something that the promises do not cover, although every one of them holds."""

    kind: str = says("A short name, such as no-promise.")
    column: str | None = says("The column that it is about, or null.")
    records: int | None = says("How many published records it is about, or null: not counted.")
    what: str = says("What is not protected, in a sentence.")
    advice: str = says("What to do about it, in a sentence.")
    add: dict[str, Any] | None = says("What to add to the spec for that, as in the spec, or null.")


class CertifiedEvidence(_Part):
    """What speaks for a figure."""

    evidence: Literal["checked", "solver", "theorem", "stated"] = says(
        "Proven again by verification, a solver's word, a theorem of a paper, or only said."
    )
    reason: str = says("Which proof, solver or paper that is.")


class CertifiedItems(_Part):
    """What became of the column of items."""

    column: str
    algorithm: str
    parameters: dict[str, Any]
    hierarchy: Any = says("How the hierarchy of the items was built, as in the spec, or `given`.")
    items: Count = says("The number of different items.")
    occurrences: Count = says("The number of items in all baskets together.")
    published_items: Count = says("The number of different items and nodes that are published.")
    withheld: Count = says("The number of records whose items are not published.")
    dropped: Count | None = says("The number of items that are dropped from their baskets; null in public.")
    dropped_share: float | None = says(
        "The share of all items in baskets that are dropped from them.", ge=0, le=1
    )
    dropped_sensitive: Count | None = says(
        "The number of sensitive items that are dropped from their baskets.", 0
    )
    class_size: int | None = says("With quasi-identifiers beside the items: the smallest class asked for.")
    ncp: float
    bound: float | None = says("A lower bound on the least possible NCP, by the solver's word.")


class CertifiedScheme(_Part):
    """What a search says of a recoding among those that publish a value in one way wherever it occurs."""

    attributes: dict[str, str] = says("The scheme of every quasi-identifier, such as ops.")
    bound: Number | None = says("No recoding of these schemes costs less, by the word of the search.")
    gap: Number | None = says("cost / bound - 1; 0 where the recoding is proven to be the best.")
    nodes: Count | None = says("How many nodes of the search were examined; null in public.")


class CertifiedOrder(_Part):
    """The order in which the records are published."""

    shuffle: bool | Literal["auto"] = says("What was asked for.")
    shuffled: bool | None = says(
        "Whether the records stand in another order than the original's; null in public."
    )


class CertifiedLinks(_Part):
    """How the records of a person are linked; then a class is a set of people with the same history."""

    person: str = says("The column of pseudonyms.")
    slot: str | None = says(
        "The column that says which record of a person it is; null: they are an unordered bag."
    )
    people: int = says("People in the original.", ge=1)


class CertifiedEvents(_Part):
    """A table of people and one of their events, published together; records are those of the two joined."""

    key: str = says("The column of pseudonyms that both files have.")
    columns: list[str] = says("The columns of the events that were used.")
    items: str | None = says("The column of items; null where events are linked records.")
    people: int = says("People in the original.", ge=1)
    events: Count = says("Events in the original, without orphans.")
    without_events: Count = says("People in the original who have no event.")
    orphans: Count | None = says(
        "Events left out because their person is not in the original; null in public."
    )


class CertifiedTogether(_Part):
    """What all releases of the same people leave to somebody who has them, where a ledger ties them."""

    release: int = says("Which release of the ledger this is.", ge=1)
    again: str = says("How it was made safe together with the earlier ones.")
    candidates: Count = says("The fewest records among which anybody's is hidden, over all releases.")
    counterfeits: Count = says("Published records that are nobody's, so that no group lacks a value.", 0)
    people: dict[str, int] = says(
        "People who are new, kept and gone; places passed on; people who rest or wait."
    )
    checks: list[CertifiedCheck] = says("One entry per rule over all releases.")
    alone: Number | None = says(
        "The cost of a release on its own, by the same algorithm; null for the first release."
    )
    ratio: Number | None = says("The cost of this release over `alone`.")


class CertifiedFiles(_Part):
    """SHA-256 of files; null for dataframes."""

    input: Hash | None = says(
        "Always null, because it would let anybody test guesses of the original; version 0.1.0 wrote it."
    )
    output: Hash | None = says("The SHA-256 of the file written.")
    events: Hash | None = says("The SHA-256 of the file of events, if there is one.", None)


class Certificate(_Part):
    """What was promised about a release, what was measured, and how it was made."""

    kohort: Literal["release"] = says("What kind of facts these are.")
    audience: Literal["public", "internal"] = says(
        "Public: its figures test no guess of the original. Internal: the holder's.", "internal"
    )
    version: str = says("The version of Kohort.")
    title: str | None = says("The name of the data set, if it was given.", None)
    owner: str | None = says("Who is responsible for the release, if it was said.", None)
    holds: bool = says("Whether every promise holds.")
    records: int = says("The number of records of the original.", ge=1)
    suppressed: Count = says("The number of records that are withheld.")
    suppressed_as: Literal["star", "drop"] | None = says(
        "What withheld records became: `*` everywhere, or left out; null if there are none.", None
    )
    counterfeits: Count = says("The number of published records that are nobody's.", 0)
    classes: Count = says("The number of classes of records that look alike, without withheld records.")
    smallest_class: int | None = says("The number of records in the smallest class.")
    counted: Literal["records", "people"] = says(
        "What was counted: people, where a column has the role person.", "records"
    )
    people: int | None = says(
        "People whose records are published; null where records were counted.", None, ge=1
    )
    smallest_class_people: int | None = says(
        "People in the class with the fewest; null where records were counted.", None
    )
    risk: CertifiedRisk | None = says(
        "The risk of the release; null for baskets, and in certificates that did not say.", None
    )
    models: list[CertifiedModel] = says("One entry per promise.", min_length=1)
    checks: list[CertifiedCheck] = says("One entry per check.")
    cautions: list[CertifiedCaution] = says("What the promises do not cover; version 0.1.0 did not say.", [])
    cost: str = says("The name of the cost that was minimised.")
    loss: dict[str, Number] = says("Every cost by its name, measured on what is published.")
    unweighted_loss: dict[str, Number] | None = says(
        "Where records have weights: the costs that use them, with all records counted alike.", None
    )
    labels: Literal["hierarchy", "tight"] = says("The domain in which `loss` counts values.")
    bound: Number | None = says(
        "A lower bound on the least possible cost that verification proved again; null in public."
    )
    gap: Number | None = says("cost / bound - 1.")
    solver_bound: Number | None = says(
        "A lower bound by the word of a solver or of the search: nothing checked it; or null.", None
    )
    solver_gap: Number | None = says("cost / solver_bound - 1.", None)
    guarantee: Number | None = says("The approximation factor of this run.")
    evidence: dict[str, CertifiedEvidence] = says(
        "What speaks for `bound`, `solver_bound` and `guarantee`, where there are any.", {}
    )
    scheme: CertifiedScheme | None = says("What a search for schemes has proven.")
    algorithm: str = says("The algorithm that made it.")
    parameters: dict[str, Any] = says("The parameters of the algorithm.")
    seed: Count | None = says("The seed; null in public.")
    cut_by_time: bool | None = says(
        "Whether a time limit cut the search, so that the same input and seed may give another release; "
        "null in public, and in version 0.1.0, which did not say.",
        None,
    )
    quasi_identifiers: list[str] = says("The names of the quasi-identifiers.")
    items: CertifiedItems | None = says("What became of the column of items, or null.")
    roles: dict[str, Role] = says("The role of every column of the original.")
    suppression: Number = says("The share of records that could have been withheld.", ge=0, le=1)
    linked: CertifiedLinks | None = says("How the records of a person are linked; null: they are not.", None)
    events: CertifiedEvents | None = says(
        "The two tables, where the release is people and events; else null.", None
    )
    together: CertifiedTogether | None = says(
        "Its place among all releases of the same people; null without a ledger.", None
    )
    order: CertifiedOrder | None = says("The order of the records; null in documents of version 0.1.", None)
    notes: list[str] = says("Sentences that the person who signs should read.")
    seconds: dict[str, Number] = says("The seconds that each phase took.")
    sha256: CertifiedFiles
    commitment: Hash | None = says(
        "HMAC-SHA-256, keyed with the steward's salt, of the SHA-256 of the file read; or null.", None
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
