"""A release as users hold it: judged, shown and written, all of its files at once or none."""

from kohort.publication.origin import DATAFRAME, Origin
from kohort.publication.release import Release, release_of

__all__ = ["DATAFRAME", "Origin", "Release", "release_of"]
