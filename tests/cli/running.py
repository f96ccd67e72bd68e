"""Run a command in this process, as the installed program would."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from kohort.cli.app import main


class Ran(NamedTuple):
    exit: int
    out: str
    err: str


def run(*words) -> Ran:
    """What `kohort WORDS` prints, and its exit code; any exception but an exit is a failure."""
    out, err = io.StringIO(), io.StringIO()
    argv = ["kohort", *map(str, words)]
    code = 0
    with patch.object(sys, "argv", argv), redirect_stdout(out), redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    assert "Traceback" not in err.getvalue()
    assert "bug in Kohort" not in err.getvalue()
    return Ran(code, out.getvalue(), err.getvalue())
