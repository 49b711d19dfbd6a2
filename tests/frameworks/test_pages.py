"""The examples in docs/frameworks work as they stand, without a word of complaint."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGES = Path(__file__).resolve().parents[2] / "docs" / "frameworks"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize(
    ("page", "needed"),
    [
        ("torch", "numpy"),
        ("lightning", "lightning"),
        ("transformers", "transformers"),
        ("jax", "jax"),
    ],
)
def test_example_works(
    page: str, needed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRACKLIGHT_STRICT", "1")
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(example, f"{page}.md", "exec"), {})


def test_links_lead_somewhere() -> None:
    for page in PAGES.glob("*.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (PAGES / target).exists(), f"{page.name}: {target}"
