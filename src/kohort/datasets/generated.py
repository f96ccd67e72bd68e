"""Made-up tables, the same for a seed: hospital records and baskets, and hard inputs from proofs.

Records and baskets are as skewed and as correlated as real ones, and of any size; their words are in
`hospital.json`. The hard inputs are those with which Aggarwal et al. (2005) prove that k-anonymity is hard.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kohort.errors import InputError

_WORDS = json.loads(Path(__file__).with_name("hospital.json").read_text(encoding="utf-8"))
_DIAGNOSIS = dict(zip(_WORDS["diagnosis"], zip(*_WORDS["diagnoses"])))  # what is known of all, by its name
_WORK, _REGIONS, _TECHNIQUES = _WORDS["work"], _WORDS["regions"], _WORDS["techniques"]
_SEXES = ("female", "male")
_INSURANCES = ("public", "private", "none")
_OLDEST = 100
_POSTCODES = 1200
_MOST_PROCEDURES = 8
_MOST_STAYS, _SAME_ILLNESS = 8, 0.6  # share of a patient's stays that are for their usual illness
_ICD10 = "I50 I21 I48 J18 J44 I63 E11 N39 K80 S72 M17 C50 C34 C18 F10 F32 G40 A41 K35 K57 I10 D50 N18 R55 H25"


def generate_hospital(n: int, seed: int = 0, *, visits: int | None = None) -> pa.Table:
    """`n` made-up hospital stays of 2022 to 2024, one per patient; or `visits` stays of n patients.

    Identifiers: patient_id, name. Quasi-identifiers: sex, age, postcode (five digits, some with leading
    zeros, few populous), admitted, insurance, occupation (2 % missing). Sensitive: diagnosis (42 of them,
    depending on age and sex). Besides: length_of_stay in days and procedures, a list of up to 8 of 120.
    A million records take a few seconds.

    >>> generate_hospital(3).column_names[:5]
    ['patient_id', 'name', 'sex', 'age', 'postcode']
    """
    if visits is not None:
        return _visits_of(generate_hospital(n, seed), visits, seed)
    if n < 0:
        raise InputError(f"The number of records must be 0 or more. Got {n}.")
    rng = np.random.default_rng(seed)
    sex = rng.choice(2, n, p=[0.53, 0.47])
    age = _draw(_pyramid(), rng.random(n))
    diagnosis = _diagnoses(rng, age, sex)
    return pa.table(
        {
            "patient_id": _patient_ids(rng, n),
            "name": _names(rng, sex),
            "sex": _words(_SEXES, sex),
            "age": pa.array(age),
            "postcode": _postcodes(rng, n),
            "admitted": _admissions(rng, n),
            "insurance": _insurances(rng, age),
            "occupation": _occupations(rng, age),
            "diagnosis": _words(_DIAGNOSIS["name"], diagnosis),
            "length_of_stay": _lengths_of_stay(rng, diagnosis),
            "procedures": _procedures(rng, diagnosis),
        }
    )


def generate_admissions(patients: int = 4000, seed: int = 0) -> pa.Table:
    """Made-up admissions, 1 to 8 per patient: what a hospital's own file of stays looks like.

    Whose they are: patient. Quasi-identifiers: sex, age, postcode, admitted. Sensitive: icd10, the codes of a
    patient's stays often alike. Besides: cost in whole euros. Most patients have one or two stays.

    >>> generate_admissions(3).column_names
    ['patient', 'sex', 'age', 'postcode', 'admitted', 'icd10', 'cost']
    """
    if patients < 0:
        raise InputError(f"The number of patients must be 0 or more. Got {patients}.")
    rng, illnesses = np.random.default_rng([seed, 2]), _ICD10.split()
    stays = 1 + _draw(_zipf(_MOST_STAYS, 1.1), rng.random(patients))
    whose, n = np.repeat(np.arange(patients), stays), int(stays.sum())
    usual, drawn = (_draw(_zipf(len(illnesses), 0.9), rng.random(size)) for size in (patients, n))
    code = np.where(rng.random(n) < _SAME_ILLNESS, usual[whose], drawn)
    subcode = _draw(_zipf(5, 0.7), rng.random(n))
    age, sex = _draw(_pyramid(), rng.random(patients)), rng.choice(2, patients)
    stay = pa.table(
        {
            "patient": _patient_ids(rng, patients).take(pa.array(whose)),
            "sex": _words(_SEXES, sex[whose]),
            "age": pa.array(age[whose]),
            "postcode": _postcodes(rng, patients).take(pa.array(whose)),
            "admitted": _admissions(rng, n),
            "icd10": _words([f"{c}.{number}" for c in illnesses for number in range(5)], 5 * code + subcode),
            "cost": pa.array(np.round(rng.lognormal(7.5 + 0.02 * code, 0.8)).astype(np.int64)),
        }
    )
    return stay.take(pa.array(rng.permutation(n)))


def _draw(weights: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Positions in `weights`, drawn in proportion to them, from uniform numbers."""
    cumulative = np.cumsum(weights) / np.sum(weights)
    return np.minimum(np.searchsorted(cumulative, u, side="right"), len(weights) - 1)


def _words(words: Sequence[str], code: np.ndarray, missing: np.ndarray | None = None) -> pa.Array:
    return pa.array(words, pa.string()).take(pa.array(code, mask=missing))


def _pyramid() -> np.ndarray:
    ages, patients = zip(*_WORDS["patients_by_age"])
    return np.interp(np.arange(_OLDEST + 1), ages, patients)


def _diagnoses(rng: np.random.Generator, age: np.ndarray, sex: np.ndarray) -> np.ndarray:
    """One cumulative distribution per age and sex, end to end, so that one search serves everybody."""
    ages = np.arange(_OLDEST + 1)[:, None]
    peak = np.array(_DIAGNOSIS["age"])
    spread = np.array(_DIAGNOSIS["spread"])
    by_age = np.exp(-0.5 * ((ages - peak) / spread) ** 2)
    women = np.array(_DIAGNOSIS["women"])
    by_sex = np.stack([women, np.ones_like(women)]) / np.maximum(women, 1)
    weight = np.array(_DIAGNOSIS["weight"]) * by_age[:, None, :] * by_sex
    cumulative = np.cumsum(weight, axis=2) / weight.sum(axis=2, keepdims=True)
    person = age * 2 + sex
    shifted = cumulative.reshape(-1, len(women)) + np.arange(2 * (_OLDEST + 1))[:, None]
    found = np.searchsorted(shifted.ravel(), person + rng.random(len(age)), side="right")
    return np.minimum(found - person * len(women), len(women) - 1)


def _patient_ids(rng: np.random.Generator, n: int) -> pa.Array:
    digits = _zero_padded(rng.permutation(n) + 1, max(7, len(str(n))))
    return pc.binary_join_element_wise("P", digits, "")


def _zero_padded(numbers: np.ndarray, width: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")


def _names(rng: np.random.Generator, sex: np.ndarray) -> pa.Array:
    surnames = _WORDS["surnames"].split()
    names = [
        f"{first} {last}" for s in _SEXES for first in _WORDS["first_names"][s].split() for last in surnames
    ]
    firsts = len(names) // len(surnames) // len(_SEXES)
    first = _draw(_zipf(firsts, 0.5), rng.random(len(sex)))
    last = _draw(_zipf(len(surnames), 0.5), rng.random(len(sex)))
    return _words(names, (sex * firsts + first) * len(surnames) + last)


def _zipf(size: int, exponent: float) -> np.ndarray:
    return 1.0 / np.arange(1, size + 1) ** exponent


def _postcodes(rng: np.random.Generator, n: int) -> pa.Array:
    """Postcodes: neighbouring areas share leading digits; the seed decides which are populous."""
    area, place = np.divmod(np.arange(_POSTCODES), 40)
    codes = rng.permutation(area * 1300 + place * 17 + 1001)
    rank = _draw(_zipf(_POSTCODES, 0.8), rng.random(n))
    return _zero_padded(codes, 5).take(pa.array(rank))


def _admissions(rng: np.random.Generator, n: int) -> pa.Array:
    """Days of admission within three years: more in winter, fewer at weekends."""
    days = np.arange(np.datetime64("2022-01-01"), np.datetime64("2025-01-01"))
    number = days.astype(np.int64)
    season = 1 + 0.15 * np.cos(2 * np.pi * (number - number[0]) / 365.25)
    weekend = np.isin((number + 3) % 7, [5, 6])  # day 0, 1970-01-01, was a Thursday
    return pa.array(days[_draw(season * np.where(weekend, 0.6, 1.0), rng.random(n))])


def _insurances(rng: np.random.Generator, age: np.ndarray) -> pa.Array:
    u = rng.random(len(age))
    private = np.where(age < 25, 0.08, 0.16)
    return _words(_INSURANCES, np.where(u < private, 1, np.where(u > 0.985, 2, 0)))


def _occupations(rng: np.random.Generator, age: np.ndarray) -> pa.Array:
    words = [*_WORK, "infant or toddler", "pupil", "student", "retired"]
    toddler, pupil, student, retired = range(len(_WORK), len(words))
    u = rng.random(len(age))
    code = _draw(np.array(list(_WORK.values())), rng.random(len(age)))
    code[(age < 26) & (u < 0.5)] = student
    code[age < 18] = pupil
    code[age < 6] = toddler
    code[(age >= 60) & (u < (age - 59) / 9)] = retired
    return _words(words, code, missing=rng.random(len(age)) < 0.02)


def _lengths_of_stay(rng: np.random.Generator, diagnosis: np.ndarray) -> pa.Array:
    mean = np.array(_DIAGNOSIS["days"])[diagnosis]
    return pa.array(1 + rng.poisson(rng.gamma(2.0, mean / 2.0)).astype(np.int64))


def _procedures(rng: np.random.Generator, diagnosis: np.ndarray) -> pa.Array:
    """A set of treatments per patient, mostly of the body region that the diagnosis concerns."""
    n = len(diagnosis)
    drawn = rng.binomial(_MOST_PROCEDURES, 0.4, n)
    row = np.repeat(np.arange(n), drawn)
    home = np.array([_REGIONS.index(region) for region in _DIAGNOSIS["region"]])[diagnosis[row]]
    elsewhere = _draw(_zipf(len(_REGIONS), 1.0), rng.random(len(row)))
    region = np.where(rng.random(len(row)) < 0.75, home, elsewhere)
    technique = _draw(_zipf(len(_TECHNIQUES), 0.7), rng.random(len(row)))
    items = [f"{t} of the {r}" for t in _TECHNIQUES for r in _REGIONS]
    keys = np.sort(row * len(items) + technique * len(_REGIONS) + region)
    keys = keys[np.diff(keys, prepend=-1) > 0]  # each item once per patient
    row, item = np.divmod(keys, len(items))
    offsets = np.zeros(n + 1, dtype=np.int32)
    offsets[1:] = np.cumsum(np.bincount(row, minlength=n))
    return pa.ListArray.from_arrays(pa.array(offsets), _words(items, item))


_DAYS_PER_YEAR = 365.25


def _visits_of(patients: pa.Table, visits: int, seed: int) -> pa.Table:
    """`visits` stays of these patients, at least one each; few patients have many.

    Name, sex, postcode, insurance and occupation are those of the patient; everybody grows older.
    """
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
        "diagnosis": _words(_DIAGNOSIS["name"], diagnosis),
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


def generate_baskets(
    n: int = 10_000, *, n_items: int = 1_657, mean_size: float = 6.5, seed: int = 0
) -> pa.Table:
    """`n` baskets in a column `items`; the same seed gives the same baskets. O(items drawn * log).

    Sizes are geometric with the given mean, before items that were drawn twice count once. The popularity of
    items falls with rank to the power of 0.9, in a random order of their numbers. With n = 515,597 and the
    other parameters as they are, the set has the size of BMS-POS, on which papers measure; it is not BMS-POS.

    >>> generate_baskets(3, n_items=5, mean_size=2, seed=1)["items"].to_pylist()
    [['1', '4'], ['1', '2', '3'], ['0']]
    """
    if n < 1 or n_items < 1 or mean_size < 1:
        raise InputError("The number of baskets, of items and the mean size must be at least 1.")
    rng = np.random.default_rng(seed)
    sizes = rng.geometric(1 / mean_size, n)
    popularity = np.arange(1, n_items + 1) ** -0.9
    places = np.searchsorted(np.cumsum(popularity / popularity.sum()), rng.random(int(sizes.sum())))
    drawn = rng.permutation(n_items)[np.minimum(places, n_items - 1)]
    keys = np.sort(np.repeat(np.arange(n), sizes) * n_items + drawn)
    keys = keys[np.append(True, np.diff(keys) > 0)]
    offsets = np.searchsorted(keys, np.arange(n + 1) * n_items).astype(np.int32)
    names = pa.array([str(item) for item in range(n_items)])
    items = pa.DictionaryArray.from_arrays(pa.array((keys % n_items).astype(np.int32)), names)
    return pa.table({"items": pa.ListArray.from_arrays(pa.array(offsets), items.cast(pa.string()))})


def generate_triangles(edges: Sequence[tuple[Hashable, Hashable]]) -> pa.Table:
    """A table whose least number of stars at k = 3 shows whether a graph's edges are triangles (Theorem 1).

    One row per edge and, for each of t = ceil(log2(edges + 1)) blocks, a column per vertex: 0, but 1 and 2 at
    the two ends of the edge, exchanged where the t bits of the edge's number say so. The edges of a simple
    graph can be parted into triangles if and only if 3 * edges * t stars are enough. Deciding that is
    NP-hard.

    >>> table = generate_triangles([("a", "b"), ("b", "c"), ("a", "c")])
    >>> table.column_names
    ['a1', 'b1', 'c1', 'a2', 'b2', 'c2']
    >>> [list(row.values()) for row in table.to_pylist()]
    [[1, 2, 0, 2, 1, 0], [0, 2, 1, 0, 1, 2], [2, 0, 1, 2, 0, 1]]
    """
    if not edges or len({frozenset(edge) for edge in edges}) < len(edges) or any(a == b for a, b in edges):
        raise InputError("The graph must have edges, each between two vertices and listed once.")
    vertices = list(dict.fromkeys(vertex for edge in edges for vertex in edge))
    blocks = len(edges).bit_length()
    cells = np.zeros((len(edges), blocks, len(vertices)), dtype=np.int8)
    for rank, (a, b) in enumerate(edges, start=1):
        for block in range(blocks):
            turned = rank >> (blocks - 1 - block) & 1
            cells[rank - 1, block, vertices.index(a)] = 2 if turned else 1
            cells[rank - 1, block, vertices.index(b)] = 1 if turned else 2
    names = [f"{vertex}{block + 1}" for block in range(blocks) for vertex in vertices]
    return pa.table(dict(zip(names, cells.reshape(len(edges), -1).T)))


def generate_look_alikes(k: int) -> tuple[pa.Table, pa.Table]:
    """Two binary tables of k rows with the same distances between rows, and far apart in cost (section 4).

    Any two rows differ in 2^(k-1) places, in either table. To make all k rows alike takes k * k * 2^(k-2)
    stars in the first and only k * (2^k - 2) in the second. So an algorithm that looks at distances
    alone, as `forest` does, cannot promise less than about k / 4 times the least cost.

    >>> first, second = generate_look_alikes(3)
    >>> [list(row.values()) for row in first.to_pylist()]
    [[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 1]]
    >>> [list(row.values()) for row in second.to_pylist()]
    [[1, 1, 1, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 1, 0, 0], [1, 0, 1, 0, 1, 0, 1, 0]]
    """
    if not 2 <= k <= 16:
        raise InputError(f"k must be from 2 to 16. Got {k}.")
    first = np.repeat(np.eye(k, dtype=np.int8), 2 ** (k - 2), axis=1)
    place = np.arange(2**k)
    second = np.array([1 - (place >> (k - row) & 1) for row in range(1, k + 1)], dtype=np.int8)
    return _binary_table(first), _binary_table(second)


def _binary_table(cells: np.ndarray) -> pa.Table:
    return pa.table({f"q{number + 1}": column for number, column in enumerate(cells.T)})
