"""Optional packages: how to install those of an extra, wherever this Kohort came from."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution

from kohort.errors import MissingPackageError

__all__ = ["install_command", "missing_package"]


def install_command(extra: str) -> str:
    """The command that installs the packages of an extra: by name, or from the clone that is in use.

    pip notes in `direct_url.json` where a package came from. For an installation from a folder, or a program
    that runs from its sources without being installed, a name would be looked up elsewhere.
    """
    source = _source()
    if source is None:
        return f"pip install 'kohort[{extra}]'"
    editable = "-e " if source.get("editable") else ""
    return f"pip install {editable}'.[{extra}]' in the folder of your clone"


def missing_package(purpose: str, extra: str, *, more: str = "") -> MissingPackageError:
    """The error for a purpose such as "Signatures need" whose packages are not installed."""
    return MissingPackageError(f"{purpose}: {install_command(extra)}{more}")


def _source() -> dict[str, bool] | None:
    """What pip noted of the folder that Kohort was installed from; None where it was no folder."""
    try:
        noted = distribution("kohort").read_text("direct_url.json")
    except PackageNotFoundError:  # run from its sources
        return {}
    return json.loads(noted).get("dir_info") if noted else None
