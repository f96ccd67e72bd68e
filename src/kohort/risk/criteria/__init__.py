"""Singling out, linkability and inference: attacks that are carried out, each with a control group.

The three criteria of the Article 29 Working Party (opinion 05/2014 on anonymisation techniques).
"""

from kohort.risk.criteria.assess import three_criteria

__all__ = ["three_criteria"]
