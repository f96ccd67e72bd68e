"""What goes wrong on a cluster, as errors of Kohort's: without any value that Spark may have quoted."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from kohort import errors
from kohort.engines.spark.session import quiet
from kohort.errors import InputError, KohortError

_OURS = re.compile(r"kohort\.errors\.(\w+): (.+)")
_OUT_OF_MEMORY = re.compile(
    r"OutOfMemory|MemoryError|Unable to allocate|exit code 137|Python worker (exited|crashed)"
)
_DENIED = re.compile(
    r"AccessControlException|Permission denied|AccessDenied|Forbidden|Mkdirs failed|Read-only file system"
)
_MISSING = re.compile(
    r"PATH_NOT_FOUND|\b[Pp]ath does not exist|\b[Ff]ile \S+ does not exist|FileNotFoundException"
)
_LOST = re.compile(
    r"ExecutorLost|executor .*lost|exited|Connection refused|Connection reset|SparkContext was shut down|"
    r"Heartbeat|network error|Answer from Java side is empty"
)


@contextmanager
def spark_failures(doing: str) -> Iterator[None]:
    """Turn errors of Spark into errors of Kohort's; `doing` says what was done, such as "read the table".

    An error that Kohort raised on a worker is raised here. Of others only the kind is told: their texts may
    quote values of the table.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    try:
        with quiet():
            yield
    except KohortError:
        raise
    except (PySparkException, Py4JError, ConnectionError, EOFError) as error:
        raise _translated(str(error), doing, _kind(error)) from None


def give_up(held: Any) -> None:
    """Let Spark give up what it holds of a dataframe; where Spark is gone, there is nothing to give up."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError, EOFError):
        held.unpersist()


def _kind(error: BaseException) -> str:
    condition = getattr(error, "getCondition", lambda: None)()
    return condition or type(error).__name__


def _translated(text: str, doing: str, kind: str) -> KohortError:
    if (ours := _OURS.search(text)) is not None:
        known = getattr(errors, ours.group(1), InputError)
        return known(ours.group(2).strip())
    nothing = "Nothing was written."
    if _MISSING.search(text) or "PATH_NOT_FOUND" in kind:
        return InputError(
            f"Spark could not {doing}: there is no such path, or a part of it is gone. {nothing}"
        )
    if _DENIED.search(text):
        return InputError(
            f"Spark could not {doing}: permission denied, or not a folder to write to. {nothing}"
        )
    if _OUT_OF_MEMORY.search(text):
        return InputError(
            f"Spark could not {doing}: a worker died, probably out of memory. {nothing} Give executors more "
            "memory (spark.executor.memory, and spark.executor.memoryOverhead for their Python), or make "
            "regions smaller (records_per_region)."
        )
    if _LOST.search(text):
        return InputError(
            f"Spark could not {doing}: executors were lost, or Spark itself ({kind}). {nothing} Run this "
            "again."
        )
    return InputError(
        f"Spark could not {doing} ({kind}). {nothing} In a Spark session of your own, its log says more."
    )
