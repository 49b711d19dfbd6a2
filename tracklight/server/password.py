"""Names and passwords of who may look at a board: ``--auth user:hash``.

A hash says how it was made: ``scrypt.COST.SALT.KEY``, with letters, digits, ``-`` and ``_`` only,
so that no shell takes any of it for something else.
"""

from __future__ import annotations

import base64
import getpass
import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tracklight.errors import UsageError

#: About 50 ms and 16 MB for each try.
COST = 1 << 14
_MOST_COST = 1 << 17
_BLOCK = 8


@dataclass(frozen=True)
class Hash:
    """What is kept of a password: it can be checked, not read."""

    cost: int
    salt: bytes
    key: bytes

    def __str__(self) -> str:
        return f"scrypt.{self.cost}.{_encode(self.salt)}.{_encode(self.key)}"

    def fits(self, password: str) -> bool:
        return hmac.compare_digest(_derive(password, self.salt, self.cost), self.key)


#: Fits no password; who gives a name that nobody has waits as long as for a wrong password.
NOBODY = Hash(COST, b"nobody", bytes(32))


def make_hash(password: str) -> Hash:
    salt = os.urandom(16)
    return Hash(COST, salt, _derive(password, salt, COST))


def parse_users(lines: Iterable[str]) -> Mapping[str, Hash]:
    """Users by name, each given as ``user:hash``."""
    return dict(map(_parse_user, lines))


def _parse_user(line: str) -> tuple[str, Hash]:
    name, _, text = line.partition(":")
    try:
        kind, cost, salt, key = text.split(".")
        found = Hash(int(cost), _decode(salt), _decode(key))
    except ValueError:
        kind, found = "", NOBODY
    is_power = found.cost > 1 and found.cost & (found.cost - 1) == 0
    if not name or kind != "scrypt" or not is_power or found.cost > _MOST_COST:
        raise UsageError(
            "--auth takes user:hash; `tracklight password USER` asks for a password and prints it"
        )
    return name, found


def main(user: str) -> None:
    """Ask for a password and print what ``--auth`` takes."""
    if not user or ":" in user:
        raise UsageError("a user has a name, without a colon in it")
    password = getpass.getpass(f"Password of {user}: ")
    if not password:
        raise UsageError("an empty password keeps nobody out")
    if getpass.getpass("Once more: ") != password:
        raise UsageError("these are two passwords, not one; try again")
    print(f"{user}:{make_hash(password)}")


def _derive(password: str, salt: bytes, cost: int) -> bytes:
    given = password.encode("utf-8", "surrogatepass")
    most_bytes = 256 * _BLOCK * cost
    return hashlib.scrypt(given, salt=salt, n=cost, r=_BLOCK, p=1, maxmem=most_bytes, dklen=32)


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
