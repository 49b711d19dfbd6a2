"""The secrets that open a server: a token, passwords, and how often one may guess.

The token comes once in an address, as a cookie afterwards, and from programs as a header. A name
and a password come as a browser sends them when it has asked for both.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import os
import time
from collections import OrderedDict, deque
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from tracklight.server.password import NOBODY, Hash
from tracklight.server.problems import refuse

Verdict = Literal["none", "good", "wrong", "often"]

#: Wrong guesses from one address within a minute, after which it has to wait.
MOST_GUESSES = 10
_WINDOW_S = 60.0
_MOST_ADDRESSES = 10_000
_MOST_CREDENTIALS_CHARACTERS = 1000


class Guesses:
    """Who guessed wrong lately, and how often."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, address: str) -> None:
        times = self._times.setdefault(address, deque(maxlen=MOST_GUESSES))
        times.append(time.monotonic())
        self._times.move_to_end(address)
        if len(self._times) > _MOST_ADDRESSES:
            self._times.popitem(last=False)

    def are_too_many(self, address: str) -> bool:
        times = self._times.get(address)
        if times is None or len(times) < MOST_GUESSES:
            return False
        return time.monotonic() - times[0] < _WINDOW_S


class Keys:
    """Tells from a request whether it carries a secret of this server."""

    def __init__(self, tokens: frozenset[str], users: Mapping[str, Hash]) -> None:
        self._cookies = {_name_cookie(token): token for token in tokens}
        self._users = users
        self._guesses = Guesses()
        # One password is checked at a time, so that guessing cannot take all cores.
        self._turn = asyncio.Lock()
        self._salt = os.urandom(16)
        self._known: set[bytes] = set()

    async def judge(self, request: Request) -> Verdict:
        """Whether there is a secret in the request, and what is to be thought of it."""
        if self._has_cookie(request):
            return "good"
        given = _read_secrets(request)
        if not given:
            return "none"
        tokens = self._cookies.values()
        if any(_same(word, token) for word in given for token in tokens):
            return "good"
        return await self._judge_pair(request)

    async def _judge_pair(self, request: Request) -> Verdict:
        address = request.client.host if request.client else ""
        pair = _read_pair(request)
        if pair and self._fingerprint(pair) in self._known:
            return "good"
        if self._guesses.are_too_many(address):
            return "often"
        if pair and self._users and await self._fits(*pair):
            self._known.add(self._fingerprint(pair))
            return "good"
        self._guesses.add(address)
        return "wrong"

    async def _fits(self, name: str, password: str) -> bool:
        async with self._turn:
            found = self._users.get(name, NOBODY)
            return await asyncio.to_thread(found.fits, password)

    def _fingerprint(self, pair: tuple[str, str]) -> bytes:
        """What is remembered of a pair that was right: checking it again would take 50 ms."""
        text = "\0".join(pair).encode("utf-8", "surrogatepass")
        return hmac.digest(self._salt, text, "sha256")

    def _has_cookie(self, request: Request) -> bool:
        # Cookies are parsed only where there are any: many requests have none.
        if "cookie" not in request.headers:
            return False
        sent = request.cookies
        return any(_same(sent.get(name, ""), token) for name, token in self._cookies.items())

    def hand_over(self, request: Request) -> Response | None:
        """For a token in the address: the same address without it, and the token as a cookie."""
        given = request.query_params.get("token", "")
        name = next((n for n, token in self._cookies.items() if _same(given, token)), None)
        if name is None or request.method not in ("GET", "HEAD"):
            return None
        answer = RedirectResponse(_without_token(request), status_code=303)
        # Without a path it is for what lies below this address, as the browser sees that: other
        # servers behind the same proxy do not get it.
        secure = request.url.scheme == "https"
        answer.set_cookie(name, given, path=None, httponly=True, secure=secure, samesite="lax")
        return answer

    def refuse(self, verdict: Verdict) -> Response:
        """The answer to who has no secret, or not the right one."""
        if verdict == "often":
            answer = refuse(429, "too many wrong tokens or passwords came from there")
            answer.headers["retry-after"] = str(int(_WINDOW_S))
            return answer
        if not self._users:
            return refuse(403, "this server asks for a token")
        answer = refuse(401, "this server asks for a name and a password")
        answer.headers["www-authenticate"] = 'Basic realm="tracklight", charset="UTF-8"'
        return answer


def _read_secrets(request: Request) -> list[str]:
    """What could be a token."""
    header = request.headers.get("authorization", "")
    given = [header.removeprefix("Bearer ")] if header else []
    return given + request.query_params.getlist("token")


def _read_pair(request: Request) -> tuple[str, str] | None:
    header = request.headers.get("authorization", "")
    if not header.startswith("Basic ") or len(header) > _MOST_CREDENTIALS_CHARACTERS:
        return None
    try:
        text = base64.b64decode(header.removeprefix("Basic "), validate=True).decode()
    except ValueError:
        return None
    name, colon, password = text.partition(":")
    return (name, password) if colon else None


def _without_token(request: Request) -> str:
    """The same address without the token, relative so that it holds behind a path prefix."""
    rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
    leaf = "./" + request.url.path.rpartition("/")[2]
    return f"{leaf}?{urlencode(rest)}" if rest else leaf


def _name_cookie(token: str) -> str:
    return "tracklight-" + hashlib.sha256(token.encode()).hexdigest()[:8]


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())
