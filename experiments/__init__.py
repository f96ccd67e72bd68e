"""Experiments that redo the figures of papers, or show what guarantees are worth on real tables."""
