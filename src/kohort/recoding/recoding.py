"""What an algorithm returns: how to publish each record, in codes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kohort.problem.attribute import Attribute
from kohort.problem.proof import Proof
from kohort.recoding.lattice import Lattice

if TYPE_CHECKING:
    from kohort.recoding.item_nodes import ItemNodes


@dataclass(frozen=True, eq=False)
class PublishedColumn:
    """A column to publish: labels (None is a missing value) and which one each record has.

    widths  how many leaves of the attribute's domain each label covers or, with tight labels, how many values
    """

    labels: Sequence[str | None]
    of_record: np.ndarray
    widths: np.ndarray


class Recoding(ABC):
    """The answer of an algorithm: how each record is published.

    withheld   per record whether it is published as `*` in every quasi-identifier, or left out
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

    withheld: np.ndarray
    guarantee: float | None = None
    bound: float | None = None
    notes: tuple[str, ...] = ()
    proof: Proof | None = None
    search: Mapping[str, Any] = {}
    lattice: Lattice | None = None
    in_domain: bool = True
    is_global: bool = False
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

    def without_parts(self) -> Recoding:
        """The same recoding without the problems that it was solved in, which may be large."""
        return self
