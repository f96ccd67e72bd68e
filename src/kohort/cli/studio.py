"""kohort studio: the whole job in a browser."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kohort.cli.bundles import Printing, command
from kohort.cli.options import Header
from kohort.cli.plain_help import bundle, option

if TYPE_CHECKING:
    from kohort.studio.serving import Serving

_LOOPBACK = "127.0.0.1"
_LEAST_PASSWORD = 12  # characters


_Asked: Any = bundle(
    spec=option(Path, "A spec to begin with (YAML)."),
    port=option(int, "The port to listen on.", 0, show_default="any that is free"),
    browser=option(bool, "Open the browser.", True, name="browser/--no-browser"),
    demo=option(bool, "Begin with built-in data: RAND health records.", False, name="demo"),
    sign=option(Path, "Sign certificates with this private key (PEM); see 'kohort key'."),
    upload_limit=option(int, "The largest upload, in MB.", 1024),
    host=option(
        str,
        "Listen on another address than this machine's own; needs --password-file.",
        show_default=_LOOPBACK,
    ),
    name=option(str, "With --host: the names by which browsers call this machine, with commas between."),
    password_file=option(Path, "With --host: a file with the password that opens the studio."),
    tls_certificate=option(Path, "With --host: the TLS certificate (PEM)."),
    tls_key=option(Path, "With --host: the key of the TLS certificate (PEM)."),
    header=(Header, None),
)


class Asked(_Asked):
    """What the studio begins with, and where it is served."""

    def refuse_wrong(self, file: Path | None) -> None:
        """Refuse what cannot be meant, before anything is started."""
        from kohort.errors import InputError

        if self.spec is not None and file is None:
            raise InputError(
                "--spec is for a table: name the file, too, as in kohort studio people.csv --spec spec.yaml."
            )
        if self.demo and file is not None:
            raise InputError("--demo opens built-in data: leave out the file.")
        if self.upload_limit < 1:
            raise InputError(f"--upload-limit must be at least 1 MB. Got {self.upload_limit}.")
        for path in (file, self.spec):
            if path is not None and not path.is_file():
                raise InputError(f"There is no file {str(path)!r}.")

    def serving(self) -> Serving:
        """Where to serve; another address than this machine's needs a password, and TLS or a confirmation.

        With --host, this machine's own address can have a password, too: where a tunnel leads to it, say.
        """
        from kohort.errors import InputError
        from kohort.studio.serving import Serving

        host, certificate, key = self.host, self.tls_certificate, self.tls_key
        names = tuple(name.strip() for name in (self.name or "").split(",") if name.strip())
        if (certificate is None) != (key is None):
            raise InputError("--tls-certificate and --tls-key go together.")
        given = any(value is not None for value in (self.password_file, certificate, *names))
        if host is None and given:
            raise InputError(
                "--name, --password-file and TLS are for --host: leave them out on this machine."
            )
        if host is None or (host in (_LOOPBACK, "localhost") and not given):
            return Serving(port=self.port, browser=self.browser)
        if self.password_file is None:
            raise InputError("With --host others can reach the studio: give --password-file as well.")
        password = _password(self.password_file)
        if certificate is None:
            _confirm_plain(host)
        return Serving(self.port, host, password, certificate, key, names, browser=False)


@command
def studio(
    file: Annotated[
        Path | None, typer.Argument(help="A table to open; it stays where it is.", show_default=False)
    ] = None,
    *,
    asked: Asked,
    printing: Printing,
) -> None:
    """Open the studio: the whole job in a browser, from data to release, on this machine only.

    It prints its address, opens the browser, and ends with Ctrl-C. It builds the spec that the other commands
    read; a file that is given stays where it is.

    Example: **kohort studio people.csv**
    """
    asked.refuse_wrong(file)
    serving = asked.serving()
    try:
        from kohort.studio.app import Options
        from kohort.studio.server import serve
    except ModuleNotFoundError as error:
        from kohort.extras import missing_package

        if (error.name or "").startswith("kohort"):
            raise
        raise missing_package("The studio needs", "studio") from None
    serve(
        serving,
        lambda folder: Options(
            folder,
            file=file,
            spec=asked.spec,
            demo=asked.demo,
            header=asked.header,
            sign=None if asked.sign is None else asked.sign.absolute(),
            upload_limit=asked.upload_limit * 2**20,
        ),
        lambda address: _say(address, printing),
    )
    if not printing.quiet:
        typer.echo("Kohort studio has ended.", err=True)


def _say(address: str, printing: Printing) -> None:
    """Print the address on a line of its own, at once."""
    printing.output().result({"address": address})
    if not (printing.json or printing.quiet):
        typer.echo(f"Kohort studio: {address}")
    sys.stdout.flush()


def _password(path: Path) -> str:
    from kohort.errors import InputError

    try:
        password = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"The password file {str(path)!r} cannot be read.") from None
    if len(password) < _LEAST_PASSWORD:
        raise InputError(f"The password must have at least {_LEAST_PASSWORD} characters.")
    return password


def _confirm_plain(host: str) -> None:
    """Say what it means to serve without TLS; go on only if somebody says yes."""
    typer.echo(
        f"Warning: without --tls-certificate and --tls-key, everybody on the network to {host} can "
        "read the data and the password that pass between browser and studio.",
        err=True,
    )
    typer.confirm("Serve without TLS?", abort=True, err=True)
