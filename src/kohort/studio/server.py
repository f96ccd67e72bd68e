"""Start the studio: find a port, print the address once it answers, end cleanly on Ctrl-C.

The folder for uploads and releases is private, removed at the end, and after a crash at the next start.
"""

from __future__ import annotations

import contextlib
import html
import os
import shutil
import socket
import ssl
import sys
import tempfile
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import uvicorn

from kohort.errors import InputError
from kohort.studio.app import Options, make_app
from kohort.studio.security import Access
from kohort.studio.serving import LOOPBACK, Serving

_WILDCARDS = ("0.0.0.0", "::")
_PATIENCE = 2  # seconds for open streams to end


def serve(serving: Serving, options: Callable[[Path], Options], say: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `say` is called with the address once it answers."""
    _refuse_wrong_tls(serving)
    with private_folder() as folder, _bound(serving) as listening:
        port = listening.getsockname()[1]
        access = Access(_hosts(serving, port), port, secure=serving.secure, password=serving.password)
        app = make_app(access, replace(options(folder), paths_allowed=serving.is_local))
        server = _Server(_config(serving, app), lambda: _announce(serving, access, say, folder))
        with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises it again after it has ended cleanly
            server.run(sockets=[listening])
    if server.failed:
        raise InputError("The studio could not be started.")


def _refuse_wrong_tls(serving: Serving) -> None:
    """Refuse a certificate and a key that cannot be read or do not belong together."""
    if serving.certificate is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(
            serving.certificate,
            serving.key,
            password=lambda: "",  # so that nobody is asked for one
        )
    except (OSError, ValueError):
        raise InputError(
            "The TLS certificate and its key cannot be used: both must be PEM files, the key must be that of "
            "the certificate, and it must not be encrypted."
        ) from None


def _bound(serving: Serving) -> socket.socket:
    """A socket that already has its port, so that the address can be printed."""
    family = socket.AF_INET6 if ":" in serving.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((serving.host, serving.port))
    except OSError as error:
        listening.close()
        raise InputError(
            f"The address {serving.host}, port {serving.port}, cannot be used: {error.strerror}. "
            "Choose another --port."
        ) from None
    return listening


def _hosts(serving: Serving, port: int) -> frozenset[str]:
    """What a browser may call the studio."""
    names = [*serving.names]
    if serving.is_local:
        names += [LOOPBACK, "localhost"]
    elif serving.host in _WILDCARDS:
        names += [socket.gethostname(), socket.getfqdn(), *_own_addresses(), LOOPBACK, "localhost"]
    else:
        names.append(serving.host)
    bracketed = [f"[{name}]" if ":" in name else name for name in names]
    return frozenset(f"{name}:{port}" for name in bracketed)


def _own_addresses() -> list[str]:
    try:
        found = socket.getaddrinfo(socket.gethostname(), None)
    except OSError:
        return []
    return sorted({str(entry[4][0]) for entry in found})


def _config(serving: Serving, app: object) -> uvicorn.Config:
    tls = {}
    if serving.certificate is not None:
        tls = {"ssl_certfile": str(serving.certificate), "ssl_keyfile": str(serving.key)}
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        log_level="critical",  # neither addresses nor texts of errors reach a log
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        ws="none",
        lifespan="on",
        timeout_graceful_shutdown=_PATIENCE,
        **tls,  # type: ignore[arg-type]
    )


class _Server(uvicorn.Server):
    """Calls a function once it answers."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = started
        self.failed = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        self.failed = self.should_exit
        if not self.failed:
            self._announce()


def _announce(serving: Serving, access: Access, say: Callable[[str], None], folder: Path) -> None:
    host = sorted(access.hosts)[0] if not serving.is_local else f"{LOOPBACK}:{access.port}"
    start = f"{'https' if serving.secure else 'http'}://{host}/"
    address = start if access.password is not None else f"{start}?token={access.token}"
    say(address)
    if serving.browser:
        threading.Thread(target=webbrowser.open, args=(_page_to(address, folder),), daemon=True).start()


def _page_to(address: str, folder: Path) -> str:
    """A page in the private folder that leads to the address, which holds the token.

    All users of a machine can read by which address a browser was called.
    """
    page = folder / "open.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(address)}">', encoding="utf-8")
    return page.as_uri()


# -- the private folder -----------------------------------------------------------------------------


_PREFIX = "kohort-studio-"
_LOCK = "in-use"
_JUST_MADE = 60  # seconds


@contextmanager
def private_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder that only its owner may enter; folders that a crash left behind are removed first."""
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    sweep(parent)
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))  # mode 0700
    lock = (folder / _LOCK).open("w")
    try:
        _hold(lock)
        yield folder
    finally:
        lock.close()
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path) -> None:
    """Remove the folders of studios that ended without removing theirs; others' folders stay."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            ours = not hasattr(os, "getuid") or folder.stat().st_uid == os.getuid()
            if folder.is_dir() and not folder.is_symlink() and ours and not _is_held(folder):
                shutil.rmtree(folder, ignore_errors=True)


def _hold(lock: IO[str]) -> None:
    """Hold a lock that ends with this process; where there is none, the open file itself is the lock."""
    try:
        import fcntl
    except ImportError:  # Windows: a file that is open cannot be removed
        return
    fcntl.flock(lock, fcntl.LOCK_EX)


def _is_held(folder: Path) -> bool:
    """Whether a studio that still runs uses the folder."""
    lock = folder / _LOCK
    try:
        import fcntl
    except ImportError:
        try:
            lock.unlink(missing_ok=True)
        except OSError:
            return True
        return False
    if not lock.exists():  # perhaps it is just being made
        return folder.stat().st_mtime > time.time() - _JUST_MADE
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
