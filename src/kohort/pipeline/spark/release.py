"""A release that is on a cluster: its records in a dataframe of Spark's, its facts on the driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from kohort.engines.spark.failures import give_up
from kohort.engines.spark.input_files import InputFiles
from kohort.errors import UnsupportedError
from kohort.pipeline.before_after import BeforeAfter
from kohort.pipeline.choose import Choice
from kohort.pipeline.order import PublishedOrder
from kohort.pipeline.publish import Published
from kohort.pipeline.release import VerifiedRelease
from kohort.pipeline.solve import Clock
from kohort.pipeline.spark.prepare import SparkPrepared
from kohort.verification import Verification


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(VerifiedRelease):
    """A release that has passed its verification. `table` is a dataframe of Spark's.

    frame        the published records; they are made from the parts that Spark holds, which were verified
    fingerprint  of these records: see `kohort.engines.spark.values.fingerprint`
    held         those parts, and what is held of the original, until `close`
    with_originals  the published records with what goes along with them
    digests      what tells each part that was verified from any other
    input_files  the files of the original; None of a dataframe
    """

    frame: Any = None
    fingerprint: tuple[int, int] = (0, 0)
    held: tuple[Any, ...] = ()
    with_originals: Any = None
    digests: Mapping[int, bytes] = field(default_factory=dict)
    input_files: InputFiles | None = None

    @classmethod
    def of(
        cls, prepared: SparkPrepared, choice: Choice, verified: Verification, clock: Clock, **made: Any
    ) -> SparkRelease:
        """The release of what was prepared, solved and verified; `made` are the fields that tell it apart."""
        return cls(
            dataset=prepared.dataset,
            request=prepared.request,
            roles=prepared.roles,
            problem=prepared.problem,
            published=Published(prepared.dataset, {}),
            verdict=verified.verdict,
            loss=verified.loss or {},
            algorithm=choice.name,
            parameters=choice.parameters,
            claims={},
            seconds=clock.seconds,
            order=PublishedOrder(prepared.request.shuffle),
            input_files=prepared.source.files,
            **made,
        )

    @cached_property
    def sides(self) -> BeforeAfter:
        """The original and the release for risk, utility and report: counts, and where to count."""
        from kohort.pipeline.spark.sides import counted_sides

        return counted_sides(self)

    @property
    def table(self) -> Any:
        """The published records, as a dataframe of Spark's."""
        return self.frame

    @property
    def published_names(self) -> list[str]:
        return list(self.frame.columns)

    @property
    def original_rows(self) -> Any:
        raise UnsupportedError("A release on a cluster does not know which original each record has.")

    def close(self) -> None:
        """Let Spark give up all that it holds of the release and of its original; `table` is gone then."""
        parts, source = self.held
        give_up(parts)
        source.release()
