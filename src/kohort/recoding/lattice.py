"""What a full-domain search knows of every combination of levels: the lattice that it has searched."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["FAILED", "HELD", "IMPLIED", "OPEN", "RULED_OUT", "STATES", "Lattice"]

OPEN, FAILED, HELD, RULED_OUT, IMPLIED = range(5)
STATES = ("open", "failed", "held", "ruled-out", "implied")
"""The names of the states of a node: it was never decided, since it could not be better or time ran out; it
was examined, and the models fail or hold there; it was not examined, but others show that they fail or hold.
"""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The nodes of a lattice of levels, with an axis per attribute, and the node that is published.

    states  of each node its state, a number of STATES
    chosen  the level of each attribute that is published
    """

    states: np.ndarray
    chosen: tuple[int, ...]
