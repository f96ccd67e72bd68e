"""All files of a run are checked before the work and appear together."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from kohort.errors import InputError
from kohort.files import atomic
from kohort.files.atomic import Outputs
from kohort.files.drafts import FolderTraits
from kohort.release.beside import hierarchy_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("data")
    return tmp_path


def names() -> set[str]:
    return {str(path) for path in Path().rglob("*")}


@pytest.mark.parametrize("way", ["name", "dots", "symbolic link", "hard link", "folder link"])
def test_what_is_read_is_never_written(folder, way):
    out = Path("out.csv")
    if way == "name":
        out = Path("people.csv")
    elif way == "dots":
        out = Path("..", folder.name, "people.csv")
    elif way == "symbolic link":
        out.symlink_to("people.csv")
    elif way == "hard link":
        os.link("people.csv", out)
    else:
        Path("here").symlink_to(folder)
        out = Path("here/people.csv")
    outputs = Outputs([Path("report.html"), out], reads=[None, Path("nothing"), Path("people.csv")])
    with pytest.raises(InputError, match="is a file that this run reads"):
        outputs.check()
    with pytest.raises(InputError, match="is a file that this run reads"), outputs.drafts():
        pytest.fail("the body must not run")
    assert Path("people.csv").read_text() == "data"


def test_a_link_made_during_the_work_is_noticed(folder):
    outputs = Outputs([Path("out.csv")], reads=[Path("people.csv")])
    outputs.check()
    Path("out.csv").symlink_to("people.csv")
    with pytest.raises(InputError, match="is a file that this run reads"), outputs.drafts():
        pytest.fail("the body must not run")


def test_new_files_replace_nothing(folder):
    Path("spec.yaml").write_text("mine")
    outputs = Outputs([Path("spec.yaml")], new=[Path("spec.yaml")])
    with pytest.raises(InputError, match=r"spec\.yaml already exists.*--force"):
        outputs.check()


def test_a_folder_is_made_and_goes_again_when_the_run_fails(folder):
    inside = [Path("labels/a.csv"), Path("labels/b.csv")]
    outputs = Outputs([Path("release.csv"), *inside], new=inside, folder=Path("labels"))
    outputs.check()
    assert names() == {"people.csv"}
    with pytest.raises(RuntimeError), outputs.drafts():
        raise RuntimeError
    assert names() == {"people.csv"}
    with outputs.drafts([Path("release.csv"), inside[1]]) as draft_of:
        for draft in draft_of.values():
            draft.write_text("new")
    assert names() == {"people.csv", "release.csv", "labels", "labels/b.csv"}


def test_a_folder_that_cannot_be_made_is_noticed_before_the_work(folder):
    for place in (Path("nowhere/labels"), Path("people.csv")):
        with pytest.raises(InputError):
            Outputs([place / "a.csv"], folder=place).check()


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a folder that nobody can write to")
def test_a_folder_that_cannot_be_written_is_noticed_before_the_work():
    with pytest.raises(InputError, match=r"Could not write /proc/release\.csv"):
        Outputs([Path("/proc/release.csv")]).check()


@pytest.mark.parametrize("loop", ["itself", "one of two", "a folder"])
def test_a_link_that_leads_back_to_itself(folder, loop):
    Path("a.csv").symlink_to("b.csv" if loop == "one of two" else "a.csv")
    Path("b.csv").symlink_to("a.csv")
    out = Path("a.csv/release.csv" if loop == "a folder" else "a.csv")
    with pytest.raises(InputError, match=r"leads back to itself\. Remove it"):
        Outputs([out]).check()


def test_a_name_that_is_too_long(folder):
    with pytest.raises(InputError, match=r"Could not write .*: File name too long"):
        Outputs([Path("x" * 300 + ".csv")]).check()


def test_two_names_that_differ_in_case_alone_where_case_is_ignored(folder, monkeypatch):
    both = [Path("Labels.csv"), Path("labels.CSV")]
    Outputs(both).check()
    monkeypatch.setattr(atomic, "probe_folder", lambda folder: FolderTraits(0o644, ignores_case=True))
    with pytest.raises(InputError, match="same name"):
        Outputs(both).check()


def test_on_a_disk_that_ignores_case(tmp_path):
    """A real one: what is read is found under any spelling."""
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with image.open("wb") as file:
        file.truncate(4 << 20)
    try:
        make = ["mkfs.ext4", "-q", "-O", "casefold", "-E", "encoding=utf8", str(image)]
        subprocess.run(make, check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", str(image), str(disk)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("no such disk can be made here")
    try:
        folder = disk / "folder"
        folder.mkdir()
        done = subprocess.run(["chattr", "+F", str(folder)], capture_output=True)
        if done.returncode:
            pytest.skip("no such folder can be made here")
        (folder / "people.csv").write_text("data")
        with pytest.raises(InputError, match="is a file that this run reads"):
            Outputs([folder / "PEOPLE.CSV"], reads=[folder / "people.csv"]).check()
        with pytest.raises(InputError, match="same name"):
            Outputs([folder / "a.csv", folder / "A.csv"]).check()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_columns_never_share_a_file():
    columns = ["a/b", "a_b", "A_b", "a_b-2", "é", "e\u0301", "", " ", "x" * 400, "x" * 401, "..", "Ω" * 200]
    files = hierarchy_files(Path("labels"), columns)
    assert len({path.name.casefold() for path in files.values()}) == len(columns)
    assert all(path.parent == Path("labels") and len(path.name.encode()) < 250 for path in files.values())
    assert files["a_b-2"].name == "a_b-2-2.csv" and files["a/b"].name == "a_b.csv"


@pytest.mark.parametrize("files", [[], ["old.csv"], ["old.csv", "new.json"]])
@pytest.mark.parametrize("fails", [False, True])
def test_what_is_no_file_is_published_last_or_nothing_is(tmp_path, files, fails):
    (tmp_path / "old.csv").write_text("before")
    paths = [tmp_path / name for name in files]
    seen = []

    def commit():
        seen.append([path.read_text() for path in paths])
        if fails:
            raise InputError("the end")

    def write():
        with Outputs(paths).drafts(commit=commit) as draft_of:
            for path in paths:
                draft_of[path].write_text("after")

    if fails:
        with pytest.raises(InputError, match="the end"):
            write()
        assert {path.name for path in tmp_path.iterdir()} == {"old.csv"}
    else:
        write()
        assert {path.name for path in tmp_path.iterdir()} == {"old.csv", *files}
    assert seen == [["after"] * len(files)]
    assert (tmp_path / "old.csv").read_text() == ("after" if files and not fails else "before")
