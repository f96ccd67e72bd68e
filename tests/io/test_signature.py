"""Signatures: by openssl's keys and for openssl, broken by any change."""

import shutil
import subprocess
from pathlib import Path

import pytest

import kohort as ko
from kohort.io.private_files import (
    is_signed_by,
    make_keys,
    read_private_key,
    read_public_key,
    sign_file,
    signature_path,
)
from report.kinds import release_of

pytest.importorskip("cryptography", reason="kohort[sign] is not installed")

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl is installed")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KOHORT_SIGN_PASSWORD", raising=False)
    private, public = make_keys()
    (tmp_path / "key.pem").write_bytes(private)
    (tmp_path / "key.pem.pub").write_bytes(public)
    return tmp_path


def openssl(*words):
    return subprocess.run(["openssl", *words], capture_output=True).returncode


def signed(folder):
    release_of("plain").certificate(folder / "c.json", sign=folder / "key.pem")
    return folder / "c.json"


def test_a_signed_certificate_is_known_by_its_public_key(folder):
    file = signed(folder)
    assert signature_path(file).read_bytes() and len(signature_path(file).read_bytes()) == 64
    assert is_signed_by(file.read_bytes(), signature_path(file), read_public_key("key.pem.pub"))


def test_any_change_breaks_a_signature(folder):
    file = signed(folder)
    key, honest = read_public_key("key.pem.pub"), file.read_bytes()
    for place in range(0, len(honest), 97):
        changed = bytearray(honest)
        changed[place] ^= 1
        file.write_bytes(changed)
        assert not is_signed_by(file.read_bytes(), signature_path(file), key)
    file.write_bytes(honest + b" ")
    assert not is_signed_by(file.read_bytes(), signature_path(file), key)
    file.write_bytes(honest)
    assert is_signed_by(file.read_bytes(), signature_path(file), key)
    signature = signature_path(file).read_bytes()
    for wrong in (b"", signature[:-1], signature + b"x", bytes(64)):
        signature_path(file).write_bytes(wrong)
        assert not is_signed_by(file.read_bytes(), signature_path(file), key)


def test_another_key_is_not_enough(folder):
    file = signed(folder)
    (folder / "other.pub").write_bytes(make_keys()[1])
    assert not is_signed_by(file.read_bytes(), signature_path(file), read_public_key("other.pub"))


@needs_openssl
def test_openssl_makes_our_keys_and_checks_our_signatures(folder):
    assert openssl("genpkey", "-algorithm", "ed25519", "-out", "theirs.pem") == 0
    assert openssl("pkey", "-in", "theirs.pem", "-pubout", "-out", "theirs.pub") == 0
    release_of("plain").certificate("c.json", sign="theirs.pem")
    check = ["pkeyutl", "-verify", "-pubin", "-inkey", "theirs.pub", "-rawin", "-in", "c.json"]
    assert openssl(*check, "-sigfile", "c.json.sig") == 0
    assert is_signed_by(Path("c.json").read_bytes(), "c.json.sig", read_public_key("theirs.pub"))
    (folder / "c.json").write_bytes(b"{}")
    assert openssl(*check, "-sigfile", "c.json.sig") != 0


def test_a_key_with_a_password(folder, monkeypatch):
    monkeypatch.setenv("KOHORT_SIGN_PASSWORD", "correct horse")
    (folder / "locked.pem").write_bytes(make_keys()[0])
    assert b"ENCRYPTED" in (folder / "locked.pem").read_bytes()
    sign_file("locked.pem", "any.sig", read_private_key("locked.pem"))
    monkeypatch.setenv("KOHORT_SIGN_PASSWORD", "wrong")
    with pytest.raises(ko.InputError, match="KOHORT_SIGN_PASSWORD is wrong"):
        read_private_key("locked.pem")
    with pytest.raises(ko.InputError, match="has no password, but"):
        read_private_key("key.pem")
    monkeypatch.delenv("KOHORT_SIGN_PASSWORD")
    with pytest.raises(ko.InputError, match="has a password"):
        read_private_key("locked.pem")


def test_other_files_are_no_keys(folder):
    (folder / "no.pem").write_text("hello")
    with pytest.raises(ko.InputError, match="not a private key"):
        read_private_key("no.pem")
    with pytest.raises(ko.InputError, match="not a public key"):
        read_public_key("key.pem")
    with pytest.raises(ko.InputError, match="cannot be read"):
        read_private_key("nothing.pem")


@needs_openssl
def test_other_kinds_of_keys_are_refused(folder):
    assert openssl("genpkey", "-algorithm", "x25519", "-out", "x.pem") == 0
    with pytest.raises(ko.InputError, match="not an Ed25519 key"):
        read_private_key("x.pem")


def test_with_a_bad_key_no_certificate_is_written(folder):
    with pytest.raises(ko.InputError):
        release_of("plain").certificate("c.json", sign="nothing.pem")
    assert not (folder / "c.json").exists()
