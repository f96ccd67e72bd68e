"""kohort key: a pair of keys to sign certificates with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kohort.cli.files import refuse_overwriting

__all__ = ["key"]


def key(
    private: Annotated[
        Path, typer.Argument(help="The private key, to sign with: keep it.", show_default=False)
    ],
    public: Annotated[
        Path | None, typer.Option(help="The public key, to give away.", show_default="PRIVATE.pub")
    ] = None,
) -> None:
    """Make keys to sign certificates with (Ed25519, PEM, as openssl makes them).

    The private key is for your eyes only. KOHORT_SIGN_PASSWORD, if it is set, becomes its password.

    Example: **kohort key office.pem**
    """
    from kohort.io.atomic import replacing_all
    from kohort.io.signature import make_keys

    public = Path(f"{private}.pub") if public is None else public
    for file in (private, public):
        refuse_overwriting(file, sources=[], force=False)
    secret, open_ = make_keys()
    with replacing_all([private, public]) as drafts:
        drafts[0].chmod(0o600)
        drafts[0].write_bytes(secret)
        drafts[1].write_bytes(open_)
    typer.echo(f"Written: {private} (keep it secret) and {public} (give it to those who check).")
