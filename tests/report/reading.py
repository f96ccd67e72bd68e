"""A page read back: its elements, checked to be nested as they should, and the figures on it."""

import json
from html.parser import HTMLParser

VOID = {"meta", "br", "img", "hr", "input", "link"}


class Page(HTMLParser):
    """Tags, texts and figures of a page; tags that do not match are refused."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.texts, self.figures, self.attributes = [], [], [], {}, []
        self._figure = None
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append(dict(attributes))
        if tag not in VOID:
            self.open.append(tag)
        if "data-fact" in dict(attributes):
            self._figure = dict(attributes)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes.append(dict(attributes))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        self._figure = None

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)
        if self._figure:
            self.figures[self._figure["data-fact"]] = (json.loads(self._figure["data-value"]), data)

    @property
    def text(self):
        return " ".join(self.texts)


def fact(facts, path):
    """`models.0.asked` in nested facts."""
    for word in path.split("."):
        facts = facts[int(word)] if isinstance(facts, list) else facts[word]
    return facts
