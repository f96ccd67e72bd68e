"""kohort verify: does a release, made by any tool, keep its promise, and is its certificate true?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, ReleaseReading, command
from kohort.cli.evidence import Tables, read_tables, review_facts, show_review, verify_together
from kohort.cli.options import KeyFile, LedgerFile
from kohort.cli.plain_help import bundle, option
from kohort.cli.sources import file_of
from kohort.errors import counted

if TYPE_CHECKING:
    from kohort.io.certificate import Certificate
    from kohort.io.databases import DatabaseTable
    from kohort.io.verify_certificate import CheckedClaim
    from kohort.statement import Statement
    from kohort.verification import Verification


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


_Given: Any = bundle(
    spec=option(Path, "The spec: the role of each column and what is promised (YAML)."),
    original=option(
        str,
        "Also check every value and record against the original: a file, or the URL of a database with "
        "--original-table or --original-query.",
    ),
    events=option(Path, "The published events, where the release is people and events."),
    original_events=option(Path, "The original of the events, beside --original."),
    order_file=option(Path, "The order file, written by 'kohort anonymize --order-file'."),
    certificate=option(Path, "Also check every claim of this certificate (JSON)."),
    public_key=option(Path, "Also check the certificate's signature by this key (PEM)."),
    salt=option(
        Path, "Also check, with the salt given to anonymize, that the original is the certified one."
    ),
    review=option(
        bool,
        "Also review it: dates of review, and the risk for each recipient of the spec, today.",
        False,
        name="review",
    ),
    on=option(str, "The date of the review, such as 2027-06-30.", show_default="today"),
    population=option(Path, "With --review: a newer table of the population, to compare the release with."),
    ledger=(LedgerFile, None),
    earlier=option(
        list[str],
        "With --ledger, an earlier release, from the first on: its file, its original and its order file, "
        "separated by commas; may be repeated.",
        show_default=False,
    ),
    key_file=(KeyFile, None),
)


class Evidence(_Given):
    """What a release is checked against."""

    def refuse_incomplete(self) -> None:
        """Refuse options that make no sense without others."""
        from kohort.errors import InputError

        for given, needed, why in _NEEDS:
            if getattr(self, given) and not all(getattr(self, name) for name in needed):
                raise InputError(f"--{given.replace('_', '-')} {why}")
        if (self.on or self.population) and not self.review:
            raise InputError("--on and --population are about a review: add --review.")
        if not self.certificate and not self.spec:
            raise InputError(
                "There is nothing to verify the release against. Give --spec, --certificate, or both."
            )

    def files(self, asked: Statement | None, original: Path | None) -> list[Path | None]:
        """Every file that is read besides the release; `original` is that of the original."""
        from kohort.io.private_files import signature_path
        from kohort.io.read_spec import files_of

        signature = None if self.certificate is None else signature_path(self.certificate)
        named = [] if asked is None or self.spec is None else files_of(asked, beside=self.spec.parent)
        given = [original, self.spec, self.certificate, self.public_key, self.salt, self.order_file]
        before = [Path(name) for files in self.earlier or () for name in files.split(",")]
        others = [self.population, self.events, self.original_events, signature, self.ledger]
        return [*given, *others, *before, *named]


@command
def verify(
    release: Annotated[
        str,
        typer.Argument(
            help=(
                "The published table, made by any tool: a file, or the URL of a database with --table or "
                "--query."
            ),
            show_default=False,
        ),
    ],
    *,
    evidence: Evidence,
    violations: Annotated[
        Path | None, typer.Option(help="Write the classes or itemsets that break a promise to this file.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="The k to use instead of the spec's.")] = None,
    reading: ReleaseReading,
    printing: Printing,
) -> None:
    """Check a release: exit 0 if every promise holds, 1 if not.

    k, l, alpha and t are measured from the file and the spec (or the certificate) alone. With the original,
    every published value must cover the original one, and everything else must be unchanged. With a
    certificate, the files must be those that it names, and every figure of it must be measured again. With
    a ledger, its releases are compared with their files, and checked together.

    Example: **kohort verify release.csv --spec spec.yaml --original people.csv --violations failing.csv**
    """
    from kohort.files.atomic import Outputs
    from kohort.io.data_files import write_rows
    from kohort.io.private_files import read_salt
    from kohort.io.read_spec import read_spec, with_files
    from kohort.report.terminal import checks_table, verdict_panel

    output = printing.output()
    evidence.refuse_incomplete()
    published, original = reading.release(release), reading.original(evidence.original)
    certified = _certified(evidence, k)
    _refuse_unknown_shape(published, evidence, certified)
    secret = None if evidence.salt is None else read_salt(evidence.salt)
    asked = request = None
    if evidence.spec is not None:
        certified_k = None if certified is None else certified.k
        asked = read_spec(evidence.spec, k=certified_k if k is None else k)
        request = with_files(asked, beside=evidence.spec.parent)
    reads = [file_of(published), *evidence.files(asked, file_of(original))]
    outputs = Outputs([] if violations is None else [violations], reads=reads)
    outputs.check()
    tables = read_tables(published, original, evidence.events, evidence.original_events, asked, reading)
    output.notes(tables.release, tables.original, tables.events, tables.original_events)
    found = _found(tables, request, certified, evidence)
    if violations is not None:
        with outputs.drafts() as draft_of:
            write_rows(found.verdict.violations, draft_of[violations])
    claims = [] if certified is None else _claims(certified, evidence, request, tables, found, secret)
    facts = _facts(found, None if certified is None else claims)
    if evidence.review and request is not None:
        facts["review"] = review_facts(
            tables.release.dataset,
            request,
            found.verdict,
            on=evidence.on,
            population=evidence.population,
            original=tables.datasets["original"],
        )
    together = None
    if evidence.ledger is not None and asked is not None and request is not None:
        together = verify_together(evidence, evidence.ledger, tables, asked, request, reading)
        facts |= {"together": together.to_dict(), "holds": facts["holds"] and together.holds}
    output.result(facts)
    output.show(verdict_panel(facts))
    if together is not None:
        output.show(checks_table(facts["together"]["checks"]))
    if evidence.review:
        show_review(output, facts["review"])
    if violations is not None:
        output.say(_where_violations_are(found, violations))
    if not facts["holds"] and not printing.quiet:
        _explain(found, claims)
        for check in () if together is None else together.checks:
            if check.holds is False:
                typer.echo(f"Broken: {check.detail}", err=True)
    if not facts["holds"] or (evidence.review and not facts["review"]["stands"]):
        raise typer.Exit(1)


def _certified(evidence: Evidence, k: int | None) -> Certificate | None:
    """The certificate that is given, read; None without one."""
    from kohort.errors import InputError
    from kohort.io.certificate import read_certificate

    if evidence.certificate is None:
        return None
    if k is not None and evidence.spec is None:
        raise InputError("The certificate says which k was promised: leave out --k.")
    return read_certificate(evidence.certificate)


def _refuse_unknown_shape(
    release: Path | DatabaseTable, evidence: Evidence, certified: Certificate | None
) -> None:
    """Refuse a file of nothing but baskets without its spec, which alone says how items are separated."""
    from kohort.errors import InputError
    from kohort.io.formats import FORMATS, SUFFIXES, source_format
    from kohort.io.source_file import Files, plain_suffix
    from kohort.statement.items import BASKETS

    if evidence.spec is not None or certified is None or not isinstance(release, Path):
        return
    files = Files.at(release)
    kind = source_format(files) if files.is_folder else SUFFIXES.get(plain_suffix(release), FORMATS[0])
    if kind.name == "csv" and dict(certified.roles) == {BASKETS: "items"}:
        raise InputError(
            f"{release} is a file of baskets by its certificate, and only the spec says how its items are "
            "separated: give --spec as well."
        )


def _found(
    tables: Tables, request: Statement | None, certified: Certificate | None, evidence: Evidence
) -> Verification:
    """What is measured by the spec, or where there is none, by the certificate."""
    from kohort.io.private_files import read_order
    from kohort.io.verify_certificate import verify_certified
    from kohort.job.verify import verify_release

    published, others = tables.release.dataset, tables.datasets
    if request is None:
        assert certified is not None
        return verify_certified(published, certified, events=others["events"])
    order = None if evidence.order_file is None else read_order(evidence.order_file)
    announced = None if certified is None else certified.counterfeits
    return verify_release(published, request, order=order, counterfeits=announced, **others)


def _claims(
    certified: Certificate,
    evidence: Evidence,
    request: Statement | None,
    tables: Tables,
    found: Verification,
    salt: bytes | None,
) -> list[CheckedClaim]:
    """The result of checking each claim of the certificate."""
    from kohort.io.verify_certificate import (
        check_claims,
        check_original_file,
        check_release_files,
        check_signature,
    )

    assert evidence.certificate is not None
    published = [file for file in (tables.release, tables.events) if file is not None]
    original = tables.datasets["original"]
    return [
        check_signature(evidence.certificate, evidence.public_key, content=certified.content),
        *check_release_files(certified, [file.sha256 for file in published]),
        check_original_file(certified, tables.sha256_of_original, salt),
        *check_claims(
            certified,
            found,
            [name for file in published for name in file.table.column_names],
            asked=request,
            columns=() if original is None else original.names,
        ),
    ]


def _facts(found: Verification, claims: list[CheckedClaim] | None) -> dict[str, Any]:
    """What was found; `unmeasured` names the promises and checks that only somebody's word stands for."""
    facts = found.verdict.to_dict() | {"loss": found.loss}
    unmeasured = [check.name for check in found.verdict.checks if check.holds is None]
    if claims is not None:
        facts["claims"] = [claim.to_dict() for claim in claims]
        facts["holds"] = facts["holds"] and all(claim.holds is not False for claim in claims)
        promises = [claim.claim for claim in claims if claim.promise and claim.holds is None]
        facts["of_records_only"] = promises
        unmeasured += promises
    return facts | {"unmeasured": unmeasured}


def _where_violations_are(found: Verification, path: Path) -> str:
    table = found.verdict.violations
    names = ("itemset is", "itemsets are") if "support" in table.column_names else ("class is", "classes are")
    return f"{counted(table.num_rows, *(f'failing {name}' for name in names))} in {path}."


def _explain(found: Verification, claims: list[CheckedClaim]) -> None:
    for check in found.verdict.checks:
        if check.holds is None and check.name == "records":  # in which order what follows was compared
            typer.echo(check.detail, err=True)
    for reason in found.verdict.reasons():
        typer.echo(f"Broken: {reason}", err=True)
    for claim in claims:
        if claim.holds is False:
            reason = claim.detail or f"the certificate says {claim.certified}, but {claim.found} was found."
            typer.echo(f"Broken: {claim.claim}: {reason}", err=True)
