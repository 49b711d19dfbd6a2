from __future__ import annotations

from pathlib import Path

import pytest

from tracklight.errors import UsageError
from tracklight.server.app import DEFAULT_AUTH, AuthSettings
from tracklight.server.auth import hash_password


@pytest.fixture(autouse=True)
def no_tokens_in_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACKLIGHT_TOKEN", raising=False)
    monkeypatch.delenv("TRACKLIGHT_PROXY_TOKEN", raising=False)


@pytest.mark.parametrize(
    ("host", "open_to_all", "has_token"),
    [
        ("localhost", False, False),
        ("127.0.0.1", False, False),
        ("0.0.0.0", False, True),
        ("", False, True),
        ("box", False, True),
        ("0.0.0.0", True, False),
    ],
)
def test_requires_token_unless_bound_to_loopback(
    host: str, open_to_all: bool, has_token: bool
) -> None:
    policy = DEFAULT_AUTH.create_policy(host, (), open_to_all)
    assert (policy.token is not None) is has_token
    if policy.token is not None:
        assert len(policy.token) >= 20
        assert policy.token != DEFAULT_AUTH.create_policy(host, (), open_to_all).token


def test_token_from_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_TOKEN", "kept")
    assert DEFAULT_AUTH.create_policy("0.0.0.0", (), False).token == "kept"
    assert DEFAULT_AUTH.create_policy("localhost", (), False).token == "kept"


def test_users_replace_the_token() -> None:
    policy = AuthSettings(users=(f"ada:{hash_password('x')}",)).create_policy("0.0.0.0", (), False)
    assert policy.token is None and list(policy.users) == ["ada"]


def test_invalid_tls_files_raise_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="together"):
        AuthSettings(tls_cert=tmp_path)
    with pytest.raises(UsageError, match="does not exist"):
        AuthSettings(tls_cert=tmp_path / "cert", tls_key=tmp_path / "key")
