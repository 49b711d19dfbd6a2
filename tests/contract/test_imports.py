"""Import directions of the package and the page, and the checker itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tools import check_imports
from tools.check_imports import (
    ANALYSIS,
    MAX_LEVELS,
    PYTHON,
    WEB,
    count_levels,
    find_module_cycle,
    find_web_cycle,
    iter_python_imports,
    iter_web_imports,
    list_size_violations,
    list_violations,
    list_web_file_violations,
)

WriteFile = Callable[[str, str], Path]

PACKAGE = check_imports.ROOT / "tracklight"


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Write one file of a small source tree and return the root of the tree."""
    for layer in ("errors.py", "reader.py"):
        (tmp_path / layer).touch()
    for layer in ("formats", "index", "server", "writer"):
        (tmp_path / layer).mkdir()

    def write(path: str, text: str) -> Path:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
        return tmp_path

    return write


def test_package_follows_the_table() -> None:
    imports = list(iter_python_imports(PACKAGE))
    assert len(imports) > 100
    assert list_violations(imports, PYTHON) == []


def test_analysis_follows_its_table() -> None:
    imports = list(iter_python_imports(PACKAGE / "analysis", "tracklight.analysis"))
    assert len(imports) > 20
    assert list_violations(imports, ANALYSIS) == []


def test_page_follows_the_table() -> None:
    imports = list(iter_web_imports(check_imports.ROOT / "web" / "src"))
    assert len(imports) > 100
    assert list_violations(imports, WEB) == []


def test_package_has_no_import_cycle() -> None:
    assert find_module_cycle(PACKAGE) is None


def test_page_has_no_import_cycle() -> None:
    assert find_web_cycle(check_imports.ROOT / "web" / "src") is None


def test_package_is_shallow() -> None:
    assert count_levels(PYTHON) <= MAX_LEVELS
    assert list_size_violations(PACKAGE) == []


@pytest.mark.parametrize(
    ("path", "text", "violation"),
    [
        ("formats/scan.py", "import tracklight.index.store", "formats may not import index"),
        ("formats/scan.py", "from tracklight import reader", "formats may not import reader"),
        ("formats/scan.py", "from tracklight import open", "formats may not import __init__"),
        ("formats/scan.py", "from .. import server", "formats may not import server"),
        ("formats/deep/scan.py", "from ...index import x", "formats may not import index"),
        (
            "writer/run.py",
            "def f():\n    from tracklight.index import x",
            "writer may not import index",
        ),
        ("unknown/run.py", "import tracklight.index", "unknown has no row"),
    ],
)
def test_reports_a_forbidden_python_import(
    write_file: WriteFile, path: str, text: str, violation: str
) -> None:
    (message,) = list_violations(iter_python_imports(write_file(path, text)), PYTHON)
    assert violation in message


def test_allows_python_imports_of_the_table(write_file: WriteFile) -> None:
    text = (
        "import os\nfrom . import tail\nfrom ..formats import scan\nfrom tracklight.errors import E"
    )
    assert list_violations(iter_python_imports(write_file("index/store.py", text)), PYTHON) == []


def test_reports_an_import_cycle(write_file: WriteFile) -> None:
    write_file("formats/a.py", "from tracklight.formats import b")
    tree = write_file("formats/b.py", "def f():\n    from tracklight.formats.a import x")
    assert find_module_cycle(tree) == [
        "tracklight.formats.a",
        "tracklight.formats.b",
        "tracklight.formats.a",
    ]


def test_names_of_the_page_are_unique() -> None:
    assert list_web_file_violations(check_imports.ROOT / "web" / "src") == []


def test_reports_files_of_the_page_with_one_name(tmp_path: Path) -> None:
    names = ("a/axes.ts", "a/b/axes.test.ts", "a/query.ts", "c/query.ts", "c/axes.svelte.ts")
    for name in (*names, "catalog/axes.ts"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (message,) = list_web_file_violations(tmp_path)
    assert message.endswith("c/axes.svelte.ts: has the name of " + str(tmp_path / "a/axes.ts"))


def test_counts_levels() -> None:
    assert count_levels({"a": "", "b": "a", "c": "a b", "d": "a", "__init__": "c"}) == 3


def test_reports_a_package_with_too_many_modules(write_file: WriteFile) -> None:
    for number in range(check_imports.MAX_MODULES + 1):
        tree = write_file(f"formats/m{number}.py", "")
    (message,) = list_size_violations(tree)
    assert "16 modules, at most 15" in message


@pytest.mark.parametrize(
    ("path", "text", "violation"),
    [
        ("lib/url.ts", "import { get } from '../api/client';", "lib may not import api"),
        ("api/live.ts", "export * from '../state/runs.svelte';", "api may not import state"),
        ("charts/line.ts", "import {\n  a,\n  b,\n} from '../api/x';", "charts may not import api"),
        ("state/x.ts", "const view = await import('../shell/App.svelte');", "state may not import"),
        (
            "components/A.svelte",
            "<script>import '../shell/x.css';</script>",
            "components may not import",
        ),
    ],
)
def test_reports_a_forbidden_web_import(
    write_file: WriteFile, path: str, text: str, violation: str
) -> None:
    (message,) = list_violations(iter_web_imports(write_file(path, text)), WEB)
    assert violation in message


def test_allows_web_imports_of_the_table(write_file: WriteFile) -> None:
    text = "import { mount } from 'svelte';\nimport App from './shell/App.svelte';"
    assert list_violations(iter_web_imports(write_file("app.ts", text)), WEB) == []


@pytest.mark.parametrize(
    "text",
    [
        "import type { Line } from './line-chart.svelte';",
        "const chart = import('./line-chart.svelte');",
        "export { draw } from './line-chart.svelte';",
    ],
)
def test_reports_a_web_import_cycle(write_file: WriteFile, text: str) -> None:
    write_file("charts/line-chart.svelte.ts", "import Card from '../cards/Card.svelte';")
    write_file("cards/Card.svelte", "<script>import { x } from '../charts/line';</script>")
    tree = write_file("charts/line.ts", text)
    assert find_web_cycle(tree) == [
        "cards/Card.svelte",
        "charts/line.ts",
        "charts/line-chart.svelte.ts",
        "cards/Card.svelte",
    ]


def test_allows_a_recursive_component(write_file: WriteFile) -> None:
    tree = write_file("cards/Tree.svelte", "<script>import Tree from './Tree.svelte';</script>")
    assert find_web_cycle(tree) is None
