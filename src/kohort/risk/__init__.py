"""How likely a person is found, or something about a person is learnt, before and after."""

from kohort.risk.assess import assess_risk
from kohort.risk.together import attack_ledger

__all__ = ["assess_risk", "attack_ledger"]
