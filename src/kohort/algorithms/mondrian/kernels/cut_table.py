"""The records in the order of their groups, what is known of their columns, and room to work in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kohort.problem.encoding.layout import Tables

BY_VALUE, BY_FREQUENCY, BY_CHILD = 0, 1, 2  # ways to cut: between values, inside a value, into children
CUT_UP, FIND, PART, DEAL = 0, 1, 2, 3  # steps of `cut_groups`
MAX_BINS = 64
SAMPLE = 20_000  # larger groups choose their cut on every s-th record
CUT = np.dtype([("way", np.int64), ("attribute", np.int64), ("where", np.int64), ("extra", np.int64)])


class Records(NamedTuple):
    """The records in the order of their groups; a group is a run of them."""

    rows: np.ndarray  # records by attributes, and zeros up to a multiple of 8: the leaf of each cell
    packed: np.ndarray  # the same memory as 8-byte words, to move records with
    number: np.ndarray  # the number of each record
    persons: np.ndarray  # the person of each record; empty where every record is that of another person
    masses: np.ndarray  # how much each record counts in the cost; empty where all count 1


class Children(NamedTuple):
    """Where to find the child of a node that covers a leaf, at once."""

    depth: np.ndarray  # per node: steps below the root
    start: np.ndarray  # per attribute: its first entry in `place`
    place: np.ndarray  # depths by leaves of each hierarchy: the place of the child among its siblings


class Rules(NamedTuple):
    """How groups may be cut."""

    k: int
    strict: bool  # whether records with equal values stay together
    widest: bool  # whether the attribute with the widest range is cut in the middle


class CutTable(NamedTuple):
    """All that is cut, and how."""

    records: Records
    tables: Tables
    children: Children
    rules: Rules


class Bins(NamedTuple):
    """Bins of the records of a sample, summed up."""

    of: np.ndarray  # per record of the sample: its bin
    size: np.ndarray  # per bin: its records
    mass: np.ndarray  # how much they count in the cost
    lo: np.ndarray  # bins by attributes: least and greatest leaves
    hi: np.ndarray
    words: np.ndarray  # bins by words: the set of values, where sets are published


class Summary(NamedTuple):
    """Least and greatest leaves of some records, and their sets of values."""

    lo: np.ndarray
    hi: np.ndarray
    words: np.ndarray


class Pooling(NamedTuple):
    """Children of a node, or parts of a group."""

    apart: np.ndarray  # whether it is a part of its own, or in the pool
    number: np.ndarray  # the part that it is
    people: np.ndarray  # how many it has


class Edges(NamedTuple):
    """Cuts between the bins of values, and inside them."""

    first: np.ndarray  # per bin: its least and greatest value
    last: np.ndarray
    right_cost: np.ndarray  # cost of a record of this bin and all after it
    left: np.ndarray  # people with a record up to this bin, and beyond it
    right: np.ndarray


class Sorting(NamedTuple):
    """Room to sort or count values."""

    values: np.ndarray
    ordered: np.ndarray
    merged: np.ndarray
    tally: np.ndarray


class Marks(NamedTuple):
    """A note on each person, valid if its stamp is the current number; empty if there are no persons."""

    notes: np.ndarray  # people by two: the stamp, and the note
    current: np.ndarray  # one entry: the current number
    ordered: np.ndarray  # room for the persons of a group


class Moving(NamedTuple):
    """The parts of the records of a group, and room for what is moved."""

    part: np.ndarray  # per record
    size: np.ndarray  # per part: its records
    place: np.ndarray  # per part: where its next record goes
    room: np.ndarray  # per record: a word of it


class BestCuts(NamedTuple):
    """The best cuts of a group so far, and their scores, the least first."""

    cuts: np.recarray
    scores: np.ndarray


class Workspace(NamedTuple):
    """Memory that the search of one thread uses again and again, so that a group needs none of its own."""

    bins: Bins
    side: Summary  # of one side of a cut
    group: Summary  # of the group that is cut
    pooling: Pooling
    edges: Edges
    sorting: Sorting
    marks: Marks
    moving: Moving
    best: BestCuts
    stack: np.ndarray  # groups that wait to be cut: start and end


class Steps(NamedTuple):
    """A step in cutting several groups, and what it reads or writes.

    step     CUT_UP: cut the groups to the end, by k alone
             FIND: write the best cuts of each group to `cuts`
             PART: write the part of each record after the first of the cuts, and the number of parts
             DEAL: sort the records of each group by part
    cuts     CUT: groups by cuts, the best first
    parts    per record, group after group
    n_parts  per group
    """

    step: int
    cuts: np.recarray
    parts: np.ndarray
    n_parts: np.ndarray


class Sample(NamedTuple):
    """The records of a group, or every `stride`-th of them."""

    start: int  # the first record
    stride: int  # from one record of the sample to the next
    size: int  # records in the sample
    need: int  # records of the sample, or people in it, that a part must have
