"""Searches for the best recoding of whole columns under a generalization scheme."""
