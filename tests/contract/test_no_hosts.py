"""No tracked file names a package registry, so that everybody can use their own."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Joined here, so that this file does not name them either.
HOSTS = [
    ".".join(parts).encode()
    for parts in [
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("debian", "org"),
        ("anaconda", "org"),
    ]
]


def list_hosts(content: bytes) -> list[bytes]:
    return [host for host in HOSTS if host in content]


def list_tracked() -> list[Path]:
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if result.returncode:
        pytest.skip("not a git checkout")
    paths = [ROOT / name for name in result.stdout.decode().split("\0") if name]
    return [path for path in paths if path.is_file()]


def test_no_tracked_file_names_a_registry() -> None:
    named = {
        str(path): hosts for path in list_tracked() if (hosts := list_hosts(path.read_bytes()))
    }
    assert named == {}


def test_reports_a_registry() -> None:
    assert list_hosts(b'"resolved": "https://registry.' + HOSTS[2] + b'/vite"') == [HOSTS[2]]


def test_package_lock_has_no_urls() -> None:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    assert len(lock["packages"]) > 10
    assert [name for name, package in lock["packages"].items() if "resolved" in package] == []
