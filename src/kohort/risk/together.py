"""The attack on several releases of the same people: intersect, subtract and follow what they show.

Three adversaries have all files, everybody's quasi-identifiers, and know who was in the table when:

- by values: takes sensitive values to last, and intersects the values of a person's classes
- by subtraction: looks for a class whose people are all in one class of the next or the last release; the
  others of that class are what is left
- by following: can tell which records of different releases stand in the same place
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from kohort.data.counting import distinct_rows
from kohort.data.ledger import NOBODY, NOWHERE, Ledger, LedgerEntry
from kohort.errors import counted, percent

_UNKNOWN = -2  # in place of a counterfeit's class in another release


def attack_ledger(ledger: Ledger) -> dict[str, Any]:
    """Who is left with how many candidates, and with which certainty about sensitive values."""
    k = max((model["k"] for model in ledger.entries[-1].facts["models"] if "k" in model), default=1)
    candidates = {
        "by_values": _by_values(ledger),
        "by_subtraction": _by_subtraction(ledger),
        "by_following": _by_following(ledger),
    }
    attacks = {name: _figures(*found, k) for name, found in candidates.items()}
    return {
        "kohort": "risk of releases together",
        "releases": len(ledger.entries),
        "people": len(ledger.people),
        "again": ledger.entries[-1].facts["again"],
        "k": k,
        "attacks": attacks,
        "sentences": [_sentence(name, figures, k) for name, figures in attacks.items()],
    }


def _figures(candidates: np.ndarray, certainty: np.ndarray, k: int) -> dict[str, Any]:
    """The figures of an attack; candidates are 0 for people about whom it learns nothing."""
    found = candidates[candidates > 0]
    sure = certainty[candidates > 0]
    return {
        "fewest": int(found.min()) if len(found) else None,
        "below_k": int((found < k).sum()),
        "alone": int((found == 1).sum()),
        "certain": int((sure >= 1).sum()),
        "highest_certainty": float(sure.max()) if len(sure) else None,
        "hit_rate": float((1 / found).mean()) if len(found) else None,
    }


_WORDS = {
    "by_values": "Intersecting the sensitive values of their classes",
    "by_subtraction": "Subtracting classes of two releases",
    "by_following": "Following records from release to release",
}


def _sentence(name: str, figures: dict[str, Any], k: int) -> str:
    if figures["fewest"] is None:
        return f"{_WORDS[name]} tells nothing about anybody."
    sure = figures["highest_certainty"]
    return (
        f"{_WORDS[name]} leaves {counted(figures['below_k'], 'person', 'people')} with fewer than k = {k} "
        f"candidates, {figures['alone']:,} of them alone; the fewest is {figures['fewest']:,}. A sensitive "
        f"value is certain for {counted(figures['certain'], 'person', 'people')}, and nobody's is more "
        f"certain than {percent(sure)}. Who picks one of the candidates finds {percent(figures['hit_rate'])}."
    )


# -- by following ------------------------------------------------------------------------------------


def _by_following(ledger: Ledger) -> tuple[np.ndarray, np.ndarray]:
    """Per person the places with the same track, and the largest share of a value among them.

    Where nobody has a place, as with m-invariance, the records of a person are followed.
    """
    has_places = ledger.entries[-1].facts["again"] != "m-invariance"
    if has_places:
        cell = ledger.cell_of_place
    else:
        tracks = np.full((len(ledger.people), len(ledger.entries)), NOWHERE, dtype=np.int64)
        for number, entry in enumerate(entry.of_people for entry in ledger.entries):
            tracks[entry.person, number] = entry.class_of
        cell = distinct_rows(tracks - NOWHERE)[2].astype(np.int64)
    sizes = np.bincount(cell)
    certainty = np.zeros(len(sizes))
    for entry in ledger.entries:
        seen = entry.of_people  # who follows records follows those of people
        followed = cell[seen.place if has_places else seen.person]
        np.maximum.at(certainty, *_largest_shares(followed, _kinds(seen)))
    of_person = cell[ledger.place_of_person] if has_places else cell
    return sizes[of_person], certainty[of_person]


def _largest_shares(group: np.ndarray, kind: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The groups that occur, and the share of the most frequent kind in each."""
    width = int(kind.max(initial=0)) + 1
    pairs, times = np.unique(group * width + kind, return_counts=True)
    groups, first = np.unique(pairs // width, return_index=True)
    largest = np.maximum.reduceat(times, first)
    return groups, largest / np.add.reduceat(times, first)


def _kinds(entry: LedgerEntry) -> np.ndarray:
    """One number for the sensitive values of each record; all alike where there are none."""
    if not entry.value.shape[1]:
        return np.arange(len(entry.place))
    return distinct_rows(entry.value)[2].astype(np.int64)


# -- by subtraction ----------------------------------------------------------------------------------


def _by_subtraction(ledger: Ledger) -> tuple[np.ndarray, np.ndarray]:
    """Per person the records that are left of a class once those of whole other classes are subtracted."""
    candidates = np.zeros(len(ledger.people), dtype=np.int64)
    certainty = np.zeros(len(ledger.people))
    for one, other in zip(ledger.entries, ledger.entries[1:]):
        for entry, beside in ((one, other), (other, one)):
            _subtract(entry, beside, candidates, certainty)
    return candidates, certainty


def _subtract(entry: LedgerEntry, beside: LedgerEntry, candidates: np.ndarray, certainty: np.ndarray) -> None:
    """Subtract the classes beside that lie within a class of the entry: the others' records are left.

    A class with counterfeits is not subtracted, as nobody sees which of its records are people's.
    """
    class_of = np.full(len(candidates), NOWHERE)
    class_of[entry.of_people.person] = entry.of_people.class_of
    inside = np.where(beside.person == NOBODY, _UNKNOWN, class_of[beside.person])
    pairs = np.unique(np.column_stack([beside.class_of, inside]), axis=0)
    whole = pairs[np.bincount(pairs[:, 0])[pairs[:, 0]] == 1]  # all of the class are in one class, or in none
    whole = whole[(whole[:, 1] != NOWHERE) & (whole[:, 1] != _UNKNOWN)]
    is_whole = np.zeros(beside.n_classes, dtype=bool)
    is_whole[whole[:, 0]] = True
    subtracted = np.zeros(len(candidates), dtype=bool)
    subtracted[beside.person[is_whole[beside.class_of]]] = True
    left = (entry.person == NOBODY) | ~subtracted[entry.person]
    left &= np.isin(entry.class_of, whole[:, 1])
    if not left.any():
        return
    kind = _kinds(entry)
    cell = entry.class_of.astype(np.int64) * (int(kind.max()) + 1) + kind
    alike = np.isin(cell, np.unique(cell[left]))  # any record with a value that is left may be meant
    size = np.bincount(entry.class_of[alike], minlength=entry.n_classes)[entry.class_of[left]]
    share = np.zeros(entry.n_classes)
    groups, largest = _largest_shares(entry.class_of[left].astype(np.int64), kind[left])
    share[groups] = largest
    somebody = entry.person[left] != NOBODY
    people, size, share = entry.person[left][somebody], size[somebody], share[entry.class_of[left]][somebody]
    known = candidates[people]
    candidates[people] = np.where(known > 0, np.minimum(known, size), size)
    certainty[people] = np.maximum(certainty[people], share)


# -- by values ---------------------------------------------------------------------------------------


def _by_values(ledger: Ledger) -> tuple[np.ndarray, np.ndarray]:
    """Per person the records of a class whose values occur in all of their classes.

    Nothing is said of people whose values changed: whoever takes them to last is misled.
    """
    candidates = np.zeros(len(ledger.people), dtype=np.int64)
    certainty = np.zeros(len(ledger.people))
    if not ledger.entries[0].value.shape[1]:
        return candidates, certainty
    kinds = np.split(
        distinct_rows(np.concatenate([entry.value for entry in ledger.entries]))[2],
        np.cumsum([len(entry.place) for entry in ledger.entries])[:-1],
    )
    tracks = np.full((len(ledger.people), len(ledger.entries)), NOWHERE, dtype=np.int64)
    own = np.full(len(ledger.people), NOWHERE, dtype=np.int64)
    changed = np.zeros(len(ledger.people), dtype=bool)
    shown = []
    for number, (entry, kind) in enumerate(zip(ledger.entries, kinds)):
        somebody = entry.person != NOBODY
        people, has = entry.person[somebody], kind[somebody]
        tracks[people, number] = _told(entry)[somebody]
        changed[people] |= (own[people] != NOWHERE) & (own[people] != has)
        own[people] = has
        shown.append(_values_of_classes(entry, kind))
    rows, _, track_of = distinct_rows(tracks - NOWHERE)  # which takes numbers from 0 on
    left = [_left_of_track(track, shown) for track in (rows + NOWHERE).tolist()]
    fewest, sure = np.array([n for n, _ in left]), np.array([share for _, share in left])
    there = ~changed
    candidates[there], certainty[there] = fewest[track_of[there]], sure[track_of[there]]
    return candidates, certainty


def _told(entry: LedgerEntry) -> np.ndarray:
    """The class of each record; with m-invariance the group, which the adversary is told, too."""
    return (entry.place if entry.facts["again"] == "m-invariance" else entry.class_of).astype(np.int64)


def _values_of_classes(entry: LedgerEntry, kind: np.ndarray) -> list[Counter]:
    """How often each kind of values occurs in each class."""
    class_of = _told(entry)
    found: list[Counter] = [Counter() for _ in range(int(class_of.max()) + 1)]
    for number, value in zip(class_of.tolist(), kind.tolist()):
        found[number][value] += 1
    return found


def _left_of_track(track: list[int], shown: list[list[Counter]]) -> tuple[int, float]:
    """The fewest records that are left in a class of the track, and the largest share of a value among them.

    Where two classes leave as few, the one that tells more.
    """
    classes = [shown[number][place] for number, place in enumerate(track) if place != NOWHERE]
    common = set.intersection(*(set(values) for values in classes)) if classes else set()
    if not common:
        return 0, 0.0
    left = [[values[kind] for kind in common] for values in classes]
    fewest = min(map(sum, left))
    return fewest, max(max(times) / fewest for times in left if sum(times) == fewest)
