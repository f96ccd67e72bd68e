"""The report as PDF, and what is said where it cannot be made."""

import sys

import pytest

import kohort as ko
from report.kinds import release_of


def test_a_pdf_is_written(tmp_path):
    pytest.importorskip("weasyprint", reason="kohort[pdf] is not installed", exc_type=ImportError)
    release_of("plain").report(tmp_path / "report.pdf", version="public")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_without_the_package_a_pdf_is_refused_with_a_way_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(ko.MissingPackageError, match=r"\[pdf\]'.*print it from a browser"):
        release_of("plain").report(tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())
