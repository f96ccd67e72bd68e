"""A path that Spark writes: a release is written beside it, looked at again, then renamed."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from kohort.algorithms import Progress
from kohort.errors import InputError, InternalError, KohortError, UnsupportedError
from kohort.files.atomic import Outputs
from kohort.files.checked import folder_hash
from kohort.io.databases import DatabaseTable
from kohort.job.spark.prepare import refuse_on_spark
from kohort.job.spark.publish import PublishedThere
from kohort.release.artefacts import Artefact
from kohort.release.release import Release
from kohort.release.targets import Target, WrittenTables
from kohort.statement import Statement
from kohort.statement.items import BasketShape
from kohort.tables.spark import fingerprint
from kohort.tables.spark_files import format_of_path
from kohort.tables.spark_session import spark_failures, spark_session

_EXACT = ("parquet", "orc", "json")  # formats that hold every value as it is
_WRITING = ("header", "sep", "escape")
_JSON = {  # all columns on every line, and times to the microsecond
    "ignoreNullFields": False,
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
WHAT_IS_HASHED = (
    "The hash of the release, a folder of files, is the SHA-256 of what `sha256sum part-*` prints in that "
    "folder."
)


@dataclass(frozen=True)
class ClusterTarget(Target):
    """A path that Spark writes, a folder of files; one that exists already is refused.

    named  whether the original is in files, which a commitment can be made to
    """

    out: str
    events: Any = None
    named: bool = True

    @property
    def name(self) -> str:
        return PurePosixPath(self.out).name

    def refuse(self, request: Statement, shape: BasketShape | None, artefacts: Sequence[Artefact]) -> None:
        refuse_on_spark(request)
        super().refuse(request, shape, artefacts)
        kind = format_of_path(self.out)[0]
        for artefact in artefacts:
            if not artefact.spark:
                raise UnsupportedError(
                    f"--engine spark does not have --{artefact.name.replace('_', '-')}. Leave it out, or use "
                    "--engine local."
                )
            if artefact.name == "salt" and not self.named:
                raise InputError(
                    "A salt is for a commitment to the files of the original, and this is a dataframe. Leave "
                    "it out, or read the table from a path."
                )
        if kind == "csv" and request.formulas == "escape":
            raise UnsupportedError("The Spark engine does not write formulas: escape. Write Parquet instead.")

    def refuse_reads(self, shape: BasketShape | None, reads: Collection[Path | DatabaseTable | None]) -> None:
        spark = spark_session()
        with spark_failures(f"look at {self.out}"):
            files, path = _file_system(spark, self.out)
            if files.exists(path):
                raise InputError(f"{self.out} already exists. Choose another path, or remove it first.")

    @contextmanager
    def tables(
        self, release: Release, outputs: Outputs, files: Collection[Path], progress: Progress | None
    ) -> Iterator[WrittenTables]:
        start, spark = time.perf_counter(), release.table.sparkSession
        with outputs.drafts(files) as draft_of, _draft(spark, self.out) as draft:
            _write_records(release, draft)
            release.seconds["write"] = time.perf_counter() - start
            yield WrittenTables(draft_of, {"output": _sha256_of_folder(spark, draft)}, (WHAT_IS_HASHED,))


def _write_records(release: Release, draft: str) -> None:
    """Write the records, and compare what is there then with what was verified."""
    kind, options = format_of_path(draft)
    frame, published = release.table, release.published
    assert isinstance(published, PublishedThere)
    with spark_failures("write the release"):
        options |= _JSON if kind == "json" else {}
        chosen = {name: value for name, value in options.items() if name in (*_WRITING, *_JSON)}
        frame.write.format(kind).options(**chosen).mode("error").save(draft)
        reader = frame.sparkSession.read.format(kind).options(**options)
        if kind == "json":  # which tells neither the types of columns nor their order
            reader = reader.schema(frame.schema)
        written = reader.load(draft)
    verified, found = published.fingerprint, fingerprint(written, list(written.columns))
    same = found == verified if kind in _EXACT else found[0] == verified[0]
    if written.columns != list(frame.columns) or not same:
        raise InternalError(
            "The records that were written are not those that were verified. Nothing was published. "
            "Please report this."
        )


@contextmanager
def _draft(spark: Any, out: str) -> Iterator[str]:
    """A path beside `out` to write to; at the end it is renamed to `out`, or removed if anything fails."""
    folder, _, name = out.rstrip("/").rpartition("/")
    draft = f"{folder}/" * bool(folder) + f".kohort-{secrets.token_hex(8)}-{name}"
    with spark_failures(f"write {out}"):
        files, place = _file_system(spark, draft)
    try:
        yield draft
        with spark_failures(f"write {out}"):
            target = _file_system(spark, out)[1]
            if files.exists(target) or not files.rename(place, target):
                raise InputError(
                    f"{out} could not be written: something is there by now. Nothing was written."
                )
    except BaseException:
        with suppress(KohortError), spark_failures(f"remove the draft of {out}"):
            files.delete(place, True)
        if "://" not in draft:  # of this machine, where Spark may be gone
            shutil.rmtree(draft, ignore_errors=True)
        raise


def _file_system(spark: Any, path: str) -> tuple[Any, Any]:
    """The file system of a path, and the path, as Hadoop knows them."""
    context = spark.sparkContext
    place = context._jvm.org.apache.hadoop.fs.Path(path)
    return place.getFileSystem(context._jsc.hadoopConfiguration()), place


def _sha256_of_folder(spark: Any, folder: str) -> str:
    """The SHA-256 of the lines that `sha256sum part-*` prints: a hash and the name of each file, by name.

    Each executor reads whole files; the driver gets their hashes.
    """
    import pyspark.sql.functions as F

    with spark_failures("hash the release"):
        files = spark.read.format("binaryFile").option("pathGlobFilter", "part-*").load(folder)
        found = files.select("path", F.sha2("content", 256).alias("sha256")).collect()
    return folder_hash({PurePosixPath(unquote(row["path"])).name: row["sha256"] for row in found})
