from __future__ import annotations

import pytest

from tracklight.errors import UsageError
from tracklight.server import auth
from tracklight.server.auth import UNUSABLE_HASH, hash_password, parse_users


def test_hash_verifies_only_its_password() -> None:
    password_hash = hash_password("grüße 7")
    assert password_hash.verify("grüße 7") and not password_hash.verify("grüße 8")
    assert hash_password("grüße 7") != password_hash
    assert not UNUSABLE_HASH.verify("")


def test_hash_round_trips_and_needs_no_quotes() -> None:
    password_hash = hash_password("x")
    assert not set(str(password_hash)) & set("$'\"\\ &;|<>()`!*?~#:")
    assert parse_users([f"ada:{password_hash}"]) == {"ada": password_hash}


@pytest.mark.parametrize(
    "line",
    [
        "ada",
        "ada:secret",
        ":scrypt.16384.AAAA.AAAA",
        "ada:md5.16384.AAAA.AAAA",
        "ada:scrypt.x.AAAA.AAAA",
        "ada:scrypt.1000.AAAA.AAAA",
        "ada:scrypt.1073741824.AAAA.AAAA",
        "ada:scrypt.16384.!.AAAA",
        "ada:scrypt.16384.AAAA",
    ],
)
def test_invalid_hash_raises_usage_error(line: str) -> None:
    with pytest.raises(UsageError, match="tracklight password USER"):
        parse_users([line])


def test_prompt_asks_for_the_password_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = iter(["one", "one"])
    monkeypatch.setattr(auth.getpass, "getpass", lambda _: next(typed))
    auth.prompt_password("ada")
    ((user, parsed),) = parse_users([capsys.readouterr().out.strip()]).items()
    assert user == "ada" and parsed.verify("one")


@pytest.mark.parametrize(
    ("user", "typed"), [("ada", ["one", "two"]), ("ada", ["", ""]), ("a:b", []), ("", [])]
)
def test_prompt_rejects_invalid_input(
    monkeypatch: pytest.MonkeyPatch, user: str, typed: list[str]
) -> None:
    words = iter(typed)
    monkeypatch.setattr(auth.getpass, "getpass", lambda _: next(words))
    with pytest.raises(UsageError):
        auth.prompt_password(user)
