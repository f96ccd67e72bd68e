"""Where tables are held and problems are solved: on this machine, or on many."""

from __future__ import annotations

import warnings

from kohort.errors import InputError, UnsupportedError, did_you_mean

__all__ = ["ENGINES", "check_engine", "refuse_cluster"]

ENGINES = ("local", "spark")
_RETIRED = ("memory", "streaming")


def check_engine(name: str) -> None:
    """Refuse an engine that does not exist, and warn of one that is no more."""
    if name in _RETIRED:
        warnings.warn(
            f"engine: {name} is no more and changes nothing: small tables are held in memory, and large ones "
            "are read in batches, to the same release. Leave it out.",
            FutureWarning,
            stacklevel=2,
        )
    elif name not in ENGINES:
        raise InputError(f"There is no engine {name!r} in this version. {did_you_mean(name, ENGINES)}")


def refuse_cluster(engine: str) -> None:
    """Refuse the Spark engine where a table is anonymized on this machine."""
    if engine == "spark":
        raise UnsupportedError(
            "engine: spark is for tables that Spark reads: use kohort.spark.anonymize in Python, or kohort "
            "anonymize with --engine spark."
        )
