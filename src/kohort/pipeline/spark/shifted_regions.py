"""A second cut of a table into regions, across the first one: it repairs the seams between regions.

Groups do not reach across the regions in which they were found. So every group moves, as a whole, to the
region of another cut that its first record lies in, and is regrouped there with its new neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from kohort.algorithms import Run
from kohort.algorithms.compact_rows import compact_rows
from kohort.algorithms.improve.improve import regrouped_without_bound
from kohort.algorithms.mondrian.region_tree import Regions
from kohort.engines.spark.workers import one_thread
from kohort.kernels.compile_time import compile_clock
from kohort.pipeline.spark.regions import (
    REGION,
    RegionJob,
    Units,
    by_region,
    dealt_records,
    joined_regions,
    labels_of,
    region_problem,
    units_in,
)
from kohort.recoding.groups import Groups

__all__ = ["ShiftedJob"]

GROUP = "_kohort_group"
_NEVER_LENT = 1 << 62  # the number of no record: none is moved to a pool
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class ShiftedJob:
    """What workers need to know to solve regions, and then those of another cut.

    first    the job of the first cut; no region of it is one group that may be anywhere
    regions  of the second cut
    seconds  the time limit of a region of the second cut
    """

    first: RegionJob
    regions: Regions
    units: Units
    seconds: float | None

    def solve(self, batches: Batches) -> Batches:
        """The records of the regions of a partition with their groups, dealt out by the second cut."""
        one_thread()
        for table in units_in(batches):
            for node, region in by_region(table):
                yield self._moved(node, region)

    def _moved(self, node: int, region: pa.Table) -> pa.RecordBatch:
        problem, groups = self.first.solved(region)
        group = groups.group_of_record.astype(np.int64)
        first = np.unique(group, return_index=True)[1]
        unlent = np.full(len(first), _NEVER_LENT)
        target = self.regions.tree.nodes_of(compact_rows(problem)[first], unlent)[group]
        moved = region.append_column(GROUP, pa.array((node << 32) + group))
        moved = moved.append_column(REGION, pa.array(target))
        return dealt_records(moved, self.units.first[target], self.units, node)

    def regroup(self, batches: Batches) -> Batches:
        """The published records of the regions of the second cut, dealt out by class."""
        one_thread()
        for table in units_in(batches):
            solved = [self._regrouped(region) for _, region in by_region(table)]
            yield self.first.pieces.dealt(*joined_regions(solved))

    def _regrouped(self, region: pa.Table) -> tuple[dict[str, pa.DictionaryArray], pa.Table]:
        place = region.column_names.index(GROUP)
        group = np.unique(region.column(place).to_numpy(), return_inverse=True)[1]
        region = region.remove_column(place)
        problem = region_problem(self.first.problem, region, has_people=False)
        with compile_clock() as compiling:
            run = Run(time_limit=self.seconds, excluded=lambda: compiling.seconds)
            groups = regrouped_without_bound(problem, Groups(group.astype(np.int32)), run)
        return labels_of(problem, groups, self.first.null_is_star), region
