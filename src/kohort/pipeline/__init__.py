"""The whole job, from a table and a request to a verified release."""

from kohort.pipeline.events import Events
from kohort.pipeline.items import Items
from kohort.pipeline.job import make_release
from kohort.pipeline.release import VerifiedRelease
from kohort.pipeline.request import Request

__all__ = ["Events", "Items", "Request", "VerifiedRelease", "make_release"]
