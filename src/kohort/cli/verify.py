"""kohort verify: does a release, made by any tool, keep its promise, and is its certificate true?"""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import typer

from kohort.cli.commands import Verify
from kohort.cli.console import Output
from kohort.cli.sources import file_of, secret_key, source_named
from kohort.errors import InputError, counted
from kohort.files.atomic import Outputs
from kohort.io.data_files import read_data, read_release, write_rows
from kohort.io.databases import DatabaseTable
from kohort.io.private_files import read_order, read_salt
from kohort.io.read_spec import files_of, read_spec, with_files
from kohort.job.public import sha256_of_files
from kohort.job.verify import verify_release
from kohort.report.terminal import checks_table, verdict_panel
from kohort.statement import Statement
from kohort.tables.source import Source
from kohort.verification import Together, Verification
from kohort.verification.releases import GivenRelease

_NEEDS = (
    ("ledger", ["spec"], "checks what the spec promises over all releases: give --spec as well."),
    ("earlier", ["ledger"], "is about the releases of a ledger: give --ledger as well."),
    (
        "order_file",
        ["original", "spec"],
        "is used to compare with the original: give --original and --spec as well.",
    ),
    ("public_key", ["certificate"], "checks the signature of a certificate: give --certificate as well."),
    ("review", ["spec"], "needs the spec, which names recipients and limits: give --spec."),
    (
        "salt",
        ["certificate", "original"],
        "checks an original against a certificate: give --certificate and --original.",
    ),
)


def verify(asked: Verify, output: Output) -> None:
    _refuse_incomplete(asked)
    files: _Files = {"release": source_named(asked.release, asked), "original": _original(asked)}
    files |= {"events": asked.events, "original_events": asked.original_events}
    certified = _certified(asked)
    _refuse_unknown_shape(files["release"], asked, certified)
    salt = read_salt(asked.salt) if asked.salt else None
    spec = request = None
    if asked.spec:
        k = certified.k if certified is not None and asked.k is None else asked.k
        spec = read_spec(asked.spec, k=k)
        request = with_files(spec, beside=asked.spec.parent)
    outputs = Outputs([*filter(None, [asked.violations])], reads=_reads(asked, spec, files))
    outputs.check()
    tables = _read(asked, spec, files)
    output.notes(*tables.values())
    found = _found(tables, request, certified, asked)
    if asked.violations:
        with outputs.drafts() as draft_of:
            write_rows(found.verdict.violations, draft_of[asked.violations])
    facts = found.verdict.to_dict() | {"loss": found.loss}
    facts["unmeasured"] = [check.name for check in found.verdict.checks if check.holds is None]
    checks = found.verdict.checks  # first of all, in which order records were compared
    broken = [check.detail for check in checks if check.holds is None and check.name == "records"]
    broken += [f"Broken: {reason}" for reason in found.verdict.reasons()]
    if certified:
        claims = _claims(certified, asked, request, tables, found, salt)
        broken += _add_claims(facts, claims)
    if asked.review and request:
        facts["review"] = _review(asked, tables, request, found)
    if asked.ledger and spec and request:
        together = _together(asked, asked.ledger, tables, spec, request)
        facts |= {"together": together.to_dict(), "holds": facts["holds"] and together.holds}
        broken += [f"Broken: {check.detail}" for check in together.checks if check.holds is False]
    _show(output, facts, found, asked)
    if not facts["holds"]:
        output.complain(*broken)
    if not facts["holds"] or (asked.review and not facts["review"]["stands"]):
        raise typer.Exit(1)


def _show(output: Output, facts: dict[str, Any], found: Verification, asked: Verify) -> None:
    output.result(facts)
    output.show(verdict_panel(facts))
    if "together" in facts:
        output.show(checks_table(facts["together"]["checks"]))
    if asked.review:
        review, marks = facts["review"], {True: "holds", False: "FAILS", None: "noted"}
        stands = "still stands" if review["stands"] else "does not stand as it is"
        output.say(f"Review on {review['on']}: the release {stands}.")
        output.say(*(f"- {marks[each['holds']]}: {each['detail']}" for each in review["findings"]))
    if asked.violations:
        rows = found.verdict.violations
        of = ("itemset is", "itemsets are") if "support" in rows.column_names else ("class is", "classes are")
        output.say(f"{counted(rows.num_rows, *(f'failing {name}' for name in of))} in {asked.violations}.")


def _refuse_incomplete(asked: Verify) -> None:
    """Refuse options that make no sense without others."""
    for given, needed, why in _NEEDS:
        if getattr(asked, given) and not all(getattr(asked, name) for name in needed):
            raise InputError(f"--{given.replace('_', '-')} {why}")
    if (asked.on or asked.population) and not asked.review:
        raise InputError("--on and --population are about a review: add --review.")
    if not asked.certificate and not asked.spec:
        raise InputError(
            "There is nothing to verify the release against. Give --spec, --certificate, or both."
        )


# -- what is read ----------------------------------------------------------------------------------

_Files = dict[str, Any]  # the files and tables of databases by what they hold; None: not at hand


def _original(asked: Verify) -> Path | DatabaseTable | None:
    if asked.original is not None:
        return source_named(asked.original, asked, prefix="original_")
    if asked.original_table is not None or asked.original_query is not None:
        raise InputError("--original-table and --original-query go with --original, the URL of a database.")
    return None


def _reads(asked: Verify, spec: Statement | None, files: _Files) -> list[Path | None]:
    """Every file that is read."""
    from kohort.io.private_files import signature_path

    signature = signature_path(asked.certificate) if asked.certificate else None
    named = files_of(spec, beside=asked.spec.parent) if spec and asked.spec else []
    before = [Path(name) for names in asked.earlier or () for name in names.split(",")]
    given = [asked.spec, asked.certificate, asked.public_key, asked.salt, asked.order_file, asked.population]
    return [*map(file_of, files.values()), *given, signature, asked.ledger, *before, *named]


def _read(asked: Verify, spec: Statement | None, files: _Files) -> dict[str, Source]:
    """The tables that are at hand, read as the spec says that they are written."""
    shape, formulas = (spec.shape, spec.formulas) if spec else (None, "keep")
    now = {name: getattr(asked, name) for name in ("delimiter", "encoding", "header")}
    before: dict[str, Any] = {"header": asked.original_header, "header_option": "original-header"}
    return {
        name: read_data(file, shape, **before)
        if name.startswith("original")
        else read_release(file, shape, formulas=formulas, **now)
        for name, file in files.items()
        if file
    }


def _others(tables: dict[str, Source]) -> dict[str, Any]:
    """The tables beside the release, as keywords of `verify_release`."""
    return {name: source.dataset for name, source in tables.items() if name != "release"}


def _order(path: Path | None) -> Any:
    return read_order(path) if path else None


def _found(
    tables: dict[str, Source], request: Statement | None, certified: Any, asked: Verify
) -> Verification:
    """What is measured by the spec or, where there is none, by the certificate."""
    published, others = tables["release"].dataset, _others(tables)
    if not request:
        from kohort.io.verify_certificate import verify_certified

        return verify_certified(published, certified, events=others.get("events"))
    announced = certified.counterfeits if certified else None
    return verify_release(
        published, request, order=_order(asked.order_file), counterfeits=announced, **others
    )


# -- the certificate -------------------------------------------------------------------------------


def _certified(asked: Verify) -> Any:
    """The certificate that is given, read; None without one."""
    from kohort.io.certificate import read_certificate

    if not asked.certificate:
        return None
    if asked.k is not None and asked.spec is None:
        raise InputError("The certificate says which k was promised: leave out --k.")
    return read_certificate(asked.certificate)


def _refuse_unknown_shape(release: Path | DatabaseTable, asked: Verify, certified: Any) -> None:
    """Refuse a file of nothing but baskets without its spec, which alone says how items are separated."""
    from kohort.io.formats import FORMATS, SUFFIXES, source_format
    from kohort.io.source_file import Files, plain_suffix
    from kohort.statement.items import BASKETS

    if asked.spec or not certified or not isinstance(release, Path):
        return
    files = Files.at(release)
    kind = source_format(files) if files.is_folder else SUFFIXES.get(plain_suffix(release), FORMATS[0])
    if kind.name == "csv" and dict(certified.roles) == {BASKETS: "items"}:
        raise InputError(
            f"{release} is a file of baskets by its certificate, and only the spec says how its items are "
            "separated: give --spec as well."
        )


def _claims(
    certified: Any,
    asked: Verify,
    request: Statement | None,
    tables: dict[str, Source],
    found: Verification,
    salt: bytes | None,
) -> list[Any]:
    """The result of checking each claim of the certificate."""
    from kohort.io.verify_certificate import (
        check_claims,
        check_original_file,
        check_release_files,
        check_signature,
    )

    assert asked.certificate is not None
    published = [tables[name] for name in ("release", "events") if name in tables]
    names = [name for file in published for name in file.table.column_names]
    columns = tables["original"].dataset.names if "original" in tables else ()
    return [
        check_signature(asked.certificate, asked.public_key, content=certified.content),
        *check_release_files(certified, [file.sha256 for file in published]),
        check_original_file(certified, _sha256_of_original(tables), salt),
        *check_claims(certified, found, names, asked=request, columns=columns),
    ]


def _sha256_of_original(tables: dict[str, Source]) -> str | None:
    """One SHA-256 for the original, also where it is two files; None where it is not at hand."""
    if "original" not in tables or ("events" in tables and "original_events" not in tables):
        return None
    second = tables["original_events"].sha256 if "original_events" in tables else None
    return sha256_of_files(tables["original"].sha256, second)


def _add_claims(facts: dict[str, Any], claims: list[Any]) -> list[str]:
    """Add the claims to the facts, and return why some are false.

    `unmeasured` names the promises and checks that only somebody's word stands for.
    """
    facts["claims"] = [claim.to_dict() for claim in claims]
    facts["holds"] = facts["holds"] and all(claim.holds is not False for claim in claims)
    facts["of_records_only"] = [claim.claim for claim in claims if claim.promise and claim.holds is None]
    facts["unmeasured"] = facts.pop("unmeasured") + facts["of_records_only"]
    return [
        f"Broken: {claim.claim}: "
        + (claim.detail or f"the certificate says {claim.certified}, but {claim.found} was found.")
        for claim in claims
        if claim.holds is False
    ]


# -- a review, and a ledger ------------------------------------------------------------------------


def _review(
    asked: Verify, tables: dict[str, Source], request: Statement, found: Verification
) -> dict[str, Any]:
    """The date of a review (by default today), its findings, and whether the release still stands."""
    from kohort.io.tables import read_table
    from kohort.risk.review import review_release

    try:
        day = date.today() if asked.on is None else date.fromisoformat(asked.on)
    except ValueError:
        raise InputError(f"--on must be a date such as 2027-06-30. Got {asked.on!r}.") from None
    people = read_table(asked.population).dataset if asked.population else None
    known = {"population": people, "original": _others(tables).get("original")}
    findings = review_release(tables["release"].dataset, request, found.verdict, on=day, **known)
    stands = all(finding.holds is not False for finding in findings)
    return {"on": day.isoformat(), "stands": stands, "findings": [each.to_dict() for each in findings]}


def _together(
    asked: Verify, ledger: Path, tables: dict[str, Source], spec: Statement, request: Statement
) -> Together:
    """What all releases of the ledger leave to somebody who has them."""
    from kohort.io.ledger_file import verify_with_ledger

    earlier = []
    for names in asked.earlier or ():
        files = _named(names)
        order = files.pop("order", None)
        earlier.append(_given(_read(asked, spec, files), order))
    current = _given(tables, asked.order_file)
    return verify_with_ledger(ledger, secret_key(asked.key_file), earlier, current, request.table_models)


def _given(tables: dict[str, Source], order: Path | None) -> GivenRelease:
    release = tables["release"]
    return GivenRelease(release.dataset, release.sha256, _others(tables).get("original"), _order(order))


def _named(files: str) -> _Files:
    """The files of an earlier release, those that are at hand."""
    names = [name.strip() for name in files.split(",")]
    if not 1 <= len(names) <= 3 or not all(names):
        raise InputError(
            "--earlier names a release, and where they are at hand its original and its order file, "
            f"separated by commas. Got {len(names)} names."
        )
    return dict(zip(("release", "original", "order"), map(Path, names)))
