from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from tracklight.notebook import find_public_url, list_service_flags


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "CODESPACE_NAME",
        "COLAB_RELEASE_TAG",
        "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN",
        "KAGGLE_KERNEL_RUN_TYPE",
        "VSCODE_PROXY_URI",
    ):
        monkeypatch.delenv(name, raising=False)


def mock_servers(monkeypatch: pytest.MonkeyPatch, *base_urls: str) -> None:
    """Replace the list of running notebook servers."""
    package, module = ModuleType("jupyter_server"), ModuleType("jupyter_server.serverapp")
    servers: list[dict[str, Any]] = [{"base_url": base, "port": 8888} for base in base_urls]
    module.list_running_servers = lambda: iter(servers)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "jupyter_server", package)
    monkeypatch.setitem(sys.modules, "jupyter_server.serverapp", module)


def test_needs_no_flags_on_a_local_machine() -> None:
    assert list_service_flags() == [] and find_public_url(6006) is None


def test_detects_colab(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLAB_RELEASE_TAG", "r")
    by_release = list_service_flags()
    assert "--trusted-host=*.googleusercontent.com" in by_release
    monkeypatch.delenv("COLAB_RELEASE_TAG")
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert list_service_flags() == by_release


def test_kaggle_url_contains_the_server_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    assert "--trusted-host=*.kaggle.net" in list_service_flags()
    mock_servers(monkeypatch, "/k/311788458/eyJhbGciOi/proxy/")
    assert find_public_url(6006) == (
        "https://kkb-production.jupyter-proxy.kaggle.net/k/311788458/eyJhbGciOi/proxy/proxy/6006"
    )


def test_no_kaggle_url_without_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    mock_servers(monkeypatch)
    assert find_public_url(6006) is None
    monkeypatch.setitem(sys.modules, "jupyter_server.serverapp", None)
    assert find_public_url(6006) is None


def test_codespaces_url_contains_the_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CODESPACE_NAME", "super-disco-x7")
    assert find_public_url(6006) == "https://super-disco-x7-6006.app.github.dev"
    monkeypatch.setenv("GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN", "preview.app.github.dev")
    assert find_public_url(6007) == "https://super-disco-x7-6007.preview.app.github.dev"
    assert "--trusted-host=*.github.dev" in list_service_flags()


def test_code_server_url_follows_its_template(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCODE_PROXY_URI", "https://code.lab.example/proxy/{{port}}/")
    assert find_public_url(6006) == "https://code.lab.example/proxy/6006"
    # A relative URL cannot be resolved without the URL of the page.
    monkeypatch.setenv("VSCODE_PROXY_URI", "./proxy/{{port}}")
    assert find_public_url(6006) is None
