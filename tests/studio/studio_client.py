"""A studio without a browser: the app itself, called as a browser would call it."""

import csv
import random
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("starlette", reason="the studio's packages are not installed")
pytest.importorskip("sse_starlette", reason="the studio's packages are not installed")
pytest.importorskip("python_multipart", reason="the studio's packages are not installed")
pytest.importorskip("httpx2", reason="httpx2, which calls the app, is not installed")

from starlette.testclient import TestClient

from kohort.studio.app import Options, make_app
from kohort.studio.security import Access

HOST = "127.0.0.1:8000"
ORIGIN = f"http://{HOST}"
TOWNS = ("Ayr", "Bath", "Cork", "Deal")
ILLNESSES = ("flu", "cold", "cough")


def write_people(path, records=200, *, hard=False, seed=3):
    """A small table of people, with a person column that some share."""
    rng = random.Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["patient", "age", "sex", "town", "illness", *(["height"] if hard else [])])
        for number in range(records):
            person = [number // 2, rng.randint(20, 79), rng.choice("fm"), rng.choice(TOWNS)]
            height = [rng.randint(140, 199)] if hard else []  # one more column that tells people apart
            writer.writerow([*person, rng.choice(ILLNESSES), *height])
    return path


class Browser:
    """Calls the app with the cookie and the origin that a page of the studio has."""

    def __init__(self, client, access):
        self.client, self.access = client, access
        client.cookies.set(access.cookie_name, access.cookie)
        self.base = self.new_session()

    def new_session(self):
        answer = self.client.get("/", follow_redirects=False)
        assert answer.status_code == 303
        return answer.headers["location"].rsplit("/", 1)[0]

    def get(self, page, **options):
        return self.client.get(f"{self.base}/{page}", **options)

    def json(self, page):
        answer = self.get(f"{page}.json")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def post(self, page, data=None, **options):
        headers = {"Origin": ORIGIN, **options.pop("headers", {})}
        return self.client.post(f"{self.base}/{page}", data=data, headers=headers, **options)

    def open(self, path):
        self.post("data/open", {"path": str(path)})
        return self.opened()

    def opened(self):
        """Wait until the table is open; the facts of the page, or the reason why it is not."""
        for _ in range(300):
            facts = self.json("data")
            if facts["opening"] is None or facts["opening"]["error"]:
                return facts
            time.sleep(0.1)
        raise AssertionError("the table was not opened in time")

    def ended(self):
        """Wait until no run is going on; the latest."""
        for _ in range(600):
            facts = self.json("run")
            if not facts["running"]:
                return facts["latest"]
            time.sleep(0.1)
        raise AssertionError("the run did not end in time")


@contextmanager
def studio(folder, **options):
    """A browser on a studio whose private folder is `folder`."""
    access = Access(frozenset({HOST}), 8000, **{k: options.pop(k) for k in ("password",) if k in options})
    app = make_app(access, Options(folder, **options))
    with TestClient(app, base_url=ORIGIN) as client:
        yield Browser(client, access)
