"""The documentation site builds without warnings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.pages import ROOT

pytest.importorskip("myst_parser", reason="the documentation tools are not installed: make docs")
pytest.importorskip("furo", reason="the documentation tools are not installed: make docs")

pytestmark = pytest.mark.slow


def test_site_is_complete_and_loads_nothing_from_other_hosts(tmp_path: Path) -> None:
    # Missing pages, broken links and pages without a table of contents are warnings.
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", ROOT / "docs", tmp_path]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(tmp_path).with_suffix(".md") for path in tmp_path.rglob("*.html")}
    assert pages <= built
    loaded = re.compile(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="https?://')
    page = (tmp_path / "quickstart.html").read_text(encoding="utf-8")
    assert loaded.findall(page) == []
