"""The proof of a release's bound as a file that `kohort-check` reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kohort.errors import UnsupportedError
from kohort.problem.promises import KAnonymity, Model
from kohort.problem.proof import PriceProof
from kohort.verification.bounds import exact_claim, exact_prices, kept_by
from kohort_check import Kept, Refused
from kohort_check.file import ProofFile

if TYPE_CHECKING:
    from kohort.release.release import Release


def refuse_no_proof(release: Release) -> None:
    """Refuse a release whose bound is not proven by prices, or that the checker does not know enough of."""
    problem, proof = release.problem, release.recoding.proof
    if not isinstance(proof, PriceProof) or release.bound is None:
        raise UnsupportedError(
            "There is no proof to write: the bound of this release is not proven by prices of records. The "
            "algorithm improve proves one, where all quasi-identifiers have hierarchies."
        )
    whole = not problem.units.several and not problem.units.linked and problem.items is None
    if not whole or release.files is not None or (release.original_rows < 0).any():
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
    charge = proof.charge
    if charge is not None and proof.model is not None and proof.model.attribute:
        texts = problem.sensitive[proof.model.attribute].column.texts
        order = np.argsort(np.array(["" if text is None else text for text in texts], dtype=str))
        proof = replace(proof, charge=charge[:, order])
    priced = None if proof.model is None else models.index(proof.model)
    return ProofFile(exact_claim(problem), _kept(models), exact_prices(proof), release.original_rows, priced)


def _kept(models: Sequence[Model]) -> list[Kept]:
    """The promises besides k as the checker knows them."""
    return [kept_by(model) for model in models if not isinstance(model, KAnonymity)]
