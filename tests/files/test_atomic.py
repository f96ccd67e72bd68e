"""Outputs appear whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from kohort.errors import InputError
from kohort.files.atomic import replacing, replacing_all


def files_in(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_a_new_file_appears_only_when_it_is_complete(tmp_path):
    target = tmp_path / "release.csv.gz"
    with replacing(target) as draft:
        draft.write_text("new")
        assert not target.exists()
        assert draft.parent == tmp_path
        assert draft.name.startswith(".")
        assert draft.name.endswith(".csv.gz")
    assert files_in(tmp_path) == {"release.csv.gz": "new"}


def test_an_old_file_is_replaced_and_keeps_its_permissions(tmp_path):
    target = tmp_path / "release.csv"
    target.write_text("old")
    target.chmod(0o600)
    with replacing(str(target)) as draft:
        assert stat.S_IMODE(draft.stat().st_mode) == 0o600
        draft.write_text("new")
    assert files_in(tmp_path) == {"release.csv": "new"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_new_file_has_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with replacing(tmp_path / "release.csv") as draft:
        draft.write_text("new")
    usual, release = ((tmp_path / name).stat().st_mode for name in ("usual", "release.csv"))
    assert usual == release


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, RuntimeError, MemoryError])
def test_after_any_failure_the_old_file_stays_and_nothing_else(tmp_path, failure):
    target = tmp_path / "release.csv"
    target.write_text("old")
    with pytest.raises(failure), replacing(target) as draft:
        draft.write_text("half")
        raise failure
    assert files_in(tmp_path) == {"release.csv": "old"}


def test_a_full_disk_while_writing_is_an_input_error(tmp_path):
    target = tmp_path / "release.csv"
    target.write_text("old")
    with (
        pytest.raises(InputError, match=r"release\.csv: No space left on device") as caught,
        replacing(target) as draft,
    ):
        draft.write_text("half")
        raise OSError(errno.ENOSPC, "Zebulon could not be written")
    assert "Zebulon" not in str(caught.value)
    assert files_in(tmp_path) == {"release.csv": "old"}


def test_a_full_disk_while_flushing_is_an_input_error(tmp_path, monkeypatch):
    def full(_descriptor):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="No space left"), replacing(tmp_path / "release.csv") as draft:
        draft.write_text("new")
    assert files_in(tmp_path) == {}


def test_the_bytes_are_on_the_disk_before_the_name(tmp_path, monkeypatch):
    target = tmp_path / "release.csv"
    seen = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: seen.append(target.exists()))
    with replacing(target) as draft:
        draft.write_text("new")
    assert seen[0] is False


def test_the_error_names_the_target_and_not_the_draft(tmp_path):
    with pytest.raises(InputError) as caught, replacing(tmp_path / "release.csv") as draft:
        draft.unlink()
        draft.mkdir()
        try:
            draft.write_text("a folder cannot be written")
        finally:
            draft.rmdir()
    assert str(tmp_path / "release.csv") in str(caught.value)
    assert ".kohort" not in str(caught.value)


def test_a_missing_folder(tmp_path):
    with (
        pytest.raises(InputError, match=r"nowhere does not exist\. Create it"),
        replacing(tmp_path / "nowhere" / "r.csv"),
    ):
        pytest.fail("the body must not run")


def test_a_folder_as_target(tmp_path):
    with pytest.raises(InputError, match="is a folder"), replacing(tmp_path):
        pytest.fail("the body must not run")


def test_a_device_is_not_replaced():
    with pytest.raises(InputError, match="not a regular file"), replacing(os.devnull):
        pytest.fail("the body must not run")
    assert not Path(os.devnull).is_file()


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    target = tmp_path / "release.csv"
    target.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(InputError, match="write-protected"), replacing(target):
        pytest.fail("the body must not run")
    assert files_in(tmp_path) == {"release.csv": "old"}


def test_a_folder_without_permission(tmp_path, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(errno.EACCES, "refused", str(path))

    monkeypatch.setattr(os, "open", refuse)
    with (
        pytest.raises(InputError, match=r"release\.csv: Permission denied"),
        replacing(tmp_path / "release.csv"),
    ):
        pytest.fail("the body must not run")


def test_a_link_is_followed(tmp_path):
    real, link = tmp_path / "real.csv", tmp_path / "link.csv"
    real.write_text("old")
    link.symlink_to(real)
    with replacing(link) as draft:
        draft.write_text("new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_several_outputs_appear_together(tmp_path):
    targets = [tmp_path / name for name in ("release.csv", "certificate.json", "report.html")]
    with replacing_all(targets) as drafts:
        for number, draft in enumerate(drafts):
            draft.write_text(str(number))
            assert not any(target.exists() for target in targets)
    assert files_in(tmp_path) == {"release.csv": "0", "certificate.json": "1", "report.html": "2"}


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError])
def test_if_one_of_several_fails_none_is_changed(tmp_path, failure):
    targets = [tmp_path / "release.csv", tmp_path / "report.html"]
    targets[0].write_text("old")
    with pytest.raises((KeyboardInterrupt, InputError)), replacing_all(targets) as drafts:
        drafts[0].write_text("new")
        raise failure
    assert files_in(tmp_path) == {"release.csv": "old"}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, PermissionError])
def test_if_a_rename_fails_the_renamed_ones_are_put_back(tmp_path, monkeypatch, links, failure):
    targets = [tmp_path / name for name in ("release.csv", "new.json", "report.html")]
    targets[0].write_text("old release")
    targets[2].write_text("old report")
    rename = Path.replace

    def stubborn(self, target):
        if target == targets[2] and self.read_text() == "new":
            raise failure
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", stubborn)
    if not links:
        monkeypatch.setattr(
            os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links here"))
        )
    with pytest.raises((KeyboardInterrupt, InputError)), replacing_all(targets) as drafts:
        for draft in drafts:
            draft.write_text("new")
    assert files_in(tmp_path) == {"release.csv": "old release", "report.html": "old report"}


def test_two_outputs_with_one_name(tmp_path):
    same = [tmp_path / "release.csv", tmp_path / "." / "release.csv"]
    with pytest.raises(InputError, match="same name"), replacing_all(same):
        pytest.fail("the body must not run")
    assert files_in(tmp_path) == {}


def test_no_outputs_are_no_problem():
    with replacing_all([]) as drafts:
        assert drafts == []
