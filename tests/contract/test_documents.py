"""The README is short, and links and code spans of all pages are valid."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_demo_log import NOW
from tests.contract.pages import PAGES, ROOT, list_anchors, list_links
from tests.demo_log import get_demo_log


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_have_targets(page: Path) -> None:
    assert [link for link in list_links(page) if not _has_target(page, link)] == []


def _has_target(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    return target.exists() and (not anchor or anchor in list_anchors(target))


def test_reports_broken_links(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Ways in\n\n[a](#ways-in) [b](#ways-out) [c](none.md) [d](page.md#ways-in)\n")
    links = list_links(page)
    assert [_has_target(page, link) for link in links] == [True, False, False, True]


def test_every_flag_is_listed_once_in_each_section() -> None:
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for section in re.split(r"^## ", text, flags=re.M):
        rows = re.findall(r"^\| (`-.*?) \|", section, re.M)
        flags = [flag for row in rows for flag in re.findall(r"`(-[\w-]+)", row)]
        assert len(flags) == len(set(flags)), section.partition("\n")[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_code_span_is_closed(page: Path) -> None:
    without_blocks = re.sub(
        r"^ *(```+).*?^ *\1$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S
    )
    paragraphs = re.split(r"\n\s*\n|\n(?=\||- |\d+\. )", without_blocks)
    broken = [text for text in paragraphs if len(re.findall(r"`+", text)) % 2]
    assert broken == []


@pytest.mark.slow
def test_readme_example_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("pandas")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", readme, re.DOTALL)
    monkeypatch.setenv("TRACKLIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("demo-logs").symlink_to(get_demo_log(tmp_path_factory, now=NOW))
    names: dict[str, Any] = {}
    for example in examples:
        exec(compile(example, "README.md", "exec"), names)
    assert len(names["loss"]) > 0
    assert len(names["table"]) > len(names["loss"])
    names["log"].close()


@pytest.mark.parametrize("page", [*ROOT.glob("docs/dashboards/*.md")], ids=lambda page: page.name)
def test_all_dashboards_have_a_screenshot(page: Path) -> None:
    assert f"]({page.stem}.webp)" in page.read_text(encoding="utf-8")
    for suffix in ("", ".dark", ".zh_CN", ".dark.zh_CN"):
        assert page.with_name(f"{page.stem}{suffix}.webp").is_file()
