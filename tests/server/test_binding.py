from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest

from tracklight.errors import BindError
from tracklight.server import instances
from tracklight.server.app import ALL_INTERFACES, AuthSettings, Settings
from tracklight.server.instances import bind_address, bind_socket, build_url


def test_a_port_that_is_taken_is_told() -> None:
    with bind_address("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(BindError, match=f"127.0.0.1:{port}.*0 for a free one"):
            bind_address("127.0.0.1", port)


def test_without_a_port_the_next_free_one_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind_address("127.0.0.1", 0) as taken, bind_address("127.0.0.1", 0) as free:
        ports = [taken.getsockname()[1], free.getsockname()[1]]
        free.close()
        monkeypatch.setattr(instances, "_DEFAULT_PORTS", ports)
        with bind_socket(Settings(host="127.0.0.1")) as listener:
            assert listener.getsockname()[1] == ports[1]


def test_that_all_ports_are_taken_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with bind_address("127.0.0.1", 0) as taken:
        monkeypatch.setattr(instances, "_DEFAULT_PORTS", [taken.getsockname()[1]])
        with pytest.raises(BindError, match="no port from"):
            bind_socket(Settings(host="127.0.0.1"))


def test_a_name_that_is_nowhere_is_told() -> None:
    with pytest.raises(BindError, match=r"cannot listen .*check --host") as raised:
        bind_address("no-such-host.invalid", 0)
    assert "another port" not in str(raised.value)


def test_everywhere_is_both_kinds_of_address() -> None:
    with bind_socket(Settings(host=ALL_INTERFACES, port=0)) as listener:
        port = listener.getsockname()[1]
        for host in ("127.0.0.1", *(["::1"] if has_new_loopback() else [])):
            socket.create_connection((host, port), timeout=60).close()


def has_new_loopback() -> bool:
    try:
        bind_address("::1", 0).close()
    except BindError:
        return False
    return True


def test_where_new_addresses_are_switched_off_everywhere_is_all_old_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(port: int, reuse_port: bool) -> socket.socket:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    monkeypatch.setattr(socket, "has_dualstack_ipv6", lambda: True)
    monkeypatch.setattr(instances, "_create_dual_stack_socket", fail)
    with bind_socket(Settings(host=ALL_INTERFACES, port=0)) as listener:
        assert listener.family == socket.AF_INET


@pytest.mark.skipif(not hasattr(socket, "SO_REUSEPORT"), reason="there is no such option here")
def test_servers_may_share_a_port() -> None:
    with bind_address("127.0.0.1", 0, reuse_port=True) as first:
        port = first.getsockname()[1]
        bind_address("127.0.0.1", port, reuse_port=True).close()


def test_address_has_prefix_and_token() -> None:
    with bind_address("127.0.0.1", 0) as listener:
        port = listener.getsockname()[1]
        settings = Settings(host="127.0.0.1", path_prefix="/board/")
        assert build_url(listener, settings, "t0k") == f"http://127.0.0.1:{port}/board/?token=t0k"


def test_address_says_that_it_is_encrypted(tmp_path: Path) -> None:
    pair = tmp_path / "pair.pem"
    pair.touch()
    with bind_address("127.0.0.1", 0) as listener:
        settings = Settings(host="::1", auth=AuthSettings(tls_cert=pair, tls_key=pair))
        assert build_url(listener, settings, None).startswith("https://[::1]:")


def test_the_end_of_an_answer_is_not_held_back() -> None:
    with bind_address("localhost", 0) as listener:
        with socket.create_connection(listener.getsockname()[:2]):
            connection, _ = listener.accept()
            with connection:
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
