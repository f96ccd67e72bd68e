"""Groups of newcomers: of few signatures, so that many people have each, and of those that cost least.

The more signatures there are, the nearer to each other are the people of a group, and the fewer have the same
signature: when some leave, there are few to be put together anew, and more have to wait. So a signature is to
have the people of ten groups; which ones there are is chosen by what costs least without that limit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kohort.algorithms.again.buckets import Signature
from kohort.algorithms.again.joining import cost_of, enlarged
from kohort.algorithms.again.priced_groups import priced_groups
from kohort.algorithms.run import Run
from kohort.problem.encoding.coded import Coded

Groups = list[np.ndarray]
_GROUPS_EACH = 10  # groups of a signature


@dataclass(frozen=True, eq=False)
class Grouping:
    """Puts people into groups of m values or more, at least k people in each.

    kinds  the value of each record
    """

    coded: Coded
    kinds: np.ndarray
    k: int
    run: Run
    seed: int

    def newcomers(
        self, people: np.ndarray, m: int, known: Collection[Signature]
    ) -> tuple[Groups, np.ndarray]:
        """Groups of newcomers, and who is left.

        known  the signatures of those who stayed: newcomers get these, as far as they fit
        """
        anyhow, left = self._priced(people, m)
        family = {signature for signature in known if len(signature) == m}
        used = Counter(self.signature(group) for group in anyhow)
        most = len(people) // (_GROUPS_EACH * m * self.of_each(m))
        if len(used) <= max(most, 1):
            return anyhow, left
        family |= {signature for signature, _ in used.most_common(max(most - len(family), 0))}
        for signature, _ in used.most_common():  # and every value in one of them
            if not set(signature) <= {value for other in family for value in other}:
                family.add(signature)
        chosen, left = self._priced(people, m, family)
        others, left = self._priced(left, m)
        return [*chosen, *others], left

    def regrouped(self, groups: Groups) -> Groups:
        """The same people in other groups of the same signature, where that costs less."""
        places: dict[Signature, list[int]] = {}
        for place, group in enumerate(groups):
            places.setdefault(self.signature(group), []).append(place)
        found: Groups = []
        for signature in sorted(places):
            before = [groups[place] for place in places[signature]]
            found += before if len(before) == 1 else self._cheaper(before, len(signature))
        return found

    def _cheaper(self, before: Groups, m: int) -> Groups:
        people = np.concatenate(before)
        after, left = self._priced(people, m)
        after = enlarged(self.coded, self.kinds, after, left)
        complete = sum(map(len, after)) == len(people)
        return after if complete and cost_of(self.coded, after) < cost_of(self.coded, before) else before

    def signature(self, group: np.ndarray) -> Signature:
        """The values in a group."""
        return tuple(np.unique(self.kinds[group]).tolist())

    def of_each(self, m: int) -> int:
        """How many people of each of m values a group needs."""
        return max(1, -(-self.k // m))

    def _priced(
        self, people: np.ndarray, m: int, family: Collection[Signature] = ()
    ) -> tuple[Groups, np.ndarray]:
        shape = (m, self.of_each(m))
        return priced_groups(
            self.coded, people, self.kinds[people], shape, self.run, self.seed, sorted(family)
        )
