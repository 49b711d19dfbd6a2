from __future__ import annotations

import pytest

from tracklight.errors import UsageError
from tracklight.server import auth
from tracklight.server.auth import UNUSABLE_HASH, hash_password, parse_users


def test_a_hash_fits_its_password_only() -> None:
    made = hash_password("grüße 7")
    assert made.verify("grüße 7") and not made.fits("grüße 8")
    assert hash_password("grüße 7") != made
    assert not UNUSABLE_HASH.verify("")


def test_a_hash_is_read_back_and_needs_no_quotes() -> None:
    made = hash_password("x")
    assert not set(str(made)) & set("$'\"\\ &;|<>()`!*?~#:")
    assert parse_users([f"ada:{made}"]) == {"ada": made}


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
def test_what_is_no_hash_is_told(line: str) -> None:
    with pytest.raises(UsageError, match="tracklight password USER"):
        parse_users([line])


def test_a_password_is_asked_for_twice(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = iter(["one", "one"])
    monkeypatch.setattr(auth.getpass, "getpass", lambda _: next(said))
    auth.prompt_password("ada")
    ((user, found),) = parse_users([capsys.readouterr().out.strip()]).items()
    assert user == "ada" and found.verify("one")


@pytest.mark.parametrize(
    ("user", "said"), [("ada", ["one", "two"]), ("ada", ["", ""]), ("a:b", []), ("", [])]
)
def test_a_slip_makes_no_password(
    monkeypatch: pytest.MonkeyPatch, user: str, said: list[str]
) -> None:
    words = iter(said)
    monkeypatch.setattr(auth.getpass, "getpass", lambda _: next(words))
    with pytest.raises(UsageError):
        auth.prompt_password(user)
