"""Who may talk to the server, and what a browser may do with its answers.

A page on the internet can make a browser send requests to localhost. Two checks stop it: the Host
header must be a name this server goes by (a rebound DNS name is not), and a request that changes or
computes something must come from our own page. A server bound to other than loopback also asks for
a token, which its own link carries once and a cookie afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracklight.server.problems import refuse

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARD = frozenset({"", "0.0.0.0", "::"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})

# Notebooks show the board in a frame, and they are served from another port of the same machine.
_FRAMES = "'self' http://localhost:* http://127.0.0.1:*"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
        "media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
        f"base-uri 'none'; form-action 'none'; frame-ancestors {_FRAMES}"
    ),
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


@dataclass(frozen=True)
class Policy:
    """Names the server answers to (IP addresses are always fine), and its token if it has one."""

    names: frozenset[str]
    trusted: frozenset[str] = frozenset()
    """Names of reverse proxies: pages from there may send requests though our Host differs."""
    token: str | None = None

    def knows(self, host: str) -> bool:
        return host in self.names or host in self.trusted or _is_address(host)


def is_loopback(host: str) -> bool:
    """Whether binding to ``host`` keeps the server on this machine."""
    return host in _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def policy_for(host: str, trusted: Iterable[str] = (), token: str | None = None) -> Policy:
    """The policy of a server bound to ``host``."""
    names = _LOOPBACK | {host.lower()}
    if host in _WILDCARD:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    return Policy(names, frozenset(name.lower() for name in trusted), token)


class Guard:
    """Turns away what the policy does not allow and puts the safety headers on every answer."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    # What an answer says for itself is stricter.
                    headers.setdefault(name, value)
            await send(message)

        refusal = find_refusal(Request(scope), self.policy)
        await (refusal or self.app)(scope, receive, send_with_headers)


def find_refusal(request: Request, policy: Policy) -> Response | None:
    """The answer to a request that may not pass."""
    host = request.headers.get("host", "")
    if not policy.knows(_hostname(host)):
        return refuse(403, f'this server does not go by the name "{host}"')
    origin = request.headers.get("origin")
    if origin and request.method not in _SAFE_METHODS and not _is_own(origin, host, policy):
        return refuse(403, f"a page from {origin} may not send requests here")
    return _find_token_refusal(request, policy.token)


def _find_token_refusal(request: Request, token: str | None) -> Response | None:
    if token is None:
        return None
    cookie = "tracklight-" + hashlib.sha256(token.encode()).hexdigest()[:8]
    bearer = request.headers.get("authorization", "").removeprefix("Bearer ")
    if _same(request.cookies.get(cookie, ""), token) or _same(bearer, token):
        return None
    if not _same(request.query_params.get("token", ""), token):
        return refuse(403, "this server asks for a token")
    answer = RedirectResponse(_without_token(request), status_code=303)
    answer.set_cookie(cookie, token, httponly=True, samesite="lax")
    return answer


def _without_token(request: Request) -> str:
    """The same address without the token, relative so that it holds behind a path prefix."""
    rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
    leaf = request.url.path.rpartition("/")[2] or "."
    return f"{leaf}?{urlencode(rest)}" if rest else leaf


def _is_own(origin: str, host: str, policy: Policy) -> bool:
    parts = urlsplit(origin)
    return parts.netloc.lower() == host.lower() or (parts.hostname or "") in policy.trusted


def _hostname(host: str) -> str:
    """The name in a Host header: no port, no brackets around an IPv6 address."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _same(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode(), token.encode())
