"""kohort key: a pair of keys to sign certificates with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def key(
    private: Annotated[
        Path,
        typer.Argument(
            help="Where to write the private key, which signs. Keep it secret.", show_default=False
        ),
    ],
    public: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the public key, for those who check signatures.", show_default="PRIVATE.pub"
        ),
    ] = None,
) -> None:
    """Make keys to sign certificates with (Ed25519, PEM, as openssl makes them).

    The private key is for your eyes only. KOHORT_SIGN_PASSWORD, if it is set, becomes its password.

    Example: **kohort key office.pem**
    """
    from kohort.files.checked import write_checked
    from kohort.files.outputs import Outputs
    from kohort.io.signature import make_keys

    public = Path(f"{private}.pub") if public is None else public
    outputs = Outputs([private, public], new=[private, public], private=[private])
    outputs.check()
    secret, open_ = make_keys()
    with outputs.drafts() as draft_of:
        write_checked(draft_of[private], secret)
        write_checked(draft_of[public], open_)
    typer.echo(f"Written: {private} (keep it secret) and {public} (give it to those who check).")
