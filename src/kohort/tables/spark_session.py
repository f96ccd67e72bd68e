"""The Spark session, the Java that it needs, and what goes wrong there as errors of Kohort's."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from kohort import errors
from kohort.errors import InputError, KohortError
from kohort.extras import missing_package

LEAST_JAVA = 17
_USUAL = (Path("/usr/lib/jvm"), Path("/Library/Java/JavaVirtualMachines"))
_ADVICE = (
    f"Install Java {LEAST_JAVA} or later (such as the package openjdk-17-jre-headless, or Temurin), or set "
    "JAVA_HOME to the folder of one that is there."
)


def spark_session() -> Any:
    """The active Spark session, or a new one with the settings that Spark finds for itself.

    Workers run the same Python as this process, unless PYSPARK_PYTHON names another.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise missing_package("The Spark engine needs", "spark") from None
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    refuse_wrong_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kohort").config("spark.ui.showConsoleProgress", "false")
    try:
        with quiet():
            session = builder.getOrCreate()
    except PySparkException as error:
        raise InputError(
            f"Spark did not start ({error.getCondition()}). Check its settings (SPARK_CONF_DIR, "
            "PYSPARK_SUBMIT_ARGS) and that its master can be reached."
        ) from None
    session.sparkContext.setLogLevel("OFF")  # it may quote values of the table
    return session


@contextmanager
def quiet() -> Iterator[None]:
    """Without PySpark's warnings about pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        yield


def refuse_wrong_java() -> None:
    """Find a Java that Spark can use, and set JAVA_HOME if it is in one of the usual places only."""
    home = os.environ.get("JAVA_HOME")
    if home:
        _refuse_old(Path(home) / "bin" / "java", f"JAVA_HOME is {home}")
        return
    on_path = shutil.which("java")
    if on_path is not None:
        _refuse_old(Path(on_path), "The java on the PATH")
        return
    for java in sorted(java for folder in _USUAL for java in folder.glob("*/bin/java")):
        if (version := _version(java)) is not None and version >= LEAST_JAVA:
            os.environ["JAVA_HOME"] = str(java.parent.parent)
            return
    raise InputError(f"The Spark engine needs Java, and none was found. {_ADVICE}")


def _refuse_old(java: Path, what: str) -> None:
    version = _version(java)
    if version is None:
        raise InputError(f"The Spark engine needs Java. {what}, but there is none that runs. {_ADVICE}")
    if version < LEAST_JAVA:
        raise InputError(f"The Spark engine needs Java {LEAST_JAVA}. {what}: version {version}. {_ADVICE}")


def _version(java: Path) -> int | None:
    """The major version of a Java: 8 for 1.8, 17 for 17.0.2; None if it does not run."""
    try:
        told = subprocess.run([str(java), "-version"], capture_output=True, text=True, timeout=30, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return None if found is None else int(found.group(1))


# Failures: without any value that Spark may have quoted.
_OURS = re.compile(r"kohort\.errors\.(\w+): (.+)")
_CAUSES = (
    (
        r"PATH_NOT_FOUND|\b[Pp]ath does not exist|\b[Ff]ile \S+ does not exist|FileNotFoundException",
        "there is no such path, or a part of it is gone. {nothing}",
    ),
    (
        r"AccessControlException|Permission denied|AccessDenied|Forbidden|Mkdirs failed|"
        r"Read-only file system",
        "permission denied, or not a folder to write to. {nothing}",
    ),
    (
        r"OutOfMemory|MemoryError|Unable to allocate|exit code 137|Python worker (exited|crashed)",
        "a worker died, probably out of memory. {nothing} Give executors more memory "
        "(spark.executor.memory, and spark.executor.memoryOverhead for their Python), or make regions "
        "smaller (records_per_region).",
    ),
    (
        r"ExecutorLost|executor .*lost|exited|Connection refused|Connection reset|SparkContext was shut down|"
        r"Heartbeat|network error|Answer from Java side is empty",
        "executors were lost, or Spark itself ({kind}). {nothing} Run this again.",
    ),
)
"""What errors of Spark say, and what that means."""


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
        condition = getattr(error, "getCondition", lambda: None)()
        raise _translated(str(error), doing, condition or type(error).__name__) from None


def give_up(held: Any) -> None:
    """Let Spark give up what it holds of a dataframe; where Spark is gone, there is nothing to give up."""
    from py4j.protocol import Py4JError

    with suppress(Py4JError, ConnectionError, EOFError):
        held.unpersist()


def _translated(text: str, doing: str, kind: str) -> KohortError:
    if (ours := _OURS.search(text)) is not None:
        known = getattr(errors, ours.group(1), InputError)
        return known(ours.group(2).strip())
    nothing = "Nothing was written."
    for pattern, cause in _CAUSES:
        if re.search(pattern, text) or re.search(pattern, kind):
            return InputError(f"Spark could not {doing}: {cause.format(nothing=nothing, kind=kind)}")
    return InputError(
        f"Spark could not {doing} ({kind}). {nothing} In a Spark session of your own, its log says more."
    )
