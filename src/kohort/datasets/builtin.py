"""The two real tables that come with Kohort, and a release spec for every built-in table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from kohort.errors import InputError, did_you_mean

_HERE = Path(__file__).parent
_SPECS = ("adult", "health", "hospital")
_MENTAL_HEALTH = ("below 60", "60 to 69", "70 to 79", "80 to 89", "90 to 100")


def load_adult(split: str | None = None) -> pa.Table:
    """UCI Adult: 45,222 people of the 1994 US census, without missing values.

    `split` keeps one part of the original data, "train" (30,162 people) or "test" (15,060).

    >>> load_adult("test").num_rows
    15060
    """
    if split not in (None, "train", "test"):
        raise InputError(f"Adult has no part {split!r}. {did_you_mean(split, ['train', 'test'])}")
    table = _read("adult.csv.zst")
    return table if split is None else table.filter(pc.equal(table["split"], split))


def load_health(year: int | None = None, *, raw: bool = False) -> pa.Table:
    """RAND Health Insurance Experiment: 20,190 person-years; `year=1` has 5,638 people, one record each.

    The codebook beside this file (randhie_codebook.txt) names the original columns, which `raw=True`
    gives untouched, all 45 of them. Otherwise these, made readable:

    person               zper, person id
    year                 study year, 1 to 5
    site                 site, "site 1" to "site 6" (the codebook gives no names)
    age                  xage, age that year, in completed years
    sex                  female
    race                 black: "black", "not black", or "unknown" where the flag is neither 0 nor 1
    education            educdec, education of the decision maker, rounded
    family_size          num
    income               rounded to whole dollars
    plan                 plan, "plan 1" to "plan 19"
    health               "good", "fair" or "poor" by the flags hlthg, hlthf, hlthp; "excellent" without a flag
    mental_health        mhi, mental health index at baseline, 0 to 100, in five groups
    chronic_diseases     disea, rounded (the codebook says a count, though it runs to 58.6)
    physical_limitation  physlm, at baseline: "yes", "no", or "unknown" where it is neither 0 nor 1
    doctor_visits        mdvis, face-to-face visits to a physician
    hospital_admissions  totadm
    medical_spending     meddol, medical expenses, rounded to whole dollars
    """
    table = _read("randhie_raw.csv.zst")
    if year is not None:
        if year not in range(1, 6):
            raise InputError(f"The study has the years 1 to 5. Got {year!r}.")
        table = table.filter(pc.equal(table["year"], year))
    return table if raw else _readable_health(table)


def example_spec(name: str) -> str:
    """Path of a release spec for a built-in table: "adult", "health" or "hospital".

    >>> Path(example_spec("adult")).name
    'adult.yaml'
    """
    if name not in _SPECS:
        raise InputError(f"There is no example spec {name!r}. {did_you_mean(name, _SPECS)}")
    return str(_HERE / f"{name}.yaml")


def _read(file_name: str) -> pa.Table:
    with pa.input_stream(str(_HERE / file_name), compression="zstd") as stream:
        return pyarrow.csv.read_csv(stream)


def _readable_health(raw: pa.Table) -> pa.Table:
    column = {name: raw[name] for name in raw.column_names}
    return pa.table(
        {
            "person": column["zper"],
            "year": column["year"],
            "site": _numbered("site", column["site"]),
            "age": pc.cast(pc.floor(column["xage"]), pa.int64()),
            "sex": _flag(column["female"], "female", "male"),
            "race": _flag(column["black"], "black", "not black"),
            "education": _whole(column["educdec"]),
            "family_size": column["num"],
            "income": _whole(column["income"]),
            "plan": _numbered("plan", column["plan"]),
            "health": _self_rated(column["hlthg"], column["hlthf"], column["hlthp"]),
            "mental_health": _mental_health(column["mhi"]),
            "chronic_diseases": _whole(column["disea"]),
            "physical_limitation": _flag(column["physlm"], "yes", "no"),
            "doctor_visits": column["mdvis"],
            "hospital_admissions": column["totadm"],
            "medical_spending": _whole(column["meddol"]),
        }
    )


def _numbered(word: str, numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.binary_join_element_wise(word, pc.cast(numbers, pa.string()), " ")


def _flag(flag: pa.ChunkedArray, yes: str, no: str) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(flag, 1), yes, pc.if_else(pc.equal(flag, 0), no, "unknown"))


def _whole(numbers: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.cast(pc.round(numbers), pa.int64())


def _self_rated(good: pa.ChunkedArray, fair: pa.ChunkedArray, poor: pa.ChunkedArray) -> pa.ChunkedArray:
    flags = pa.StructArray.from_arrays(
        [pc.equal(flag, 1).combine_chunks() for flag in (good, fair, poor)], ["good", "fair", "poor"]
    )
    return pc.case_when(flags, "good", "fair", "poor", "excellent")


def _mental_health(index: pa.ChunkedArray) -> pa.Array:
    group = np.digitize(index.to_numpy(), [60, 70, 80, 90])
    return pa.array(_MENTAL_HEALTH).take(pa.array(group))
