"""The files that a table on a cluster is read from: which they are, and their hash."""

from __future__ import annotations

import hashlib
import os.path
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from kohort.engines.spark.failures import spark_failures
from kohort.errors import InputError

_LARGE = 128 << 20  # bytes; an executor holds a smaller file as a whole to hash it


@dataclass(frozen=True, eq=False)
class InputFiles:
    """The files at a path, each with its length and when it was changed last."""

    path: str
    found: Mapping[str, tuple[int, Any]]

    @classmethod
    def at(cls, spark: Any, path: str) -> InputFiles:
        """The files that Spark reads at a path; their contents are not read."""
        rows = _binary(spark, path).select("path", "length", "modificationTime").collect()
        return cls(path, {row["path"]: (row["length"], row["modificationTime"]) for row in rows})

    def sha256(self, spark: Any) -> str:
        """The SHA-256 of the file or, of several, of what `sha256sum` prints for them in their folder.

        Executors hash files of up to 128 MB each; larger ones go through the driver, a piece at a time.
        Raises InputError where a file is another one than when the table was opened.
        """
        with spark_failures("hash the original"):
            self._refuse_changed(spark)
            hashes = self._small(spark) | self._large(spark)
            self._refuse_changed(spark)
        if len(hashes) == 1:
            return next(iter(hashes.values()))
        folder = os.path.commonpath([str(PurePosixPath(path).parent) for path in hashes])
        names = {path: os.path.relpath(PurePosixPath(path), folder) for path in hashes}
        return sha256_of_lines({names[path]: found for path, found in hashes.items()})

    def _refuse_changed(self, spark: Any) -> None:
        if InputFiles.at(spark, self.path).found != self.found:
            raise InputError(
                f"The files of {self.path} changed while they were read. Nothing was written. Run this again "
                "when nobody writes to them."
            )

    def _small(self, spark: Any) -> dict[str, str]:
        import pyspark.sql.functions as F

        small = _binary(spark, self.path).filter(F.col("length") <= _LARGE)
        rows = small.select("path", F.sha2("content", 256).alias("sha256")).collect()
        return {row["path"]: row["sha256"] for row in rows}

    def _large(self, spark: Any) -> dict[str, str]:
        """The hashes of large files, which the driver's JVM reads as streams."""
        context, found = spark.sparkContext, {}
        for path in [path for path, (length, _) in self.found.items() if length > _LARGE]:
            place = context._jvm.org.apache.hadoop.fs.Path(path)
            stream = place.getFileSystem(context._jsc.hadoopConfiguration()).open(place)
            try:
                found[path] = context._jvm.org.apache.commons.codec.digest.DigestUtils.sha256Hex(stream)
            finally:
                stream.close()
        return found


def _binary(spark: Any, path: str) -> Any:
    return spark.read.format("binaryFile").load(path)


def sha256_of_lines(hashes: Mapping[str, str]) -> str:
    """The SHA-256 of the lines that `sha256sum` prints: a hash and the name of each file, by name."""
    lines = "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes))
    return hashlib.sha256(lines.encode()).hexdigest()
