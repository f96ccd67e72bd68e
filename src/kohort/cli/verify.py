"""kohort verify: does a release, made by any tool, keep its promise, and is its certificate true?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kohort.cli.options import Delimiter, Encoding, Header, Json, Quiet, header_option

if TYPE_CHECKING:
    from kohort.io.baskets import BasketShape
    from kohort.io.certificate import Certificate
    from kohort.io.tables import TableFile
    from kohort.io.verify import Verification
    from kohort.io.verify_certificate import Claim

__all__ = ["verify"]


def verify(
    release: Annotated[
        Path, typer.Argument(help="The published table, made by any tool.", show_default=False)
    ],
    spec: Annotated[
        Path | None, typer.Option(help="What each column is and what is promised (YAML).")
    ] = None,
    original: Annotated[
        Path | None, typer.Option(help="Also check every value and record against the original.")
    ] = None,
    order_file: Annotated[
        Path | None, typer.Option(help="Which original each record is: kohort anonymize --order-file.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="Also check every claim of this certificate (JSON).")
    ] = None,
    public_key: Annotated[
        Path | None, typer.Option(help="Also check the certificate's signature by this key (PEM).")
    ] = None,
    salt: Annotated[
        Path | None,
        typer.Option(help="Also check that the original is the one certified, by the salt of anonymize."),
    ] = None,
    violations: Annotated[
        Path | None, typer.Option(help="Write the classes or itemsets that fail to this file.")
    ] = None,
    k: Annotated[int | None, typer.Option("--k", "-k", help="Instead of the spec's k.")] = None,
    delimiter: Delimiter = None,
    encoding: Encoding = None,
    header: Header = None,
    original_header: Annotated[bool | None, header_option("original-header", "the original")] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Check a release: exit 0 if every promise holds, 1 if not.

    k, l, alpha and t are measured from the file and the spec (or the certificate) alone. With the original,
    every published value must cover the original one, and everything else must be as it was. With a
    certificate, the files must be those that it names, and every figure of it must be found anew.

    Example: **kohort verify release.csv --spec spec.yaml --original people.csv --violations failing.csv**
    """
    from rich.text import Text

    from kohort.cli.console import Output
    from kohort.data.dataset import Dataset
    from kohort.errors import InputError
    from kohort.io.baskets import read_release, write_rows
    from kohort.io.order_file import read_order
    from kohort.io.outputs import Outputs
    from kohort.io.signature import signature_path
    from kohort.io.spec import read_spec
    from kohort.io.verify import verify_release
    from kohort.io.verify_certificate import verify_certified
    from kohort.report.story import verdict_story

    output = Output(as_json=json, quiet=quiet)
    if order_file is not None and (original is None or spec is None):
        raise InputError("--order-file compares with the original: give --original and --spec, too.")
    certified = _certified(certificate, spec, public_key, k)
    secret = _salt(salt, certificate, original)
    promised = k if certified is None or k is not None else certified.k
    asked = None if spec is None else read_spec(spec).overridden(k=promised)
    hierarchies = [] if asked is None or spec is None else asked.files(beside=spec.parent)
    signature = None if certificate is None else signature_path(certificate)
    sources = [release, original, spec, certificate, signature, public_key, salt, order_file, *hierarchies]
    outputs = Outputs([] if violations is None else [violations], reads=sources)
    outputs.check()
    shape = None if asked is None else asked.shape
    formulas = "keep" if asked is None else asked.formulas
    reading = {"delimiter": delimiter, "encoding": encoding, "header": header}
    source = read_release(release, shape, formulas=formulas, **reading)
    before = None if original is None else _original(original, shape, original_header)
    output.notes(source, before)
    published = Dataset(source.table)
    if asked is not None:
        assert spec is not None
        compared = None if before is None else Dataset(before.table)
        order = None if order_file is None else read_order(order_file)
        found = verify_release(published, asked, beside=spec.parent, original=compared, order=order)
    else:
        assert certified is not None
        found = verify_certified(published, certified)
    if violations is not None:
        with outputs.drafts() as draft_of:
            write_rows(found.verdict.violations, draft_of[violations])
    facts = found.verdict.to_dict() | {"loss": found.loss}
    claims: list[Claim] = []
    if certified is not None and certificate is not None:
        claims = _claims(certified, certificate, public_key, source, before, found, secret)
        facts["claims"] = [claim.to_dict() for claim in claims]
        facts["holds"] = facts["holds"] and all(claim.holds is not False for claim in claims)
    output.result(facts)
    output.show(verdict_story(facts))
    if violations is not None:
        table = found.verdict.violations
        what = "itemsets" if "support" in table.column_names else "classes"
        output.show(Text(f"{table.num_rows} failing {what} are in {violations}."))
    if not facts["holds"]:
        if not quiet:
            _explain(found, claims)
        raise typer.Exit(1)


def _original(path: Path, shape: BasketShape | None, header: bool | None) -> TableFile:
    from kohort.io.baskets import read_data

    return read_data(path, shape, header=header, header_option="original-header")


def _certified(
    certificate: Path | None, spec: Path | None, public_key: Path | None, k: int | None
) -> Certificate | None:
    """The certificate, read; refused are options that make no sense without one."""
    from kohort.errors import InputError
    from kohort.io.certificate import read_certificate

    if certificate is None:
        if spec is None:
            raise InputError("What is promised? Give --spec, or --certificate, or both.")
        if public_key is not None:
            raise InputError("--public-key is for the signature of a certificate: give --certificate, too.")
        return None
    if k is not None and spec is None:
        raise InputError("The certificate says which k was promised: leave out --k.")
    return read_certificate(certificate)


def _salt(path: Path | None, certificate: Path | None, original: Path | None) -> bytes | None:
    from kohort.errors import InputError
    from kohort.io.salt import read_salt

    if path is None:
        return None
    if certificate is None or original is None:
        raise InputError(
            "--salt checks an original against a certificate: give --certificate and --original."
        )
    return read_salt(path)


def _claims(
    certified: Certificate,
    path: Path,
    public_key: Path | None,
    source: TableFile,
    before: TableFile | None,
    found: Verification,
    salt: bytes | None,
) -> list[Claim]:
    from kohort.data.dataset import Dataset
    from kohort.io.verify_certificate import (
        check_claims,
        check_original_file,
        check_release_file,
        check_signature,
    )

    return [
        check_signature(path, public_key, content=certified.content),
        check_release_file(certified, source.sha256),
        check_original_file(certified, None if before is None else before.sha256, salt),
        *check_claims(certified, found, Dataset(source.table)),
    ]


def _explain(found: Verification, claims: list[Claim]) -> None:
    for check in found.verdict.checks:
        if check.holds is None and check.name == "records":  # in which order what follows was compared
            typer.echo(check.detail, err=True)
    for reason in found.verdict.reasons():
        typer.echo(f"Broken: {reason}", err=True)
    for claim in claims:
        if claim.holds is False:
            reason = claim.detail or f"the certificate says {claim.certified}, found was {claim.found}."
            typer.echo(f"Broken: {claim.claim}: {reason}", err=True)
