"""The hash of a release that Spark wrote: a folder of files, hashed by executors."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.input_files import sha256_of_lines

__all__ = ["WHAT_IS_HASHED", "sha256_of_folder"]

WHAT_IS_HASHED = (
    "The hash of the release, a folder of files, is the SHA-256 of what `sha256sum part-*` prints in that "
    "folder."
)


def sha256_of_folder(spark: Any, folder: str) -> str:
    """The SHA-256 of the lines that `sha256sum part-*` prints: a hash and the name of each file, by name.

    Each executor reads whole files; the driver gets their hashes.
    """
    import pyspark.sql.functions as F

    with spark_failures("hash the release"):
        files = spark.read.format("binaryFile").option("pathGlobFilter", "part-*").load(folder)
        found = files.select("path", F.sha2("content", 256).alias("sha256")).collect()
    return sha256_of_lines({PurePosixPath(unquote(row["path"])).name: row["sha256"] for row in found})
