"""Results that hold the original table: free to be used and copied in memory, never pickled."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, TypeVar

from kohort.errors import UnsupportedError

Self = TypeVar("Self", bound="HoldsOriginal")


class HoldsOriginal:
    """A base class whose objects refuse to be pickled.

    A pickle is a file that is passed on as what it is called, here a release, while the whole original is in
    it. pickle, joblib, dill, cloudpickle and multiprocessing all ask `__reduce_ex__`, and so would copying,
    which never leaves the process.
    """

    _instead = "Pickle the published table instead."

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise UnsupportedError(
            f"This {type(self).__name__} holds the original table, which a pickle would give away. "
            f"{self._instead}"
        )

    def __copy__(self: Self) -> Self:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self: Self, memo: dict[int, Any]) -> Self:
        made = object.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(deepcopy(self.__dict__, memo))
        return made
