"""The whole job, from a table and a request to a verified release."""

from kohort.pipeline.job import make_release
from kohort.pipeline.release import VerifiedRelease
from kohort.pipeline.request import Items, Request

__all__ = ["Items", "Request", "VerifiedRelease", "make_release"]
