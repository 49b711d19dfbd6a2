"""Names and passwords of who may look at a board: ``--auth user:hash``.

A hash says how it was made: ``scrypt.COST.SALT.KEY``, with letters, digits, ``-`` and ``_`` only,
so that no shell takes any of it for something else.
"""

from __future__ import annotations

import asyncio
import base64
import getpass
import hashlib
import hmac
import ipaddress
import os
import re
import socket
import time
from collections import OrderedDict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracklight.errors import UsageError
from tracklight.server.responses import create_error_response

#: About 50 ms and 16 MB for each try.
SCRYPT_COST = 1 << 14

_MAX_SCRYPT_COST = 1 << 17

_SCRYPT_BLOCK_SIZE = 8


@dataclass(frozen=True)
class PasswordHash:
    """What is kept of a password: it can be checked, not read."""

    cost: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        return f"scrypt.{self.cost}.{_encode_base64(self.salt)}.{_encode_base64(self.key)}"

    def verify(self, password: str) -> bool:
        return hmac.compare_digest(_derive_key(password, self.salt, self.cost), self.key)


#: Fits no password; who gives a name that nobody has waits as long as for a wrong password.
UNUSABLE_HASH = PasswordHash(SCRYPT_COST, b"nobody", bytes(32))


def hash_password(password: str) -> PasswordHash:
    salt = os.urandom(16)
    return PasswordHash(SCRYPT_COST, salt, _derive_key(password, salt, SCRYPT_COST))


def parse_users(lines: Iterable[str]) -> Mapping[str, PasswordHash]:
    """Users by name, each given as ``user:hash``."""
    return dict(map(_parse_user, lines))


def _parse_user(line: str) -> tuple[str, PasswordHash]:
    name, _, text = line.partition(":")
    try:
        kind, cost, salt, key = text.split(".")
        found = PasswordHash(int(cost), _decode_base64(salt), _decode_base64(key))
    except ValueError:
        kind, found = "", UNUSABLE_HASH
    is_power = found.cost > 1 and found.cost & (found.cost - 1) == 0
    if not name or kind != "scrypt" or not is_power or found.cost > _MAX_SCRYPT_COST:
        raise UsageError(
            "--auth takes user:hash; `tracklight password USER` asks for a password and prints it"
        )
    return name, found


def prompt_password(user: str) -> None:
    """Ask for a password and print what ``--auth`` takes."""
    if not user or ":" in user:
        raise UsageError("a user has a name, without a colon in it")
    password = getpass.getpass(f"Password of {user}: ")
    if not password:
        raise UsageError("an empty password keeps nobody out")
    if getpass.getpass("Once more: ") != password:
        raise UsageError("these are two passwords, not one; try again")
    print(f"{user}:{hash_password(password)}")


def _derive_key(password: str, salt: bytes, cost: int) -> bytes:
    given = password.encode("utf-8", "surrogatepass")
    most_bytes = 256 * _SCRYPT_BLOCK_SIZE * cost
    return hashlib.scrypt(
        given, salt=salt, n=cost, r=_SCRYPT_BLOCK_SIZE, p=1, maxmem=most_bytes, dklen=32
    )


def _encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode_base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


# The secrets that open a server: a token, passwords, and how often one may guess.
#
# The token comes once in an address, as a cookie afterwards, and from programs as a header. A name
# and a password come as a browser sends them when it has asked for both.

AuthResult = Literal["none", "good", "wrong", "often"]

#: Wrong guesses from one address within a minute, after which it has to wait.
MAX_FAILED_ATTEMPTS = 10

_WINDOW_S = 60.0

_MAX_ADDRESSES = 10_000

_MAX_CREDENTIALS_CHARS = 1000


class FailedAttempts:
    """Who guessed wrong lately, and how often."""

    def __init__(self) -> None:
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def add(self, address: str) -> None:
        times = self._times.setdefault(address, deque(maxlen=MAX_FAILED_ATTEMPTS))
        times.append(time.monotonic())
        self._times.move_to_end(address)
        if len(self._times) > _MAX_ADDRESSES:
            self._times.popitem(last=False)

    def is_blocked(self, address: str) -> bool:
        times = self._times.get(address)
        if times is None or len(times) < MAX_FAILED_ATTEMPTS:
            return False
        return time.monotonic() - times[0] < _WINDOW_S


class Authenticator:
    """Tells from a request whether it carries a secret of this server."""

    def __init__(self, tokens: frozenset[str], users: Mapping[str, PasswordHash]) -> None:
        self._cookies = {_make_cookie_name(token): token for token in tokens}
        self._users = users
        self._failed_attempts = FailedAttempts()
        # One password is checked at a time, so that guessing cannot take all cores.
        self._verify_lock = asyncio.Lock()
        self._salt = os.urandom(16)
        self._verified: set[bytes] = set()

    async def authenticate(self, request: Request) -> AuthResult:
        """Whether there is a secret in the request, and what is to be thought of it."""
        if self._has_cookie(request):
            return "good"
        given = _read_tokens(request)
        if not given:
            return "none"
        tokens = self._cookies.values()
        if any(_is_equal(word, token) for word in given for token in tokens):
            return "good"
        return await self._check_credentials(request)

    async def _check_credentials(self, request: Request) -> AuthResult:
        address = request.client.host if request.client else ""
        pair = _read_basic_credentials(request)
        if pair and self._fingerprint(pair) in self._verified:
            return "good"
        if self._failed_attempts.is_blocked(address):
            return "often"
        if pair and self._users and await self._verify_password(*pair):
            self._verified.add(self._fingerprint(pair))
            return "good"
        self._failed_attempts.add(address)
        return "wrong"

    async def _verify_password(self, name: str, password: str) -> bool:
        async with self._verify_lock:
            found = self._users.get(name, UNUSABLE_HASH)
            return await asyncio.to_thread(found.verify, password)

    def _fingerprint(self, pair: tuple[str, str]) -> bytes:
        """What is remembered of a pair that was right: checking it again would take 50 ms."""
        text = "\0".join(pair).encode("utf-8", "surrogatepass")
        return hmac.digest(self._salt, text, "sha256")

    def _has_cookie(self, request: Request) -> bool:
        # Cookies are parsed only where there are any: many requests have none.
        if "cookie" not in request.headers:
            return False
        sent = request.cookies
        return any(_is_equal(sent.get(name, ""), token) for name, token in self._cookies.items())

    def find_token_redirect(self, request: Request) -> Response | None:
        """For a token in the address: the same address without it, and the token as a cookie."""
        given = request.query_params.get("token", "")
        name = next((n for n, token in self._cookies.items() if _is_equal(given, token)), None)
        if name is None or request.method not in ("GET", "HEAD"):
            return None
        answer = RedirectResponse(_remove_token(request), status_code=303)
        # Without a path it is for what lies below this address, as the browser sees that: other
        # servers behind the same proxy do not get it.
        secure = request.url.scheme == "https"
        answer.set_cookie(name, given, path=None, httponly=True, secure=secure, samesite="lax")
        return answer

    def create_refusal(self, result: AuthResult) -> Response:
        """The answer to who has no secret, or not the right one."""
        if result == "often":
            answer = create_error_response(
                429, "too many wrong tokens or passwords came from there"
            )
            answer.headers["retry-after"] = str(int(_WINDOW_S))
            return answer
        if not self._users:
            return create_error_response(403, "this server asks for a token")
        answer = create_error_response(401, "this server asks for a name and a password")
        answer.headers["www-authenticate"] = 'Basic realm="tracklight", charset="UTF-8"'
        return answer


def _read_tokens(request: Request) -> list[str]:
    """What could be a token."""
    header = request.headers.get("authorization", "")
    given = [header.removeprefix("Bearer ")] if header else []
    return given + request.query_params.getlist("token")


def _read_basic_credentials(request: Request) -> tuple[str, str] | None:
    header = request.headers.get("authorization", "")
    if not header.startswith("Basic ") or len(header) > _MAX_CREDENTIALS_CHARS:
        return None
    try:
        text = base64.b64decode(header.removeprefix("Basic "), validate=True).decode()
    except ValueError:
        return None
    name, colon, password = text.partition(":")
    return (name, password) if colon else None


def _remove_token(request: Request) -> str:
    """The same address without the token, relative so that it holds behind a path prefix."""
    rest = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
    leaf = "./" + request.url.path.rpartition("/")[2]
    return f"{leaf}?{urlencode(rest)}" if rest else leaf


def _make_cookie_name(token: str) -> str:
    return "tracklight-" + hashlib.sha256(token.encode()).hexdigest()[:8]


def _is_equal(given: str, token: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), token.encode())


# Who may talk to the server, and what a browser may do with its answers.
#
# A page on the internet can make a browser send requests to localhost. Two checks stop it: the Host
# header must be a name this server goes by (a rebound DNS name is not), and a request that changes or
# computes something must come from our own page. A server bound to other than loopback also asks for
# a token or a password. Who carries one may come by any name: a rebound name cannot carry it, as
# browsers keep secrets by names.

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_WILDCARD = frozenset({"", "0.0.0.0", "::"})

_SAFE_METHODS = frozenset({"GET", "HEAD"})

#: In the scope of a request: whether it may change what is kept.
READ_ONLY_KEY = "tracklight.read_only"

_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "media-src 'self' blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self' vscode-webview: "
)

_SECURITY_HEADERS = {
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}

_HOSTNAME = re.compile(r"[a-z0-9.-]+")


@dataclass(frozen=True)
class AccessPolicy:
    """Names the server answers to (IP addresses are always fine), and what opens it."""

    hostnames: frozenset[str]
    trusted_hosts: frozenset[str] = frozenset()
    """Names of reverse proxies, ``*.`` for all below one: pages from there may send requests though
    our Host differs, and may show the board in a frame."""
    token: str | None = None
    users: Mapping[str, PasswordHash] = field(default_factory=dict)
    proxy_token: str | None = None
    """Lets in who comes by another name; names of our own need nothing."""
    read_only: bool = False

    def is_known_host(self, host: str) -> bool:
        return host in self.hostnames or self.is_trusted_host(host) or _is_ip_address(host)

    def is_trusted_host(self, host: str) -> bool:
        return any(fnmatchcase(host, name) for name in self.trusted_hosts)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token in (self.token, self.proxy_token) if token)


def is_loopback(host: str) -> bool:
    """Whether binding to ``host`` keeps the server on this machine."""
    return host in _LOOPBACK or (_is_ip_address(host) and ipaddress.ip_address(host).is_loopback)


def create_policy(
    host: str,
    trusted_hosts: Iterable[str] = (),
    token: str | None = None,
    users: Mapping[str, PasswordHash] | None = None,
    proxy_token: str | None = None,
    read_only: bool = False,
) -> AccessPolicy:
    """The policy of a server bound to ``host``."""
    names = _LOOPBACK | {host.lower()}
    if host in _WILDCARD:
        names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    proxies = frozenset(name.lower() for name in trusted_hosts)
    return AccessPolicy(names, proxies, token, users or {}, proxy_token, read_only)


class AccessMiddleware:
    """Turns away what the policy does not allow and puts the safety headers on every answer."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy, public_path: str = "") -> None:
        self.app = app
        self.policy = policy
        self._public_path = public_path
        """Where no secret is asked for: whether the server is well is no secret."""
        self._authenticator = Authenticator(policy.tokens, policy.users)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[READ_ONLY_KEY] = self.policy.read_only
        request = Request(scope)
        policy = _CSP + " ".join(_iter_frame_ancestors(request, self.policy))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # What an answer says for itself is stricter.
                headers.setdefault("content-security-policy", policy)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = await self._find_refusal(request)
        await (refusal or self.app)(scope, receive, send_with_headers)

    async def _find_refusal(self, request: Request) -> Response | None:
        """The answer to a request that may not pass."""
        host = request.headers.get("host", "")
        if request.method not in _SAFE_METHODS and not _is_same_origin(request, self.policy):
            origin = request.headers.get("origin", "elsewhere")
            return create_error_response(403, f"a page from {origin} may not send requests here")
        is_known = self.policy.is_known_host(_parse_hostname(host))
        is_open = is_known and self._is_public(request)
        verdict = "none" if is_open else await self._authenticator.authenticate(request)
        if verdict != "good" and not is_open:
            unknown = create_error_response(403, f'this server does not go by the name "{host}"')
            return self._authenticator.create_refusal(verdict) if is_known else unknown
        return self._authenticator.find_token_redirect(request)

    def _is_public(self, request: Request) -> bool:
        is_free = not self.policy.token and not self.policy.users
        return is_free or (
            request.method == "GET" and get_route_path(request.scope) == self._public_path
        )


def get_route_path(scope: Scope) -> str:
    """What was asked for, below the place of the whole application where another one holds it."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _iter_frame_ancestors(request: Request, policy: AccessPolicy) -> Iterable[str]:
    """Who may show the board in a frame: notebooks, from another port of the same machine."""
    name = _parse_hostname(request.headers.get("host", ""))
    for host in sorted({"localhost", "127.0.0.1", name}):
        if _HOSTNAME.fullmatch(host):
            yield from (f"http://{host}:*", f"https://{host}:*")
    yield from (f"https://{proxy}" for proxy in sorted(policy.trusted_hosts))


def _is_same_origin(request: Request, policy: AccessPolicy) -> bool:
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
        return parts.netloc.lower() == host.lower() or policy.is_trusted_host(parts.hostname or "")
    except ValueError:
        return False


def _parse_hostname(host: str) -> str:
    """The name in a Host header: no port, no brackets around an IPv6 address."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
