from __future__ import annotations

import errno
import socket
from pathlib import Path
from typing import Any

import pytest

from tracklight.errors import BindError
from tracklight.server import serve
from tracklight.server.app import ALL_INTERFACES, AuthSettings, Settings
from tracklight.server.serve import bind_address, bind_socket, build_url


def test_used_port_raises_bind_error() -> None:
    with bind_address("127.0.0.1", 0) as used:
        port = used.getsockname()[1]
        with pytest.raises(BindError, match=f"127.0.0.1:{port}.*0 for a free one"):
            bind_address("127.0.0.1", port)


def test_default_port_is_the_next_free_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind_address("127.0.0.1", 0) as used, bind_address("127.0.0.1", 0) as free:
        ports = [used.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr(serve, "_DEFAULT_PORTS", ports)
        with bind_socket(Settings(host="127.0.0.1")) as listener:
            assert listener.getsockname()[1] == ports[1]


def test_raises_bind_error_if_all_default_ports_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind_address("127.0.0.1", 0) as used:
        monkeypatch.setattr(serve, "_DEFAULT_PORTS", [used.getsockname()[1]])
        with pytest.raises(BindError, match="are in use"):
            bind_socket(Settings(host="127.0.0.1"))


def test_unknown_host_raises_bind_error() -> None:
    with pytest.raises(BindError, match=r"cannot listen .*check --host") as raised:
        bind_address("no-such-host.invalid", 0)
    assert "another port" not in str(raised.value)


def test_all_interfaces_include_ipv4_and_ipv6() -> None:
    with bind_socket(Settings(host=ALL_INTERFACES, port=0)) as listener:
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", *(["::1"] if has_ipv6_loopback() else [])):
            socket.create_connection((host, port), timeout=60).close()


def has_ipv6_loopback() -> bool:
    try:
        bind_address("::1", 0).close()
    except BindError:
        return False
    return True


def test_all_interfaces_without_ipv6(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    create_server = socket.create_server

    def create_ipv4_server(address: Any, *, family: int = socket.AF_INET, **options: Any) -> Any:
        if family == socket.AF_INET6:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return create_server(address, family=family, **options)

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(socket, "create_server", create_ipv4_server)
    with bind_socket(Settings(host=ALL_INTERFACES, port=0)) as listener:
        assert listener.family == socket.AF_INET


@pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT"), reason="there is no such option here")
def test_servers_can_share_a_port() -> None:
    with bind_address("127.0.0.1", 0, reuse_port=True) as first:
        port = first.getsockname()[1]
        bind_address("127.0.0.1", port, reuse_port=True).close()


def test_url_has_prefix_and_token() -> None:
    with bind_address("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        settings = Settings(host="127.0.0.1", path_prefix="/board/")
        assert build_url(listener, settings, "t0k") == f"http://127.0.0.1:{port}/board/?token=t0k"


def test_url_has_https_scheme(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.touch()
    with bind_address("127.0.0.1", 0) as listener:
        settings = Settings(host="::1", auth=AuthSettings(tls_cert=pair, tls_key=pair))
        assert build_url(listener, settings, None).startswith("https://[::1]:")


def test_connections_have_tcp_nodelay() -> None:
    with bind_address("localhost", 0) as listener:
        with socket.create_connection(listener.getsockname()[:2]):
            connection, _ = listener.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
