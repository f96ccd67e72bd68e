"""What an algorithm returns: how to publish each record, in codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from kohort.problem.attribute import Attribute
from kohort.problem.proof import Proof

if TYPE_CHECKING:
    from kohort.recoding.items import ItemNodes

__all__ = [
    "FAILED",
    "HELD",
    "IMPLIED",
    "OPEN",
    "RULED_OUT",
    "STATES",
    "Lattice",
    "PublishedColumn",
    "Recoding",
]

OPEN, FAILED, HELD, RULED_OUT, IMPLIED = range(5)
STATES = ("open", "failed", "held", "ruled-out", "implied")
"""The names of the states of a node: it was never decided, since it could not be better or time ran out; it
was examined, and the models fail or hold there; it was not examined, but others show that they fail or hold.
"""


@dataclass(frozen=True, eq=False)
class Lattice:
    """What a full-domain search knows of every combination of levels, with an axis per attribute.

    states  of each node its state, a number of STATES
    chosen  the level of each attribute that is published
    """

    states: np.ndarray
    chosen: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column to publish: labels (None is a missing value) and which one each record has.

    widths  how many leaves of the attribute's domain each label covers or, with tight labels, how many values
    """

    labels: Sequence[str | None]
    of_record: np.ndarray
    widths: np.ndarray


class _Published(ABC):
    """Declares what is a field of some recodings, and follows from the fields of others.

    withheld  per record whether it is published as `*` in every quasi-identifier, or left out
    """

    withheld: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class Recoding(_Published):
    """The answer of an algorithm: how each record is published.

    guarantee  the approximation factor proven for this run, or None
    bound      a lower bound on the least possible cost, or None; `proof` may hold evidence for it
    notes      sentences that the user should read
    search     what a search for a scheme has proven: the scheme of each attribute, the least cost of all
               recodings of these schemes, how far the recoding is above it; empty where nothing was searched
    lattice    what a full-domain search knows of each combination of levels; None where there is no such
    in_domain  whether only generalized values of the attributes' domains are published, no sets of them
    is_global  whether a value is published the same way wherever it occurs: then `maps` says how
    items      how the items of each record are published; None where there is no column of items
    class_of_record, class_size  the class within which the items of each record are published, None: all are
               one class; and the least class size that the table was given for their sake
    parts      the solved problems over people whose bounds together are one for all records; else empty
    counterfeits  records beside those of the table, which are nobody's
    """

    is_global: ClassVar[bool] = False
    guarantee: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    search: Mapping[str, Any] = field(default_factory=dict)
    lattice: Lattice | None = None
    in_domain: bool = True
    items: ItemNodes | None = None
    class_of_record: np.ndarray | None = None
    class_size: int | None = None
    parts: Sequence[Any] = ()
    counterfeits: Sized = ()

    @abstractmethod
    def apply(self, attribute: Attribute) -> PublishedColumn:
        """The published column of one quasi-identifier; what withheld records get does not matter."""

    def maps(self, attribute: Attribute) -> dict[str | None, str | None]:
        """The published value of every value in the attribute's domain, also of those that the data lacks."""
        raise TypeError(f"{type(self).__name__} publishes the same value in different ways.")
