"""Run the examples in docs/frameworks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "frameworks"


def run_example(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run the example of a page in strict mode, in which warnings are errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKLIGHT_STRICT", "1")
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, f"{page}.md", "exec"), {})
