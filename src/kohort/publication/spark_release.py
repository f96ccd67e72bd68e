"""A release on a cluster as users hold it: written beside its target, looked at again, then renamed."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.source import format_of_path
from kohort.engines.spark.values import fingerprint
from kohort.errors import InputError, InternalError, KohortError, UnsupportedError
from kohort.files.outputs import Outputs
from kohort.io.certificate import write_certificate
from kohort.io.signature import sign_file, signature_path
from kohort.pipeline.spark.release import SparkRelease

__all__ = ["ReleaseOnSpark", "refuse_existing"]

_EXACT = ("parquet", "orc")  # formats that hold every value as it is
_WRITING = ("header", "sep", "escape")


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseOnSpark(SparkRelease):
    """A verified release on a cluster. `table` is a dataframe of Spark's; `write` writes it to a path.

    loss, verdict, notes and facts() are those of every release. `close` lets Spark give up what it holds.
    """

    @classmethod
    def from_verified(cls, made: SparkRelease) -> ReleaseOnSpark:
        return cls(**{field.name: getattr(made, field.name) for field in fields(made)})

    def write(
        self, out: str | Path, *, certificate: str | Path | None = None, key: Any = None
    ) -> dict[str, Any]:
        """Write the release to a path that Spark writes (a folder of files), all of it or nothing.

        certificate  a file of this machine for the certificate
        key          the private key that signs it

        Returns the facts that the certificate holds. A path that exists already is refused.
        """
        out = str(out)
        kind, _ = format_of_path(out)
        if kind == "csv" and self.request.formulas == "escape":
            raise UnsupportedError("The Spark engine does not write formulas: escape. Write Parquet instead.")
        spark = self.frame.sparkSession
        refuse_existing(spark, out)
        beside = [] if certificate is None else [Path(certificate)]
        beside += [signature_path(beside[0])] if beside and key is not None else []
        start = time.perf_counter()
        with Outputs(beside).drafts() as draft_of, _draft(spark, out) as draft:
            self._write_records(draft)
            self.seconds["write"] = time.perf_counter() - start
            facts = self.facts()
            if beside:
                write_certificate(facts, draft_of[beside[0]])
            if len(beside) > 1:
                sign_file(draft_of[beside[0]], draft_of[beside[1]], key)
        return facts

    def _write_records(self, draft: str) -> None:
        """Write the records, and compare what is there then with what was verified."""
        kind, options = format_of_path(draft)
        spark, names = self.frame.sparkSession, list(self.frame.columns)
        with spark_failures("write the release"):
            chosen = {name: value for name, value in options.items() if name in _WRITING}
            self.frame.write.format(kind).options(**chosen).mode("error").save(draft)
            written = spark.read.format(kind).options(**options).load(draft)
        verified, found = self.fingerprint, fingerprint(written, list(written.columns))
        same = found == verified if kind in _EXACT else found[0] == verified[0]
        if written.columns != names or not same:
            raise InternalError(
                "The records that were written are not those that were verified. Nothing was published. "
                "Please report this."
            )


def refuse_existing(spark: Any, out: str) -> None:
    """Raise InputError for a path that exists already. Best called before long work."""
    with spark_failures(f"look at {out}"):
        files, path = _file_system(spark, out)
        if files.exists(path):
            raise InputError(f"{out} already exists. Choose another path, or remove it first.")


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
