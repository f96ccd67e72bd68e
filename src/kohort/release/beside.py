"""What some artefacts are made of: a hierarchy file for each column, and the proof for `kohort-check`."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kohort.data.hierarchy import Hierarchy
from kohort.errors import UnsupportedError
from kohort.job.two_files import TwoFiles
from kohort.problem.promises import KAnonymity, Model
from kohort.problem.proof import PriceProof
from kohort.statement import Statement
from kohort.verification.bounds import exact_claim, exact_prices, kept_by
from kohort_check import Kept, Refused
from kohort_check.file import ProofFile

if TYPE_CHECKING:
    from kohort.release.release import Release


_LONGEST_NAME = 200  # bytes; file systems allow 255


def hierarchies_of(release: Release) -> dict[str, Hierarchy]:
    """The hierarchy of every quasi-identifier that has one, and of the items."""
    attributes = release.problem.attributes
    found = {a.name: a.domain for a in attributes if isinstance(a.domain, Hierarchy)}
    if release.items is not None:
        found[release.items.problem.baskets.name] = release.items.problem.hierarchy
    return found


def columns_with_files(request: Statement) -> list[str]:
    """The columns that may get a file: it depends on the data whether a column has a hierarchy."""
    items = request.roles.having("items")
    return [*request.roles.having("quasi-identifier"), *items]


def hierarchy_files(folder: Path, columns: Iterable[str]) -> dict[str, Path]:
    """The file of each column, named after it; no two share one, not even where case is ignored."""
    found: dict[str, Path] = {}
    taken: set[str] = set()
    for column in columns:
        # without what a file name cannot hold
        name = "".join(c if c.isalnum() or c in "-_ " else "_" for c in column).strip() or "column"
        stem = name = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
        number = 1
        while unicodedata.normalize("NFC", name).casefold() in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(unicodedata.normalize("NFC", name).casefold())
        found[column] = folder / f"{name}.csv"
    return found


def refuse_no_proof(release: Release) -> None:
    """Refuse a release whose bound is not proven by prices, or that the checker does not know enough of."""
    problem, proof = release.problem, release.recoding.proof
    if not isinstance(proof, PriceProof) or release.bound is None:
        raise UnsupportedError(
            "There is no proof to write: the bound of this release is not proven by prices of records. The "
            "algorithm improve proves one, where all quasi-identifiers have hierarchies."
        )
    whole = not problem.units.several and not problem.units.linked and problem.items is None
    if not whole or isinstance(release.files, TwoFiles) or (release.original_rows < 0).any():
        raise UnsupportedError(
            "A proof can be written for tables with one record per person and without items, ledger releases "
            "with counterfeits left out."
        )
    try:
        _kept(problem.models)
    except Refused as why:
        raise UnsupportedError(f"A proof cannot be written: {why}.") from why


def proof_file_of(release: Release) -> ProofFile:
    """What proves the bound of a release, with its promises and the originals of its records."""
    problem, proof = release.problem, release.recoding.proof
    assert isinstance(proof, PriceProof)
    models = [model for model in problem.models if not isinstance(model, KAnonymity)]
    priced = None
    if proof.model is not None:
        priced = models.index(proof.model)
        if proof.charge is not None and proof.model.attribute:
            texts = problem.sensitive[proof.model.attribute].column.texts
            order = np.argsort(np.array(["" if text is None else text for text in texts], dtype=str))
            proof = replace(proof, charge=proof.charge[:, order])
    return ProofFile(exact_claim(problem), _kept(models), exact_prices(proof), release.original_rows, priced)


def _kept(models: Sequence[Model]) -> list[Kept]:
    """The promises besides k as the checker knows them."""
    return [kept_by(model) for model in models if not isinstance(model, KAnonymity)]
