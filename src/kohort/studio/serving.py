"""Where and how the studio is served; needs no other package, so that the command line can say it at once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Serving:
    """Where and how the studio is served.

    port  0: any that is free
    host  another than this machine's own needs a password
    """

    port: int = 0
    host: str = LOOPBACK
    password: str | None = None
    certificate: Path | None = None
    key: Path | None = None
    names: tuple[str, ...] = ()
    browser: bool = True

    @property
    def is_local(self) -> bool:
        """Whether nobody but this machine's user is meant; a password says that others may come."""
        return self.host == LOOPBACK and self.password is None

    @property
    def secure(self) -> bool:
        return self.certificate is not None
