"""A release that is on a cluster: its records in a dataframe of Spark's, its facts on the driver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kohort.errors import UnsupportedError
from kohort.pipeline.before_after import BeforeAfter
from kohort.pipeline.release import VerifiedRelease

__all__ = ["SparkRelease"]


@dataclass(frozen=True, eq=False, repr=False)
class SparkRelease(VerifiedRelease):
    """A release that has passed its verification. `table` is a dataframe of Spark's.

    frame    the published records, which Spark holds
    held     what is held besides, until `close`
    n_parts  how many partitions of whole classes the published records have
    """

    frame: Any = None
    held: tuple[Any, ...] = ()
    n_parts: int = 1

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
        published, source = self.held
        published.unpersist()
        source.release()
