"""kohort studio: the whole job in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from kohort.cli.commands import Studio
from kohort.cli.console import Output
from kohort.errors import InputError
from kohort.extras import missing_package
from kohort.studio.serving import LOOPBACK, Serving

_LEAST_PASSWORD = 12  # characters


def studio(asked: Studio, output: Output) -> None:
    _refuse_wrong(asked)
    serving = _serving(asked)
    try:
        from kohort.studio.app import Options
        from kohort.studio.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("kohort"):
            raise
        raise missing_package("The studio needs", "studio") from None

    def options(folder: Path) -> Options:
        said = {name: getattr(asked, name) for name in ("file", "spec", "demo", "header")}
        sign = asked.sign and asked.sign.absolute()
        return Options(folder, **said, sign=sign, upload_limit=asked.upload_limit * 2**20)

    def say(address: str) -> None:
        """Print the address on a line of its own, at once."""
        output.result({"address": address})
        output.say_whole(f"Kohort studio: {address}")
        sys.stdout.flush()

    serve(serving, options, say)
    output.complain("Kohort studio has ended.")


def _refuse_wrong(asked: Studio) -> None:
    """Refuse what cannot be meant, before anything is started."""
    if asked.spec and not asked.file:
        raise InputError(
            "--spec is for a table: name the file, too, as in kohort studio people.csv --spec spec.yaml."
        )
    if asked.demo and asked.file:
        raise InputError("--demo opens built-in data: leave out the file.")
    if asked.upload_limit < 1:
        raise InputError(f"--upload-limit must be at least 1 MB. Got {asked.upload_limit}.")
    for path in filter(None, (asked.file, asked.spec)):
        if not path.is_file():
            raise InputError(f"There is no file {str(path)!r}.")


def _serving(asked: Studio) -> Serving:
    """Where to serve; another address than this machine's needs a password, and TLS or a confirmation.

    With --host, this machine's own address can have a password, too: where a tunnel leads to it, say.
    """
    host, certificate, key = asked.host, asked.tls_certificate, asked.tls_key
    names = tuple(name.strip() for name in (asked.name or "").split(",") if name.strip())
    if bool(certificate) != bool(key):
        raise InputError("--tls-certificate and --tls-key go together.")
    given = any((asked.password_file, certificate, *names))
    if host is None and given:
        raise InputError("--name, --password-file and TLS are for --host: leave them out on this machine.")
    if host is None or (host in (LOOPBACK, "localhost") and not given):
        return Serving(port=asked.port, browser=asked.browser)
    if not asked.password_file:
        raise InputError("With --host others can reach the studio: give --password-file as well.")
    password = _password(asked.password_file)
    if not certificate:
        _confirm_plain(host)
    return Serving(asked.port, host, password, certificate, key, names, browser=False)


def _password(path: Path) -> str:
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
