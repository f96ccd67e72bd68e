"""Several hospital stays per patient: what a person is stays, and everything else is drawn for every stay."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from kohort.datasets.hospital_words import DIAGNOSES
from kohort.errors import InputError

__all__ = ["visits_of"]

_DAYS_PER_YEAR = 365.25


def visits_of(patients: pa.Table, visits: int, seed: int) -> pa.Table:
    """`visits` stays of these patients, at least one each; few patients have many.

    Name, sex, postcode, insurance and occupation are those of the patient; everybody grows older.
    """
    from kohort.datasets.hospital import (
        _admissions,
        _diagnoses,
        _lengths_of_stay,
        _procedures,
        _words,
    )

    n = patients.num_rows
    if visits < n or (n == 0 and visits > 0):
        raise InputError(f"{n} patients have at least {n} visits. Got visits = {visits}.")
    rng = np.random.default_rng([seed, 1])  # other numbers than those that drew the patients
    whose = _patients_of_visits(rng, n, visits)
    sex = (patients["sex"].to_numpy(zero_copy_only=False) == "male").astype(np.int64)[whose]
    admitted = _admissions(rng, visits)
    birthday = rng.random(n)[whose]
    years = (admitted.to_numpy(zero_copy_only=False) - np.datetime64("2022-01-01")).astype(
        np.int64
    ) / _DAYS_PER_YEAR
    age = np.minimum(patients["age"].to_numpy()[whose] + np.floor(years + birthday).astype(np.int64), 100)
    diagnosis = _diagnoses(rng, age, sex)
    drawn = {
        "age": pa.array(age),
        "admitted": admitted,
        "diagnosis": _words([d.name for d in DIAGNOSES], diagnosis),
        "length_of_stay": _lengths_of_stay(rng, diagnosis),
        "procedures": _procedures(rng, diagnosis),
    }
    kept = {name: patients[name].take(pa.array(whose)) for name in patients.column_names if name not in drawn}
    return pa.table({name: {**kept, **drawn}[name] for name in patients.column_names})


def _patients_of_visits(rng: np.random.Generator, n: int, visits: int) -> np.ndarray:
    """The patient of each visit, in no order; a patient is the likelier to come the more often they do."""
    frail = rng.gamma(1.0, 1.0, n)
    more = rng.choice(n, visits - n, p=frail / frail.sum()) if visits > n else np.zeros(0, dtype=np.int64)
    return rng.permutation(np.concatenate([np.arange(n), more]))
