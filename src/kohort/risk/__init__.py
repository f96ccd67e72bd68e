"""How likely somebody is found, or something about somebody is learnt, before and after."""

from kohort.risk.assess import assess_risk

__all__ = ["assess_risk"]
