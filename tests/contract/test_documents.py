"""The documents at the top stay short, and their links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tracklight.demo import write_demo

ROOT = Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\((?!https?://)([^)#]+)")


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.parametrize("path", sorted(ROOT.glob("*.md")), ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    targets = LINK.findall(path.read_text(encoding="utf-8"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_readme_example_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    monkeypatch.setenv("TRACKLIGHT_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    write_demo(Path("demo-logs"))
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert len(names["loss"]) > 0
    assert len(names["table"]) > len(names["loss"])
    names["log"].close()
