"""Outputs appear whole or not at all: written beside their target, then renamed over it."""

from __future__ import annotations

import os
import shutil
import stat
import unicodedata
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from kohort.errors import InputError
from kohort.files.drafts import (
    Drafts,
    FolderTraits,
    begin_journal,
    begin_undo_journal,
    probe_folder,
    put_back,
    remove_abandoned,
)

_written: list[Path | str] = []


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes the place of `path`.

    On any exception, Ctrl-C included, the temporary file is removed and the old file, if there
    was one, stays as it was. The temporary name ends like the target's, so that writers that
    look at the extension work.
    """
    with replacing_all([path]) as drafts:
        yield drafts[0]


@contextmanager
def replacing_all(
    paths: Sequence[str | Path],
    *,
    private: Collection[str | Path] = (),
    commit: Callable[[], None] | None = None,
) -> Iterator[list[Path]]:
    """Yield a temporary path for each output; on success all of them are renamed, else none is.

    Drafts can be read by their owner alone. What takes their place has the permissions of the file that it
    replaces, else the usual ones; those in `private` stay as they are. `commit` publishes what is no file, as
    the last step: if it fails, the old files are put back.
    """
    targets = check_targets(paths)
    drafts: list[Path] = []
    try:
        with ExitStack() as stack:
            parents = dict.fromkeys(target.parent for target in targets)
            folders = {parent: stack.enter_context(closing(Drafts(parent))) for parent in parents}
            drafts += [folders[target.parent].create("".join(target.suffixes[-2:])) for target in targets]
            yield list(drafts)
            modes = [None if path in private else _final_mode(t) for path, t in zip(paths, targets)]
            for draft, mode in zip(drafts, modes):
                _flush(draft, mode)
            _rename_all(drafts, targets, folders, commit)
            for folder in folders:
                _flush_folder(folder)
    except OSError as error:
        raise InputError(_what_failed(error, drafts, targets)) from None
    _written.extend(Path(path) for path in paths)


def check_targets(paths: Sequence[str | Path]) -> list[Path]:
    """The files that outputs stand for, refused if they cannot be written: best asked before long work."""
    targets = [_checked_target(Path(path)) for path in paths]
    traits: dict[Path, FolderTraits] = {}
    for target in targets:
        if target.parent not in traits:
            remove_abandoned(target.parent)
            try:
                traits[target.parent] = probe_folder(target.parent)
            except OSError as error:
                raise InputError(_what_failed(error, [], [target])) from None
    _refuse_twins(targets, traits)
    return targets


def written_files() -> list[Path | str]:
    """The files, and tables of databases, that were written completely since `forget_written` was called."""
    return list(dict.fromkeys(_written))


def note_written(what: str) -> None:
    """Note that something was written which is no file."""
    _written.append(what)


def forget_written() -> None:
    """Forget the files that were written so far."""
    _written.clear()


def _checked_target(path: Path) -> Path:
    """The file that `path` stands for (links followed), refused if it cannot be replaced."""
    try:
        target = Path(os.path.realpath(path))
        if any(part.is_symlink() for part in (target, *target.parents)):  # all others were followed
            raise InputError(
                f"The output {path} is a symbolic link that leads back to itself. Remove it, or choose "
                "another."
            )
        if target.is_dir():
            raise InputError(f"The output {path} is a folder. Give the name of a file.")
        if not target.parent.is_dir():
            raise InputError(
                f"The folder {target.parent} does not exist. Create it, or choose another output."
            )
        if target.exists() and not target.is_file():
            raise InputError(
                f"The output {path} is not a regular file, so it cannot be replaced. Choose another."
            )
        if target.exists() and not os.access(target, os.W_OK):
            raise InputError(f"The output {path} is write-protected. Make it writable, or choose another.")
    except OSError as error:  # such as a name that is too long
        raise InputError(_what_failed(error, [], [path])) from None
    return target


def _refuse_twins(targets: list[Path], traits: dict[Path, FolderTraits]) -> None:
    """Refuse two outputs with one name: the second would silently replace the first."""
    seen: dict[tuple[int, int, str], Path] = {}
    for target in targets:
        folder, name = target.parent.stat(), target.name
        if traits[target.parent].ignores_case:
            name = unicodedata.normalize("NFC", name).casefold()
        other = seen.setdefault((folder.st_dev, folder.st_ino, name), target)
        if other is not target:
            both = dict.fromkeys((str(other), str(target)))
            raise InputError(f"Several outputs have the same name: {', '.join(both)}.")


def _final_mode(target: Path) -> int:
    """The permissions of the file that is replaced: what only its owner could read stays so."""
    if target.exists():
        return stat.S_IMODE(target.stat().st_mode)
    return probe_folder(target.parent).usual_mode


def _flush(draft: Path, mode: int | None) -> None:
    """Flush a file to the disk before it is renamed: a crash must not leave an empty release."""
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    if mode is not None:
        draft.chmod(mode)


def _flush_folder(folder: Path) -> None:
    """Flush the new names of a folder to the disk, on systems that can do so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _rename_all(
    drafts: list[Path], targets: list[Path], folders: dict[Path, Drafts], commit: Callable[[], None] | None
) -> None:
    """Rename every draft over its target, then commit; if one of this fails, put the old files back."""
    if len(drafts) < 2 and commit is None:
        for draft, target in zip(drafts, targets):
            draft.replace(target)
        return
    old_files = [_second_name(target, folders[target.parent]) for target in targets]
    journals = [each.journal() for each in folders.values()]
    if commit is None:
        journal: Path | None = begin_journal(journals, drafts, targets)
    else:
        journal = begin_undo_journal(journals, drafts, targets, old_files)
    try:
        for draft, target in zip(drafts, targets):
            draft.replace(target)
        if commit is not None:
            commit()
            _remove_journal(journal)  # from here on a run that is killed is complete
    except BaseException:
        if commit is None:
            _remove_journal(journal)  # from here on the run is undone, not completed
        for draft, target, old in zip(drafts, targets, old_files):
            if not draft.exists():  # it was renamed
                with suppress(OSError):
                    put_back(target, old)
        raise


def _remove_journal(journal: Path | None) -> None:
    if journal is not None:
        with suppress(OSError):
            journal.unlink(missing_ok=True)


def _second_name(target: Path, drafts: Drafts) -> Path | None:
    """Another name for a file that is about to be replaced, else a copy of it; None for a new one."""
    if not target.exists():
        return None
    try:
        os.link(target, name := drafts.new_name())
    except OSError:  # a disk without hard links
        shutil.copyfile(target, name := drafts.create())
        shutil.copystat(target, name)
    return name


def _what_failed(error: OSError, drafts: Sequence[Path], targets: Sequence[Path]) -> str:
    """The message of a failed write: the user's name for the file, the system's for the reason.

    The text of the error is not shown: libraries put what they were writing into it.
    """
    names = {str(draft): str(target) for draft, target in zip(drafts, targets)}
    found = str(error.filename or "")
    if found in names:
        where = names[found]
    elif not found or Path(found).name.startswith(".kohort-"):
        where = ", ".join(map(str, targets))
    else:
        where = found
    reason = os.strerror(error.errno) if error.errno else "the system refused"
    return (
        f"Could not write {where}: {reason}. What was there before is unchanged. "
        "Check the folder and its space."
    )


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
        # as if the folder were a file: can anything be made there?
        check_targets(list({path.parent for path in inside}))
        check_targets([path for path in self.files if path not in inside])
        reads = [source for source in self.reads if source is not None]
        for path in self.files:
            if any(_is_same(path, source) for source in reads):
                raise InputError(f"{path} is a file that this run reads. Choose another output.")
            if any(_is_same(path.parent, source) for source in reads):
                raise InputError(
                    f"{path} is in a folder that this run reads as a table. Choose another output."
                )
            if path in self.new and path.exists():
                raise InputError(f"{path} already exists. Choose another output, or replace it with --force.")

    @contextmanager
    def drafts(
        self, files: Collection[Path] | None = None, *, commit: Callable[[], None] | None = None
    ) -> Iterator[dict[Path, Path]]:
        """Yield a draft for each file, or for each of `files`; at the end all are renamed, or none is."""
        chosen = [path for path in self.files if files is None or path in files]
        with self._folder_for(chosen):
            replace(self, files=chosen).check()  # there may be other files by now
            with replacing_all(chosen, private=self.private, commit=commit) as drafts:
                yield dict(zip(chosen, drafts))

    def _is_to_come(self, folder: Path) -> bool:
        return self.folder is not None and folder == self.folder and not os.path.lexists(folder)

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
