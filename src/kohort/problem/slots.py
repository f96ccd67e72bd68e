"""Slots: the copies of distinct rows, side by side in the order of the rows; and how records are grouped."""

from __future__ import annotations

import numpy as np


def first_slots(counts: np.ndarray) -> np.ndarray:
    """The first slot of each distinct row, and one more entry: the number of slots.

    counts  per row: how many copies it has
    """
    return np.concatenate([[0], np.cumsum(counts)])


def groups_from_slots(row_of_record: np.ndarray, group_of_slot: np.ndarray) -> np.ndarray:
    """The group of each record, numbered from 0, given the group of each slot."""
    slots = np.argsort(row_of_record, kind="stable")
    _, dense = np.unique(group_of_slot, return_inverse=True)
    groups = np.empty(len(slots), dtype=np.int32)
    groups[slots] = dense
    return groups


def groups_from_pieces(
    row_of_record: np.ndarray, row: np.ndarray, copies: np.ndarray, group: np.ndarray
) -> np.ndarray:
    """The group of each record, numbered from 0, given pieces.

    Piece i says that copies[i] records of row[i] are in group[i].
    """
    by_row = np.argsort(row, kind="stable")
    return groups_from_slots(row_of_record, np.repeat(group[by_row], copies[by_row]))
