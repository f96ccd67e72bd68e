"""Where the original of a release comes from."""

from kohort.publication.origin import DATAFRAME, Origin

__all__ = ["DATAFRAME", "Origin"]
