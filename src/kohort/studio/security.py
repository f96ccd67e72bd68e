"""Who may talk to the studio: the right Host, the right Origin, and a token, a cookie or a password.

A page of another site can make a browser send requests here, and a name of another site can be made to point
here (DNS rebinding). So every request must name a Host that the studio serves, every request that changes
something must come from a page of the studio, and all of them need the cookie that the first address gave.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import sys
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_SAFE_METHODS = ("GET", "HEAD")
_AFTER_WRONG = 1.0  # seconds before a wrong password is refused
_FREE = ("/static/", "/login")  # what may be fetched before one is known

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Access:
    """How one gets in.

    hosts     the names and ports by which the studio may be called
    secure    whether it is served over TLS
    password  needed instead of the token, where others can reach the studio
    """

    hosts: frozenset[str]
    port: int
    secure: bool = False
    password: str | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    used: list[str] = field(default_factory=list)

    @property
    def cookie_name(self) -> str:
        return f"kohort_studio_{self.port}"  # cookies do not tell ports apart

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"{'https' if self.secure else 'http'}://{host}" for host in self.hosts)

    def let_in(self, response: Response) -> Response:
        response.set_cookie(
            self.cookie_name, self.cookie, httponly=True, samesite="strict", secure=self.secure, path="/"
        )
        return response

    def has_cookie(self, headers: Headers) -> bool:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self.cookie_name)
        except CookieError:
            return False
        return found is not None and _same(found.value, self.cookie)

    def takes_token(self, query: bytes) -> bool:
        """Whether the address has the token, which lets one browser in: then it is used up."""
        given = parse_qs(query.decode("latin-1")).get("token", [""])[0]
        right = self.password is None and not self.used and _same(given, self.token)
        if right:
            self.used.append(given)
        return right

    async def is_password(self, given: str) -> bool:
        """Whether this is the password; a wrong one costs time."""
        if self.password is not None and _same(given, self.password):
            return True
        await asyncio.sleep(_AFTER_WRONG)
        return False


def _same(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode(), other.encode())


class Guard:
    """Refuses requests of others, and adds the headers that keep a browser strict."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_strictly(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (self.app if refusal is None else refusal)(scope, receive, send_strictly)

    def _refusal(self, scope: Scope) -> Response | None:
        """The response to a request that goes no further; None if it may."""
        headers = Headers(scope=scope)
        if headers.get("host", "") not in self.access.hosts:
            return PlainTextResponse("Refused: the studio is not called by this name.", 421)
        if scope["method"] not in _SAFE_METHODS and headers.get("origin") not in self.access.origins:
            return PlainTextResponse("Refused: this request does not come from a page of the studio.", 403)
        if headers.get("origin", next(iter(self.access.origins))) not in self.access.origins:
            return PlainTextResponse("Refused: this request comes from another site.", 403)
        if self.access.has_cookie(headers) or scope["path"].startswith(_FREE):
            return None
        if scope["path"] == "/" and self.access.takes_token(scope["query_string"]):
            return self.access.let_in(RedirectResponse("/", 303))
        if self.access.password is not None:
            return RedirectResponse("/login", 303)
        return PlainTextResponse(
            "Refused: open the studio by the whole address that it printed in the terminal, with its token. "
            "It lets one browser in; for another one, start the studio again.",
            403,
        )


class HidingErrors:
    """Turns an unexpected error into a plain page: its text, which may hold a cell, reaches no log."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def send_watched(message: Message) -> None:
            nonlocal begun
            begun = begun or message["type"] == "http.response.start"
            await send(message)

        try:
            await self.app(scope, receive, send_watched)
        except Exception as error:
            where = error.__traceback__
            while where is not None and where.tb_next is not None:
                where = where.tb_next
            place = "" if where is None else f" at {where.tb_frame.f_code.co_name}, line {where.tb_lineno}"
            sys.stderr.write(f"kohort studio: a bug ({type(error).__name__}{place}). Please report it.\n")
            if scope["type"] == "http" and not begun:
                words = f"This is a bug in Kohort ({type(error).__name__}). Your choices are kept: go back."
                await PlainTextResponse(words, 500)(scope, receive, send)
