"""Imports follow the layers, in the package and in the page, and the checker reports violations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import check_imports
from tools.check_imports import (
    PROFILES,
    PYTHON,
    WEB,
    find_faults,
    iter_python_imports,
    iter_web_imports,
)

WriteFile = Callable[[str, str], Path]


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Write one file of a small package and return the root of the package."""
    for package in ("errors.py", "log.py"):
        (tmp_path / package).touch()
    for package in ("formats", "index", "server", "sdk"):
        (tmp_path / package).mkdir()

    def write(path: str, text: str) -> Path:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_package_follows_the_import_rules() -> None:
    imports = list(iter_python_imports(check_imports.ROOT / "tracklight"))
    assert len(imports) > 20
    assert find_faults(imports, PYTHON) == []


def test_profiles_follow_their_import_rules() -> None:
    folder = check_imports.ROOT / "tracklight" / "profiles"
    imports = list(iter_python_imports(folder, "tracklight.analysis.profiles"))
    assert len(imports) > 50
    assert find_faults(imports, PROFILES) == []


def test_profile_modules_import_only_earlier_ones() -> None:
    packages = list(PROFILES)
    for number, package in enumerate(packages):
        assert set(PROFILES[package].split()) <= set(packages[:number]), package


def test_page_follows_the_import_rules() -> None:
    imports = list(iter_web_imports(check_imports.ROOT / "web" / "src"))
    assert len(imports) > 5
    assert find_faults(imports, WEB) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("formats/scan.py", "import tracklight.index.store", "formats may not import index"),
        ("formats/scan.py", "from tracklight import log", "formats may not import log"),
        ("formats/scan.py", "from tracklight import open", "formats may not import __init__"),
        ("formats/scan.py", "from .. import server", "formats may not import server"),
        ("formats/deep/scan.py", "from ...index import x", "formats may not import index"),
        ("sdk/run.py", "def f():\n    from tracklight.index import x", "sdk may not import index"),
        ("attic/run.py", "import tracklight.index", "attic has no row"),
    ],
)
def test_reports_forbidden_python_import(
    write_file: WriteFile, path: str, text: str, message: str
) -> None:
    (found,) = find_faults(iter_python_imports(write_file(path, text)), PYTHON)
    assert message in found


def test_reports_forbidden_import_within_a_package(write_file: WriteFile) -> None:
    tree = write_file(
        "server/steps.py", "from tracklight.analysis.profiles import log\nimport tracklight.x\n"
    )
    (found,) = iter_python_imports(tree, "tracklight.analysis.profiles")
    assert (found.source, found.target) == ("server", "log")


def test_accepts_allowed_python_imports(write_file: WriteFile) -> None:
    text = (
        "import os\nfrom . import tail\nfrom ..formats import scan\nfrom tracklight.errors import E"
    )
    assert find_faults(iter_python_imports(write_file("index/store.py", text)), PYTHON) == []


@pytest.mark.parametrize(
    ("path", "text", "message"),
    [
        ("base/url.ts", "import { get } from '../api/client';", "base may not import api"),
        ("api/live.ts", "export * from '../core/runs.svelte';", "api may not import core"),
        ("charts/line.ts", "import {\n  a,\n  b,\n} from '../api/x';", "charts may not import api"),
        ("core/x.ts", "const view = await import('../shell/App.svelte');", "core may not import"),
        ("widgets/A.svelte", "<script>import '../shell/x.css';</script>", "widgets may not import"),
    ],
)
def test_reports_forbidden_web_import(
    write_file: WriteFile, path: str, text: str, message: str
) -> None:
    (found,) = find_faults(iter_web_imports(write_file(path, text)), WEB)
    assert message in found


def test_accepts_allowed_web_imports(write_file: WriteFile) -> None:
    text = "import { mount } from 'svelte';\nimport App from './shell/App.svelte';"
    assert find_faults(iter_web_imports(write_file("main.ts", text)), WEB) == []
