"""The steps of a job whose records are on a cluster: the driver gets counts, and never records."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from kohort.errors import UnsupportedError
from kohort.job.choose import Choice
from kohort.job.order import PublishedOrder
from kohort.job.prepare import Prepared
from kohort.job.publish import Published
from kohort.job.solve import Attempt, Clock, Solution
from kohort.job.spark.prepare import SparkPrepared, prepare_on_spark
from kohort.job.spark.solve import Made, choose_on_spark, solve_on_spark
from kohort.job.spark.verify import original_columns, verify_on_spark
from kohort.kernels.compile_time import compile_ahead
from kohort.statement import Statement
from kohort.tables.spark import SparkTable, fingerprint
from kohort.verification import Verification


class SparkSteps:
    """The steps of one job, as a context: if anything fails, Spark gives up what it holds for it."""

    def __init__(self, table: Any, clock: Clock) -> None:
        assert isinstance(table, SparkTable)
        self.table, self.clock, self.held = table, clock, ExitStack()
        self.before = (0, 0)
        self.made: Made

    def __enter__(self) -> SparkSteps:
        if self.clock.stop is not None:
            raise UnsupportedError("A search on a cluster cannot be stopped: leave out 'stop'.")
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        self.held.close()
        if kind is not None:
            self.table.release()

    def prepare(self, table: Any, request: Statement, events: Any) -> SparkPrepared:
        self._report("counting values")
        return prepare_on_spark(table, request)

    def choose(self, prepared: SparkPrepared, standing: None) -> Choice:
        choice = choose_on_spark(prepared)
        self.before = fingerprint(prepared.frame, original_columns(prepared))
        return choice

    def solve(self, prepared: SparkPrepared, choice: Choice, clock: Clock) -> Attempt:
        with clock("solve"):
            compile_ahead(choice.names)
            self.made = solve_on_spark(prepared, choice, clock.progress, self.held)
        published = Published(prepared.dataset, prepared.published_names, {}, prepared.files)
        return prepared.problem, Solution(self.made.recoding, None, self.made.was_cut, ()), published

    def arrange(
        self, prepared: Prepared, solution: Solution, published: Published
    ) -> tuple[Published, PublishedOrder]:
        """Workers put the records in order while they verify them."""
        return published, PublishedOrder(prepared.request.shuffle)

    def verify(self, prepared: SparkPrepared, published: Published) -> tuple[Published, Verification]:
        self._report("solving, publishing and verifying")
        return verify_on_spark(prepared, self.made, self.before)

    def _report(self, doing: str) -> None:
        if self.clock.progress is not None:
            self.clock.progress(doing, 0.0)
