from __future__ import annotations

import datetime
import ssl
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.index import logs
from tests.server.server_process import serve
from tracklight.server.auth import hash_password
from tracklight.server.serve import list_instances


def write_certificate(folder: Path) -> tuple[str, str]:
    """Write a self-signed certificate and its key."""
    x509 = pytest.importorskip("cryptography.x509")
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "key.pem").write_bytes(secret)
    return str(folder / "cert.pem"), str(folder / "key.pem")


def test_serves_tls_with_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    cert, key = write_certificate(tmp_path)
    flags = ["--tls-cert", cert, "--tls-key", key, "--auth", f"ada:{hash_password('x')}"]
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with serve(tmp_path / "logs", tmp_path, *flags) as server:
        assert server.address.startswith("https://")
        # Notebooks find it as well.
        assert [board.port for board in list_instances()] == [server.port]
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(server.address + "api/v1/runs", context=context)
        assert refused.value.code == 401
        refused.value.close()
        request = urllib.request.Request(server.address + "api/v1/runs")
        request.add_header("authorization", "Basic YWRhOng=")
        with urllib.request.urlopen(request, context=context) as response:
            assert response.status == 200
        # Plain HTTP gets no response and logs nothing.
        assert server.send(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")[:4] != b"HTTP"
    assert server.errors.read_text() == ""


def test_listens_only_on_loopback_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    psutil = pytest.importorskip("psutil")
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    logs.write(tmp_path / "logs", "conv", logs.points(range(3)))
    with serve(tmp_path / "logs", tmp_path) as server:
        process = psutil.Process(server.process.pid)
        listening = [it for it in process.net_connections("inet") if it.status == "LISTEN"]
        assert {it.laddr.ip for it in listening} == {"127.0.0.1"}
