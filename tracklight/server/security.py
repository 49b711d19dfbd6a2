"""Who may talk to the server, and what a browser may do with its answers.

A page on the internet can make a browser send requests to localhost. Two checks stop it: the Host
header must be a name this server goes by (a rebound DNS name is not), and a request that changes or
computes something must come from our own page. A server bound to other than loopback also asks for
a token or a password. Who carries one may come by any name: a rebound name cannot carry it, as
browsers keep secrets by names.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracklight.server.keys import Keys
from tracklight.server.password import Hash
from tracklight.server.problems import refuse

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_WILDCARD = frozenset({"", "0.0.0.0", "::"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
#: In the scope of a request: whether it may change what is kept.
READ_ONLY = "tracklight.read_only"

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self' vscode-webview: "
)
_HEADERS = {
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_PLAIN_NAME = re.compile(r"[a-z0-9.-]+")


@dataclass(frozen=True)
class Policy:
    """Names the server answers to (IP addresses are always fine), and what opens it."""

    names: frozenset[str]
    trusted: frozenset[str] = frozenset()
    """Names of reverse proxies, ``*.`` for all below one: pages from there may send requests though
    our Host differs, and may show the board in a frame."""
    token: str | None = None
    users: Mapping[str, Hash] = field(default_factory=dict)
    proxy_token: str | None = None
    """Lets in who comes by another name; names of our own need nothing."""
    read_only: bool = False

    def knows(self, host: str) -> bool:
        return host in self.names or self.trusts(host) or _is_address(host)

    def trusts(self, host: str) -> bool:
        return any(fnmatchcase(host, name) for name in self.trusted)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token in (self.token, self.proxy_token) if token)


def is_loopback(host: str) -> bool:
    """Whether binding to ``host`` keeps the server on this machine."""
    return host in _LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def policy_for(
    host: str,
    trusted: Iterable[str] = (),
    token: str | None = None,
    users: Mapping[str, Hash] | None = None,
    proxy_token: str | None = None,
    read_only: bool = False,
) -> Policy:
    """The policy of a server bound to ``host``."""
    names = _LOOPBACK | {host.lower()}
    if host in _WILDCARD:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    proxies = frozenset(name.lower() for name in trusted)
    return Policy(names, proxies, token, users or {}, proxy_token, read_only)


class Guard:
    """Turns away what the policy does not allow and puts the safety headers on every answer."""

    def __init__(self, app: ASGIApp, policy: Policy, open_path: str = "") -> None:
        self.app = app
        self.policy = policy
        self._open_path = open_path
        """Where no secret is asked for: whether the server is well is no secret."""
        self._keys = Keys(policy.tokens, policy.users)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[READ_ONLY] = self.policy.read_only
        request = Request(scope)
        policy = _CSP + " ".join(_iter_frames(request, self.policy))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # What an answer says for itself is stricter.
                headers.setdefault("content-security-policy", policy)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = await self._find_refusal(request)
        await (refusal or self.app)(scope, receive, send_with_headers)

    async def _find_refusal(self, request: Request) -> Response | None:
        """The answer to a request that may not pass."""
        host = request.headers.get("host", "")
        if request.method not in _SAFE_METHODS and not _is_own(request, self.policy):
            origin = request.headers.get("origin", "elsewhere")
            return refuse(403, f"a page from {origin} may not send requests here")
        is_known = self.policy.knows(_hostname(host))
        is_open = is_known and self._is_open(request)
        verdict = "none" if is_open else await self._keys.judge(request)
        if verdict != "good" and not is_open:
            unknown = refuse(403, f'this server does not go by the name "{host}"')
            return self._keys.refuse(verdict) if is_known else unknown
        return self._keys.hand_over(request)

    def _is_open(self, request: Request) -> bool:
        is_free = not self.policy.token and not self.policy.users
        return is_free or (request.method == "GET" and find_path(request.scope) == self._open_path)


def find_path(scope: Scope) -> str:
    """What was asked for, below the place of the whole application where another one holds it."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _iter_frames(request: Request, policy: Policy) -> Iterable[str]:
    """Who may show the board in a frame: notebooks, from another port of the same machine."""
    name = _hostname(request.headers.get("host", ""))
    for host in sorted({"localhost", "127.0.0.1", name}):
        if _PLAIN_NAME.fullmatch(host):
            yield from (f"http://{host}:*", f"https://{host}:*")
    yield from (f"https://{proxy}" for proxy in sorted(policy.trusted))


def _is_own(request: Request, policy: Policy) -> bool:
    """Whether a request comes from our page, or from a program, which says nothing of pages.

    A browser says where a request comes from, unless our address is plain http, for which names are
    compared; scripts can change neither header.
    """
    site = request.headers.get("sec-fetch-site", "none")
    origin = request.headers.get("origin")
    if site == "same-origin" or (origin is None and site == "none"):
        return True
    try:
        parts = urlsplit(origin or "")
        host = request.headers.get("host", "")
        return parts.netloc.lower() == host.lower() or policy.trusts(parts.hostname or "")
    except ValueError:
        return False


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
