"""What somebody who starts a server says about who gets in."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tracklight.errors import UsageError
from tracklight.server.password import parse_users
from tracklight.server.security import Policy, is_loopback, policy_for


@dataclass(frozen=True)
class Door:
    """Nothing said: localhost is open to who is on this machine, all else asks for a token."""

    auth: tuple[str, ...] = ()
    """Who may come in by name and password, each as ``user:hash``."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    read_only: bool = False

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise UsageError("give --tls-cert and --tls-key together, or neither")
        for path in (self.tls_cert, self.tls_key):
            if path is not None and not path.is_file():
                raise UsageError(f'there is no file "{path}" for TLS')

    @property
    def scheme(self) -> str:
        return "https" if self.tls_cert else "http"

    def make_policy(self, host: str, trusted: Iterable[str], open_to_all: bool) -> Policy:
        """The policy of a server bound to ``host``.

        A token that is to stay the same, and one for notebooks behind a proxy, come from the
        environment, where other users of the machine do not see them as they see flags.
        """
        users = parse_users(self.auth)
        token = os.environ.get("TRACKLIGHT_TOKEN") or None
        if token is None and not (open_to_all or users or is_loopback(host)):
            token = secrets.token_urlsafe(16)
        proxy_token = os.environ.get("TRACKLIGHT_PROXY_TOKEN") or None
        return policy_for(host, trusted, token, users, proxy_token, self.read_only)


#: Nothing was said.
PLAIN_DOOR = Door()
