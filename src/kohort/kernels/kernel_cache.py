"""Compiled kernels on disk, one file per kernel and signature.

The name of a file says all that its code depends on: the source of the kernel and of every module it imports
from here, the versions of Kohort, Python, numba and llvmlite, the processor and the types of the arguments.
What was compiled from other source, by another version or for another machine is never found, and processes
that fill the cache side by side write equivalent code to the same name.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import platform
import re
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.runtime import rtsys
from numba.core.serialize import dumps
from numba.misc.appdirs import user_cache_dir

from kohort.version import __version__

_IMPORT = re.compile(r"^(?:from|import) (kohort[\w.]*)(?: import (\([^)]*\)|.*)$)?", re.MULTILINE)
_STALE = 60 * 24 * 3600  # seconds after which code of other sources is removed
_DIGEST = hashlib.blake2b().digest_size
_HOW = ("kohort.kernels.entry", "kohort.kernels.linking")  # every kernel depends on how it is compiled
_NUMBER = re.compile(r"B\d+v(\d+)")  # numba's number of a compilation, in a symbol
LEAST_NUMBER = 1 << 64
"""Our numbers of compilations are random and begin here, where a counter does not get."""


def cache_folder() -> Path:
    """The folder of compiled kernels: in NUMBA_CACHE_DIR where it is set, else in the user's own cache."""
    chosen = config.CACHE_DIR  # type: ignore[attr-defined]
    return Path(chosen) / "kohort" if chosen else Path(user_cache_dir("kohort", appauthor=False)) / "kernels"


class KernelCache(_Cache):
    """The compiled code of one kernel, as numba's dispatcher loads and saves it.

    Files that cannot be read, are damaged or cannot be written are as good as absent: the kernel is
    compiled, and what is missing is time.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._enabled = True

    @property
    def cache_path(self) -> str:
        return str(cache_folder())

    def enable(self) -> None:
        self._enabled = True

    def disable(self) -> None:
        self._enabled = False

    def flush(self) -> None:
        folder = self._folder()
        for path in [] if folder is None else folder.glob(f"{self._function.__qualname__}-*"):
            path.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled code for a signature, or None."""
        path = self._path(sig, target_context.codegen())
        if path is None:
            return None
        try:
            stored = path.read_bytes()
        except OSError:
            return None
        digest, content = stored[:_DIGEST], stored[_DIGEST:]
        if hashlib.blake2b(content).digest() != digest:
            return None
        signature, stands_alone, reduced = pickle.loads(content)
        if signature != sig:
            return None
        if stands_alone:
            rtsys.initialize(target_context)  # the counts of references, which all code may use
        else:
            target_context.refresh()
        return CompileResult._rebuild(target_context, *reduced)

    def has(self, sig: Any, codegen: Any) -> bool:
        """Whether there is compiled code for a signature."""
        path = self._path(sig, codegen)
        return path is not None and path.exists()

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the compiled code for a signature.

        The environments of numba's own functions inside it are left out: only those that print or raise with
        computed texts would need them, and with them, the modules of numba would be loaded.
        """
        path = self._path(sig, data.codegen)
        if path is None or data.library.has_dynamic_globals or any(not x.can_cache for x in data.lifted):
            return
        if not _is_ours(data.library):
            return
        *reduced, environments = data._reduce()
        ours = tuple(env for env in environments if str(env.globals.get("__name__")).startswith("kohort"))
        content = dumps((sig, _stands_alone(data), (*reduced, ours)))
        try:
            if not path.parent.is_dir():
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                _remove_stale(path.parent)
            _write_whole(path, hashlib.blake2b(content).digest() + content)
        except OSError:
            return

    def _folder(self) -> Path | None:
        digest = source_digest(self._function.__module__)
        return None if digest is None else cache_folder() / f"{self._function.__module__}-{digest}"

    def _path(self, sig: Any, codegen: Any) -> Path | None:
        folder = self._folder() if self._enabled else None
        if folder is None:
            return None
        key = hashlib.blake2b(repr((sig, codegen.magic_tuple())).encode(), digest_size=16).hexdigest()
        return folder / f"{self._function.__qualname__}-{key}"


@cache
def source_digest(module: str) -> str | None:
    """A digest of all that the code of a module's kernels depends on; None where the source is not there."""
    sources = _sources(module)
    if sources is None:
        return None
    made_by = (__version__, sys.version, numba.__version__, llvmlite.__version__, platform.machine())
    return hashlib.blake2b(repr((made_by, sorted(sources.items()))).encode(), digest_size=16).hexdigest()


def _sources(module: str) -> dict[str, str] | None:
    """The source of a module and of all it imports from this package, by name."""
    found: dict[str, str] = {}
    waiting = [module, *_HOW]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        source = _source(name)
        if source is None:
            return None
        found[name] = source
        for package, names in _IMPORT.findall(source):
            inner = [f"{package}.{part}" for part in re.findall(r"\w+", names)]
            waiting += [package, *(part for part in inner if part in sys.modules)]
    return found


@cache
def _source(module: str) -> str | None:
    try:
        found = sys.modules.get(module)
        path = find_spec(module).origin if found is None else found.__file__  # type: ignore[union-attr]
        return None if path is None else Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ImportError, AttributeError):
        return None


def _is_ours(library: Any) -> bool:
    """Whether all symbols have our random numbers.

    A process that compiled with numba before it called a kernel may have compiled parts under numbers of
    numba's own, and other processes give the same numbers to other code.
    """
    names = (function.name for function in library.get_defined_functions())
    return all(int(number) >= LEAST_NUMBER for name in names for number in _NUMBER.findall(name))


def _stands_alone(data: Any) -> bool:
    """Whether code needs no more than what numba defines at its start to run again.

    All that numba can compile would be loaded otherwise, which takes longer than most jobs. Parallel loops
    start threads first, and hashing of texts asks Python for its secret.
    """
    names = (value.name for value in data.library._final_module.global_variables)
    return not data.reload_init and not any("hash" in name.lower() for name in names)


def _write_whole(path: Path, content: bytes) -> None:
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=".draft-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _remove_stale(new: Path) -> None:
    """Remove the code of other sources of the same module that was last added to long ago."""
    module = new.name.rpartition("-")[0]
    for folder in new.parent.glob(f"{module}-*"):
        if folder != new and folder.stat().st_mtime < time.time() - _STALE:
            for path in folder.iterdir():
                path.unlink(missing_ok=True)
            folder.rmdir()
