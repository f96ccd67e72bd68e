"""The steps of the job, from a table and a request to a verified table."""

from kohort.pipeline.events import Events
from kohort.pipeline.items import Items
from kohort.pipeline.request import Request

__all__ = ["Events", "Items", "Request"]
