"""A release on a cluster as users hold it: written beside its target, looked at again, then renamed."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import unquote

from kohort.algorithms import Progress
from kohort.engines.spark.failures import spark_failures
from kohort.engines.spark.input_files import sha256_of_lines
from kohort.engines.spark.source import format_of_path
from kohort.engines.spark.values import fingerprint
from kohort.errors import InputError, InternalError, KohortError, UnsupportedError
from kohort.files.outputs import Outputs
from kohort.io.certificate import write_certificate
from kohort.io.maps import write_maps
from kohort.io.salt import Salt, salt_for, write_salt
from kohort.io.signature import sign_file, signature_path
from kohort.pipeline.public import public_version
from kohort.pipeline.spark.release import SparkRelease
from kohort.publication.judged import JudgedRelease
from kohort.report.asked import check_report_path, check_version
from kohort.report.html import write_report

_EXACT = ("parquet", "orc", "json")  # formats that hold every value as it is
_WRITING = ("header", "sep", "escape")
_JSON = {  # all columns on every line, and times to the microsecond
    "ignoreNullFields": False,
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}


@dataclass(frozen=True, eq=False, repr=False)
class ReleaseOnSpark(JudgedRelease, SparkRelease):
    """A verified release on a cluster. `table` is a dataframe of Spark's; `write` writes it to a path.

    loss, verdict, notes, facts(), risk(), utility(), summary() and report() are those of every release; what
    they need is counted on the cluster. `close` lets Spark give up what it holds.
    """

    making: Mapping[str, str] = field(default_factory=dict)
    spec_sha256: str | None = None

    @classmethod
    def from_verified(
        cls,
        made: SparkRelease,
        making: Mapping[str, str] | None = None,
        spec_sha256: str | None = None,
    ) -> ReleaseOnSpark:
        """A verified release with methods that judge and write it.

        making  what a report says of how it was made
        spec_sha256  the hash of the spec's file, for its maps
        """
        known = {field.name: getattr(made, field.name) for field in fields(made)}
        return cls(**known, making=dict(making or {}), spec_sha256=spec_sha256)

    def report(
        self, path: str | Path, *, version: Literal["internal", "public"] = "internal", **more: Any
    ) -> None:
        """Write a page for people, HTML or PDF by its ending, to a file of this machine.

        The internal version shows values of the original; the public one may go with the release. What needs
        all records in one place is left out, with a sentence that says so.
        """
        check_report_path(path)
        with Outputs([Path(path)]).drafts() as draft_of:
            options = {"making": self.making, **more}
            write_report(self, draft_of[Path(path)], version=version, **options)

    def write(
        self,
        out: str | Path,
        *,
        report: str | Path | None = None,
        report_version: Literal["internal", "public"] = "internal",
        certificate: str | Path | None = None,
        certificate_version: Literal["internal", "public"] = "public",
        key: Any = None,
        maps: str | Path | None = None,
        salt: str | Path | None = None,
        progress: Progress | None = None,
    ) -> dict[str, Any]:
        """Write the release to a path that Spark writes (a folder of files), all of it or nothing.

        report       a file of this machine for the report, and its version
        certificate  a file of this machine for the certificate, and its version
        key          the private key that signs it
        maps         a file of this machine that says how each value is published, for `ko.apply_maps`
        salt         a file of this machine with the secret of a commitment to the original's files; where
                     there is none, a new one is written

        Returns all facts, those of the internal certificate. A path that exists already is refused.
        """
        out = str(out)
        kind = format_of_path(out)[0]
        check_version(report_version)
        check_version(certificate_version)
        if report is not None:
            check_report_path(report)
        if kind == "csv" and self.request.formulas == "escape":
            raise UnsupportedError("The Spark engine does not write formulas: escape. Write Parquet instead.")
        spark = self.frame.sparkSession
        refuse_existing(spark, out)
        secret = self._salt(salt)
        signature = None if certificate is None or key is None else signature_path(Path(certificate))
        files = (report, certificate, signature, maps, secret.new_file)
        private = [path for path in [secret.new_file] if path is not None]
        beside = [Path(path) for path in files if path is not None]
        made = None if maps is None else self.value_maps(self.spec_sha256)
        start = time.perf_counter()
        outputs = Outputs(beside, private, reads=[secret.read_from], private=private)
        with outputs.drafts() as draft_of, _draft(spark, out) as draft:
            self._write_records(draft)
            self.seconds["write"] = time.perf_counter() - start
            hashed = replace(self, notes=(*self.notes, WHAT_IS_HASHED))
            named = report is not None or secret.value is not None
            original = self.input_files.sha256(spark) if named and self.input_files is not None else None
            hashes = {"input": original, "output": _sha256_of_folder(spark, draft)}
            known: dict[str, Any] = {"sha256": hashes, "salt": secret.value}
            if report is not None:
                making = {**self.making, "release": PurePosixPath(out).name}
                options = {"version": report_version, "making": making, "progress": progress}
                write_report(hashed, draft_of[Path(report)], **options, **known)
            facts = hashed.facts(**known)
            if certificate is not None:
                shown = public_version(facts) if certificate_version == "public" else facts
                write_certificate(shown, draft_of[Path(certificate)])
            if maps is not None and made is not None:
                write_maps(made, draft_of[Path(maps)])
            if secret.new_file is not None:
                write_salt(secret, draft_of[secret.new_file])
            if certificate is not None and signature is not None:
                sign_file(draft_of[Path(certificate)], draft_of[signature], key)
        return facts

    def _salt(self, path: str | Path | None) -> Salt:
        """The secret of the commitment to the original's files; refused of a dataframe, which has none."""
        if path is not None and self.input_files is None:
            raise InputError(
                "A salt is for a commitment to the files of the original, and this is a dataframe. Leave it "
                "out, or read the table from a path."
            )
        return salt_for(None if path is None else Path(path))

    def _write_records(self, draft: str) -> None:
        """Write the records, and compare what is there then with what was verified."""
        kind, options = format_of_path(draft)
        spark, names = self.frame.sparkSession, list(self.frame.columns)
        with spark_failures("write the release"):
            options |= _JSON if kind == "json" else {}
            chosen = {name: value for name, value in options.items() if name in (*_WRITING, *_JSON)}
            self.frame.write.format(kind).options(**chosen).mode("error").save(draft)
            reader = spark.read.format(kind).options(**options)
            if kind == "json":  # which tells neither the types of columns nor their order
                reader = reader.schema(self.frame.schema)
            written = reader.load(draft)
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


WHAT_IS_HASHED = (
    "The hash of the release, a folder of files, is the SHA-256 of what `sha256sum part-*` prints in that "
    "folder."
)


def _sha256_of_folder(spark: Any, folder: str) -> str:
    """The SHA-256 of the lines that `sha256sum part-*` prints: a hash and the name of each file, by name.

    Each executor reads whole files; the driver gets their hashes.
    """
    import pyspark.sql.functions as F

    with spark_failures("hash the release"):
        files = spark.read.format("binaryFile").option("pathGlobFilter", "part-*").load(folder)
        found = files.select("path", F.sha2("content", 256).alias("sha256")).collect()
    return sha256_of_lines({PurePosixPath(unquote(row["path"])).name: row["sha256"] for row in found})
