"""Who may send requests to the server, and what browsers may do with its responses.

A page on the internet can make a browser send requests to localhost. Two checks prevent that: the
Host header must be a name of this server (which a rebound DNS name is not), and a request that
changes or computes something must come from our own page. A server that listens on more than
loopback also requires a token or a password. A client that sends one may use any host name:
browsers store credentials by name, so a rebound name cannot send them.

A token is sent once in the URL, then as a cookie, and by programs in a header. Users and passwords
are sent with HTTP Basic authentication. Passwords are given to the server as hashes of the form
``scrypt.COST.SALT.KEY``, in letters, digits, ``-`` and ``_``, so that no shell needs quotes.
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
from functools import lru_cache, partial
from typing import Literal
from urllib.parse import urlencode, urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.types import Message as ASGIMessage

from tracklight.errors import Message, UsageError
from tracklight.server.responses import create_error_response

#: About 50 ms and 16 MB for each attempt.
SCRYPT_COST = 1 << 14
_MAX_SCRYPT_COST = 1 << 17
_SCRYPT_BLOCK_SIZE = 8

#: Failed attempts from one address within a minute, after which it has to wait.
MAX_FAILED_ATTEMPTS = 10
_ATTEMPT_WINDOW_S = 60.0
_MAX_ADDRESSES = 10_000
_MAX_CREDENTIALS_CHARS = 1000

#: Keys in the scope of a request: whether the server is read-only, the name of the user ("" if it
#: is not known), and whether that user may change something.
READ_ONLY_KEY = "tracklight.read_only"
USER_KEY = "tracklight.user"
WRITER_KEY = "tracklight.writer"

#: Hosts that stand for all interfaces of the machine.
WILDCARD_HOSTS = frozenset({"", "0.0.0.0", "::"})
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})
_SAFE_METHODS = frozenset({"GET", "HEAD"})
_HOSTNAME = re.compile(r"[a-z0-9.-]+")
_ORIGIN = re.compile(r"https?://(\*\.)?[a-z0-9.-]+(:[0-9]+|:\*)?")

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

#: "missing": no credentials; "blocked": too many failed attempts from this address.
AuthResult = Literal["ok", "missing", "wrong", "blocked"]


# ---- passwords


@dataclass(frozen=True)
class PasswordHash:
    """A salted scrypt hash, with which a password can be verified."""

    cost: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        return f"scrypt.{self.cost}.{_encode_base64(self.salt)}.{_encode_base64(self.key)}"

    def verify(self, password: str) -> bool:
        return hmac.compare_digest(_derive_key(password, self.salt, self.cost), self.key)


#: Matches no password. Verifying it for unknown users makes them take as long as known ones.
UNUSABLE_HASH = PasswordHash(SCRYPT_COST, b"nobody", bytes(32))


def hash_password(password: str) -> PasswordHash:
    salt = os.urandom(16)
    return PasswordHash(SCRYPT_COST, salt, _derive_key(password, salt, SCRYPT_COST))


def parse_users(lines: Iterable[str]) -> Mapping[str, PasswordHash]:
    """Parse users given as ``user:hash``.

    Raises:
        UsageError: A line has another form.
    """
    return dict(map(_parse_user, lines))


def _parse_user(line: str) -> tuple[str, PasswordHash]:
    name, _, text = line.partition(":")
    try:
        kind, cost, salt, key = text.split(".")
        password = PasswordHash(int(cost), _decode_base64(salt), _decode_base64(key))
    except ValueError:
        kind, password = "", UNUSABLE_HASH
    is_power = password.cost > 1 and password.cost & (password.cost - 1) == 0
    if not name or kind != "scrypt" or not is_power or password.cost > _MAX_SCRYPT_COST:
        raise UsageError(
            "--auth takes user:hash; `tracklight password USER` asks for a password and prints it"
        )
    return name, password


def prompt_password(user: str) -> None:
    """Ask for a password on the terminal and print ``user:hash`` for ``--auth``.

    Raises:
        UsageError: The name is not usable, the password is empty, or it was mistyped.
    """
    if not user or ":" in user:
        raise UsageError("a user name must not be empty or contain a colon")
    password = getpass.getpass(f"Password for {user}: ")
    if not password:
        raise UsageError("the password must not be empty")
    if getpass.getpass("Repeat the password: ") != password:
        raise UsageError("the passwords differ; try again")
    print(f"{user}:{hash_password(password)}")


def _derive_key(password: str, salt: bytes, cost: int) -> bytes:
    secret = password.encode("utf-8", "surrogatepass")
    max_bytes = 256 * _SCRYPT_BLOCK_SIZE * cost
    return hashlib.scrypt(
        secret, salt=salt, n=cost, r=_SCRYPT_BLOCK_SIZE, p=1, maxmem=max_bytes, dklen=32
    )


def _encode_base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode_base64(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)


# ---- authentication


class FailedAttempts:
    """The times of recent failed attempts by client address."""

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
        return time.monotonic() - times[0] < _ATTEMPT_WINDOW_S


class Authenticator:
    """Check the token or the password of requests."""

    def __init__(self, tokens: frozenset[str], users: Mapping[str, PasswordHash]) -> None:
        self._tokens_by_cookie = {_make_cookie_name(token): token for token in tokens}
        self._users = users
        self._failed_attempts = FailedAttempts()
        # Verify one password at a time, so that guessing cannot occupy all cores.
        self._verify_lock = asyncio.Lock()
        self._salt = os.urandom(16)
        self._verified: set[bytes] = set()

    async def authenticate(self, request: Request) -> AuthResult:
        if self._has_cookie(request):
            return "ok"
        candidates = _read_tokens(request)
        if not candidates:
            return "missing"
        tokens = self._tokens_by_cookie.values()
        if any(_is_equal(candidate, token) for candidate in candidates for token in tokens):
            return "ok"
        return await self._check_credentials(request)

    async def _check_credentials(self, request: Request) -> AuthResult:
        address = request.client.host if request.client else ""
        credentials = _find_basic_credentials(request)
        if credentials and self._hash_credentials(credentials) in self._verified:
            return "ok"
        if self._failed_attempts.is_blocked(address):
            return "blocked"
        if credentials and self._users and await self._verify_password(*credentials):
            self._verified.add(self._hash_credentials(credentials))
            return "ok"
        self._failed_attempts.add(address)
        return "wrong"

    def identify_user(self, request: Request) -> str:
        """Return the user of a request whose password was verified, or ""."""
        credentials = _find_basic_credentials(request)
        if credentials and self._hash_credentials(credentials) in self._verified:
            return credentials[0]
        return ""

    async def _verify_password(self, user: str, password: str) -> bool:
        async with self._verify_lock:
            password_hash = self._users.get(user, UNUSABLE_HASH)
            return await asyncio.to_thread(password_hash.verify, password)

    def _hash_credentials(self, credentials: tuple[str, str]) -> bytes:
        """Return a fast hash of verified credentials; verifying them again takes 50 ms."""
        text = "\0".join(credentials).encode("utf-8", "surrogatepass")
        return hmac.digest(self._salt, text, "sha256")

    def _has_cookie(self, request: Request) -> bool:
        # Parsing cookies takes a while, and many requests have none.
        if "cookie" not in request.headers:
            return False
        sent = request.cookies
        cookies = self._tokens_by_cookie.items()
        return any(_is_equal(sent.get(name, ""), token) for name, token in cookies)

    def find_token_redirect(self, request: Request) -> Response | None:
        """For a token in the URL, return a redirect to the URL without it, with a cookie."""
        token = request.query_params.get("token", "")
        cookies = self._tokens_by_cookie.items()
        name = next((name for name, known in cookies if _is_equal(token, known)), None)
        if name is None or request.method not in _SAFE_METHODS:
            return None
        response = RedirectResponse(_remove_token(request), status_code=303)
        # Without a path, the cookie applies below the URL as the browser sees it, so that other
        # servers behind the same proxy do not get it.
        secure = request.url.scheme == "https"
        response.set_cookie(name, token, path=None, httponly=True, secure=secure, samesite="lax")
        return response

    def create_refusal(self, result: AuthResult) -> Response:
        """Create the response to a request without valid credentials."""
        if result == "blocked":
            response = create_error_response(
                429, Message("auth.too_many_attempts", "too many wrong tokens or passwords")
            )
            response.headers["retry-after"] = str(int(_ATTEMPT_WINDOW_S))
            return response
        if not self._users:
            return create_error_response(
                403, Message("auth.token_required", "this server requires a token")
            )
        response = create_error_response(
            401, Message("auth.password_required", "this server requires a user and a password")
        )
        response.headers["www-authenticate"] = 'Basic realm="tracklight", charset="UTF-8"'
        return response


def _read_tokens(request: Request) -> list[str]:
    """Return everything in the request that may be a token."""
    header = request.headers.get("authorization", "")
    candidates = [header.removeprefix("Bearer ")] if header else []
    return candidates + request.query_params.getlist("token")


def _find_basic_credentials(request: Request) -> tuple[str, str] | None:
    header = request.headers.get("authorization", "")
    if not header.startswith("Basic ") or len(header) > _MAX_CREDENTIALS_CHARS:
        return None
    try:
        text = base64.b64decode(header.removeprefix("Basic "), validate=True).decode()
    except ValueError:
        return None
    user, colon, password = text.partition(":")
    return (user, password) if colon else None


def _remove_token(request: Request) -> str:
    """Return the URL without the token, relative so that it holds behind a path prefix."""
    params = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
    leaf = "./" + request.url.path.rpartition("/")[2]
    return f"{leaf}?{urlencode(params)}" if params else leaf


def _make_cookie_name(token: str) -> str:
    return "tracklight-" + hashlib.sha256(token.encode()).hexdigest()[:8]


def _is_equal(candidate: str, token: str) -> bool:
    return hmac.compare_digest(candidate.encode("utf-8", "surrogatepass"), token.encode())


# ---- access policy


@dataclass(frozen=True)
class AccessPolicy:
    """The names under which a server may be reached, and the credentials it requires.

    IP addresses are always accepted as names.
    """

    hostnames: frozenset[str]
    trusted_hosts: frozenset[str] = frozenset()
    """Names of reverse proxies, ``*.`` for all subdomains. Pages from there may send requests
    although the Host header differs, and may embed the page in a frame."""
    token: str | None = None
    users: Mapping[str, PasswordHash] = field(default_factory=dict)
    proxy_token: str | None = None
    """Required of clients that use another name; our own names need no token."""
    read_only: bool = False
    embed_origins: frozenset[str] = frozenset()
    """Origins of other sites that may embed the page in a frame; ``*`` for all."""
    writers: frozenset[str] | None = None
    """The users that may change notes, layouts and alert rules; None for everybody."""
    user_header: str = ""
    """The header in which a reverse proxy sends the name of the user."""

    def is_writer(self, user: str) -> bool:
        return self.writers is None or user in self.writers

    def is_known_host(self, host: str) -> bool:
        return host in self.hostnames or self.is_trusted_host(host) or _is_ip_address(host)

    def is_trusted_host(self, host: str) -> bool:
        return any(fnmatchcase(host, pattern) for pattern in self.trusted_hosts)

    @property
    def tokens(self) -> frozenset[str]:
        return frozenset(token for token in (self.token, self.proxy_token) if token)


def create_policy(
    host: str,
    trusted_hosts: Iterable[str] = (),
    token: str | None = None,
    users: Mapping[str, PasswordHash] | None = None,
    proxy_token: str | None = None,
    read_only: bool = False,
    embed_origins: Iterable[str] = (),
    writers: Iterable[str] | None = None,
    user_header: str = "",
) -> AccessPolicy:
    """Create the policy of a server that listens on ``host``.

    Raises:
        UsageError: One of ``embed_origins`` is not an origin, or a writer can never sign in.
    """
    names = None if writers is None else frozenset(writers)
    if names is not None and not users and not user_header:
        raise UsageError("--writers needs users: give --auth or --user-header as well")
    unknown = sorted((names or frozenset()) - (users or {}).keys())
    if unknown and not user_header:
        raise UsageError(f'--writers: there is no user "{unknown[0]}" among those of --auth')
    hostnames = _LOOPBACK_HOSTS | {host.lower()}
    if host in WILDCARD_HOSTS:
        hostnames |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    proxies = frozenset(name.lower() for name in trusted_hosts)
    origins = frozenset(map(_parse_origin, embed_origins))
    return AccessPolicy(
        hostnames=hostnames,
        trusted_hosts=proxies,
        token=token,
        users=users or {},
        proxy_token=proxy_token,
        read_only=read_only,
        embed_origins=origins,
        writers=names,
        user_header=user_header,
    )


def _parse_origin(text: str) -> str:
    """Return an origin as browsers write it; its text becomes part of a header."""
    origin = text.lower().rstrip("/")
    if origin != "*" and not _ORIGIN.fullmatch(origin):
        raise UsageError(
            f'"{text}" is not an origin such as https://wiki.example.com, nor * for all sites'
        )
    return origin


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a server that listens on ``host``."""
    return host in _LOOPBACK_HOSTS or (
        _is_ip_address(host) and ipaddress.ip_address(host).is_loopback
    )


class AccessMiddleware:
    """Reject requests that the policy does not allow, and add security headers to responses.

    Args:
        app: The next application.
        policy: Who may send requests.
        public_path: The path that needs no credentials, for health checks.
    """

    def __init__(self, app: ASGIApp, policy: AccessPolicy, public_path: str = "") -> None:
        self.app = app
        self.policy = policy
        self._public_path = public_path
        self._authenticator = Authenticator(policy.tokens, policy.users)
        # Most requests have the same Host header.
        self._make_csp = lru_cache(maxsize=16)(partial(_make_csp, policy))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[READ_ONLY_KEY] = self.policy.read_only
        request = Request(scope)
        csp = self._make_csp(request.headers.get("host", ""))

        async def send_with_headers(message: ASGIMessage) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                # Responses that set their own policy have a stricter one.
                headers.setdefault("content-security-policy", csp)
                for name, value in _SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        response = await self._find_response(request)
        user = scope[USER_KEY] = self._identify_user(request)
        scope[WRITER_KEY] = self.policy.is_writer(user)
        await (response or self.app)(scope, receive, send_with_headers)

    async def _find_response(self, request: Request) -> Response | None:
        """Return the refusal or redirect of a request; None if it may pass."""
        host = request.headers.get("host", "")
        if request.method not in _SAFE_METHODS and not _is_same_origin(request, self.policy):
            origin = request.headers.get("origin", "another site")
            return create_error_response(
                403,
                Message.format(
                    "auth.foreign_origin",
                    "pages from {origin} must not send requests here",
                    origin=origin,
                ),
            )
        is_known = self.policy.is_known_host(_parse_hostname(host))
        is_public = is_known and self._is_public(request)
        result = "missing" if is_public else await self._authenticator.authenticate(request)
        if result != "ok" and not is_public:
            if is_known:
                return self._authenticator.create_refusal(result)
            return create_error_response(
                403,
                Message.format(
                    "auth.unknown_host", '"{host}" is not a known name of this server', host=host
                ),
            )
        return self._authenticator.find_token_redirect(request)

    def _identify_user(self, request: Request) -> str:
        """Return the name of the user of a request that may pass, or "" if it has none."""
        user = self._authenticator.identify_user(request)
        if user or not self.policy.user_header:
            return user
        # A second header may come from a client that the proxy did not check.
        names = request.headers.getlist(self.policy.user_header)
        return names[0].strip() if len(names) == 1 else ""

    def _is_public(self, request: Request) -> bool:
        needs_credentials = bool(self.policy.token or self.policy.users)
        is_public_path = get_route_path(request.scope) == self._public_path
        return not needs_credentials or (request.method == "GET" and is_public_path)


def get_route_path(scope: Scope) -> str:
    """Return the path of a request below the path at which the application is mounted."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def _make_csp(policy: AccessPolicy, host: str) -> str:
    return _CSP + " ".join(_iter_frame_ancestors(policy, host))


def _iter_frame_ancestors(policy: AccessPolicy, host: str) -> Iterable[str]:
    """Yield the origins that may embed the page: notebooks on other ports, and those allowed."""
    for name in sorted({"localhost", "127.0.0.1", _parse_hostname(host)}):
        if _HOSTNAME.fullmatch(name):
            yield from (f"http://{name}:*", f"https://{name}:*")
    yield from (f"https://{proxy}" for proxy in sorted(policy.trusted_hosts))
    yield from sorted(policy.embed_origins)


def _is_same_origin(request: Request, policy: AccessPolicy) -> bool:
    """Return whether a request comes from our own page, or from a program that is no browser.

    Browsers send Sec-Fetch-Site, except to plain http servers, for which Origin is compared with
    Host. Scripts can set none of these headers.
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
    """Return the name in a Host header, without port and without brackets around IPv6."""
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
