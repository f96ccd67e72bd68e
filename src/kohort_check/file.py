"""The proof file: what is claimed, the prices that prove it, and the original of each published record.

A NumPy archive (.npz: a ZIP of .npy arrays), so that any prover can write one. `claim` is UTF-8 JSON as
bytes: `format` ("kohort-proof"), `version` (1), `cost`, `k`, `withheld`, `columns` (name, weight as a
fraction, parents, labels and hidden nodes, by node), `promises` (see `release.Kept`), `priced` (which of the
promises the prices make use of, or null) and `order`. The arrays: `price` (per original record, in units),
`published` (the original of each published record), `cut_start`, `cut_members` (by columns), `cut_most`,
`cut_price`, `charged` (closed records by columns) and `charge` (these by values in the order of
texts).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from kohort_check.bound import Claim, Column, Prices
from kohort_check.closed import Tree
from kohort_check.cuts import Cut
from kohort_check.groups import Refused
from kohort_check.release import Kept

FORMAT, VERSION = "kohort-proof", 1


@dataclass(frozen=True, eq=False)
class ProofFile:
    """All that is in a proof file.

    published  per published record the number of the original one, from 0
    priced     the number of the promise that the prices make use of, or None
    """

    claim: Claim
    promises: Sequence[Kept]
    prices: Prices
    published: np.ndarray
    priced: int | None = None

    def write(self, path: Path) -> None:
        columns = [
            {
                "name": column.name,
                "weight": str(column.weight),
                "parents": column.tree.parent.tolist(),
                "labels": list(column.labels),
                "hidden": np.flatnonzero(column.tree.hidden).tolist(),
            }
            for column in self.claim.columns
        ]
        claim = {
            "format": FORMAT,
            "version": VERSION,
            "cost": self.claim.cost,
            "k": self.claim.k,
            "withheld": self.claim.withheld,
            "columns": columns,
            "promises": [{**asdict(kept), "number": str(kept.number)} for kept in self.promises],
            "priced": self.priced,
            "order": list(self.prices.order),
        }
        cuts, width = self.prices.cuts, len(columns)
        charges = self.prices.charges
        arrays: dict[str, Any] = {
            "claim": np.frombuffer(json.dumps(claim).encode(), dtype=np.uint8),
            "price": self.prices.price,
            "published": self.published,
            "cut_start": np.cumsum([0, *(len(cut.members) for cut in cuts)]),
            "cut_members": np.concatenate([np.zeros((0, width), np.int64), *(cut.members for cut in cuts)]),
            "cut_most": np.array([cut.most for cut in cuts], dtype=np.int64),
            "cut_price": np.array([cut.price for cut in cuts], dtype=np.int64),
            "charged": np.array([*charges], dtype=np.int64).reshape(-1, width),
            "charge": np.array([*charges.values()], dtype=np.int64).reshape(
                len(charges), -1 if charges else 0
            ),
        }
        with path.open("wb") as file:  # a path without .npz would get it
            np.savez_compressed(file, **arrays)

    @classmethod
    def read(cls, path: Path) -> ProofFile:
        try:
            with np.load(path, allow_pickle=False) as arrays:
                given = {name: arrays[name] for name in arrays.files}
            said = json.loads(given["claim"].tobytes())
            if (said["format"], said["version"]) != (FORMAT, VERSION):
                raise Refused(f"it is no proof of version {VERSION}")
            return cls._of(said, given)
        except (KeyError, ValueError, TypeError, OSError, EOFError, IndexError, AttributeError) as error:
            raise Refused("it is not a complete proof file") from error

    @classmethod
    def _of(cls, said: dict[str, Any], given: dict[str, np.ndarray]) -> ProofFile:
        numbers = {name: array for name, array in given.items() if name != "claim"}
        if any(array.dtype.kind not in "iu" for array in numbers.values()):
            raise Refused("a number of the proof is not whole")
        columns = []
        for column in said["columns"]:
            parent = np.array(column["parents"], dtype=np.int64)
            hidden = np.isin(np.arange(len(parent)), column["hidden"])
            if len(column["labels"]) != len(parent):
                raise Refused("a node has no label")
            columns.append(
                Column(column["name"], Tree(parent, hidden), column["labels"], Fraction(column["weight"]))
            )
        promises = [Kept(**{**kept, "number": Fraction(kept["number"])}) for kept in said["promises"]]
        priced = said["priced"]
        promise = None if priced is None else promises[priced].promise
        starts = numbers["cut_start"].tolist()
        cuts = [
            Cut(numbers["cut_members"][first:after], int(most), int(price))
            for first, after, most, price in zip(
                starts, starts[1:], numbers["cut_most"], numbers["cut_price"]
            )
        ]
        charges = dict(zip(map(tuple, numbers["charged"].tolist()), numbers["charge"]))
        prices = Prices(numbers["price"].astype(np.int64), cuts, promise, charges, tuple(said["order"]))
        claim = Claim(columns, said["cost"], int(said["k"]), int(said["withheld"]))
        return cls(claim, promises, prices, numbers["published"].astype(np.int64), priced)
