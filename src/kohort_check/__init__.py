"""Checks a proof that no release of a table can cost less than a bound, in whole numbers, without tolerances.

Written to be read: every rule stands below the lemma that it rests on, and nothing here knows how the proof
was found. Needs Python and NumPy. `closed` has the main idea; `groups` the rules, `cuts` and `costs` what
these use, `bound` puts all of it together. `release` judges the published table, `file` reads the
proof. `kohort-check PROOF ORIGINAL.csv RELEASE.csv` does all of it.
"""

from kohort_check.bound import Claim, Column, Prices, Promise
from kohort_check.closed import Tree
from kohort_check.costs import COSTS, UNIT
from kohort_check.cuts import Cut
from kohort_check.groups import Refused
from kohort_check.release import Kept

__all__ = ["COSTS", "UNIT", "Claim", "Column", "Cut", "Kept", "Prices", "Promise", "Refused", "Tree"]
