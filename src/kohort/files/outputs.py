"""All files that a run writes: checked together before the work, and published together or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kohort.errors import InputError
from kohort.files.atomic import check_targets, replacing_all


@dataclass(frozen=True)
class Outputs:
    """The files that a run writes.

    files    written; a file of that name is replaced
    new      those of them that must not exist yet
    reads    what the run reads, which is never written, whatever name or link leads to it
    folder   made if it does not exist, and removed again if the run fails
    private  those of them that only their owner may read
    """

    files: Collection[Path]
    new: Collection[Path] = ()
    reads: Collection[Path | None] = ()
    folder: Path | None = None
    private: Collection[Path] = ()

    def reading(self, *paths: Path | None) -> Outputs:
        """These outputs of a run that also reads the given files."""
        return replace(self, reads=(*self.reads, *paths))

    def check(self) -> None:
        """Refuse what cannot or must not be written. Best called before long work."""
        if self.folder is not None and self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file. Give the name of a folder.")
        inside = [path for path in self.files if self._is_to_come(path.parent)]
        if inside:
            assert self.folder is not None
            check_targets([self.folder])  # as if the folder were a file: can anything be made there?
        check_targets([path for path in self.files if path not in inside])
        for path in self.files:
            self._refuse_reads(path)
            if path in self.new and path.exists():
                raise InputError(f"{path} already exists. Choose another output, or replace it with --force.")

    @contextmanager
    def drafts(
        self, files: Collection[Path] | None = None, *, commit: Callable[[], None] | None = None
    ) -> Iterator[dict[Path, Path]]:
        """Yield a draft for each file, or for each of `files`; at the end all are renamed, or none is.

        commit  publishes what is no file, as the last step: if it fails, no file is published either
        """
        chosen = [path for path in self.files if files is None or path in files]
        with self._folder_for(chosen):
            replace(self, files=chosen).check()  # there may be other files by now
            with replacing_all(chosen, private=self.private, commit=commit) as drafts:
                yield dict(zip(chosen, drafts))

    def _is_to_come(self, folder: Path) -> bool:
        return self.folder is not None and folder == self.folder and not os.path.lexists(folder)

    def _refuse_reads(self, path: Path) -> None:
        if any(source is not None and _is_same(path, source) for source in self.reads):
            raise InputError(f"{path} is a file that this run reads. Choose another output.")
        if any(source is not None and _is_same(path.parent, source) for source in self.reads):
            raise InputError(f"{path} is in a folder that this run reads as a table. Choose another output.")

    @contextmanager
    def _folder_for(self, files: Collection[Path]) -> Iterator[None]:
        if self.folder is None or not any(self._is_to_come(path.parent) for path in files):
            yield
            return
        try:
            self.folder.mkdir()
        except OSError as error:
            raise InputError(f"The folder {str(self.folder)!r} cannot be made: {error.strerror}.") from None
        try:
            yield
        except BaseException:
            with suppress(OSError):  # another program may have put a file there
                self.folder.rmdir()
            raise


def _is_same(path: Path, source: Path) -> bool:
    """Whether two names lead to one file; links are followed, and a disk may ignore case."""
    try:
        return path.samefile(source)
    except OSError:  # one of them is not there
        return False
