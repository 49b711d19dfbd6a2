"""The documentation site builds without warnings, in both languages."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest

import tracklight
from tests.contract.pages import ROOT
from tracklight import plugin

pytest.importorskip("myst_parser", reason="the documentation tools are not installed: make docs")
pytest.importorskip("furo", reason="the documentation tools are not installed: make docs")

from babel.messages.catalog import Catalog

from tools import check_translations

pytestmark = pytest.mark.slow

MODULES = {
    "debugger",
    "errors",
    "fairness",
    "hparams",
    "notebook",
    "projector",
    "summary",
    "what_if",
}
#: Types that a table of the page describes, and names that other pages of the reference have.
NOT_CLASSES = {"ExportPart", "FileKind", "Float32", "Float64", "Int32", "Int64", "Method"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site")


@pytest.fixture(scope="module")
def english(folder: Path) -> Path:
    """The site as `make docs` builds it; every warning is an error."""
    # Missing pages, broken links and pages without a table of contents are warnings.
    build(folder)
    return folder


@pytest.fixture(scope="module")
def chinese(folder: Path) -> Path:
    build(folder / "zh_CN", "-D", "language=zh_CN")
    return folder / "zh_CN"


@pytest.fixture(scope="module")
def site(english: Path, chinese: Path) -> Path:
    """Both languages of the site."""
    return english


def build(target: Path, *options: str) -> None:
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", *options]
    command += [str(ROOT / "docs"), str(target)]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_site_has_all_pages(language: str, request: pytest.FixtureRequest) -> None:
    root: Path = request.getfixturevalue(language)
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    built = {path.relative_to(root).with_suffix(".md") for path in root.rglob("*.html")}
    assert pages <= built


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    loaded = re.compile(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="https?://')
    pages = [*site.rglob("*.html")]
    assert [str(page) for page in pages if loaded.search(page.read_text(encoding="utf-8"))] == []


def test_every_page_links_to_the_same_page_in_the_other_language(site: Path) -> None:
    switch = re.compile(r'<p class="language-switch">.*?href="([^"]+)"', re.DOTALL)
    for name in ("index.html", "dashboards/scalars.html", "zh_CN/dashboards/scalars.html"):
        page = site / name
        found = switch.search(page.read_text(encoding="utf-8"))
        assert found, name
        other = (page.parent / found[1]).resolve()
        assert other.is_file() and other.name == page.name and other != page


def test_all_links_and_anchors_exist(site: Path) -> None:
    anchors: dict[Path, set[str]] = {}
    broken = []
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r'<a [^>]*href="([^"]+)"', text):
            if re.match(r"https?:|mailto:", link):
                continue
            name, _, anchor = html.unescape(link).partition("#")
            target = (page.parent / unquote(name)).resolve() if name else page.resolve()
            if target not in anchors and target.is_file():
                ids = re.findall(r'\bid="([^"]+)"', target.read_text(encoding="utf-8"))
                anchors[target] = {html.unescape(one) for one in ids}
            if target not in anchors or (anchor and unquote(anchor) not in anchors[target]):
                broken.append(f"{page.relative_to(site)}: {link}")
    assert broken == []


def test_chinese_pages_are_chinese(site: Path) -> None:
    page = (site / "zh_CN" / "dashboards" / "scalars.html").read_text(encoding="utf-8")
    assert "<h1>标量" in page and 'lang="zh-CN"' in page
    assert "Reading a chart" not in page


def test_translations_are_complete(tmp_path: Path) -> None:
    check_translations.extract(tmp_path)
    assert check_translations.list_problems(tmp_path) == []


def test_chinese_pages_use_the_terms_of_the_page() -> None:
    """Names in italics, such as *Sync steps*, are those of the user interface."""
    terms: dict[str, set[str]] = {}
    for path in (ROOT / "web" / "messages" / "en").glob("*.json"):
        chinese = json.loads((path.parents[1] / "zh-CN" / path.name).read_text(encoding="utf-8"))
        for key, text in json.loads(path.read_text(encoding="utf-8")).items():
            terms.setdefault(text.rstrip("…"), set()).add(chinese[key].rstrip("…"))
    compared, wrong = 0, []
    for name in check_translations.list_pages():
        for message in check_translations.read_catalog(check_translations.LOCALE / f"{name}.po"):
            for term in re.findall(r"(?<!\*)\*([^*`]+)\*(?!\*)", str(message.id)):
                expected = terms.get(term.rstrip("…"), set())
                compared += bool(expected)
                if expected and not any(text in str(message.string) for text in expected):
                    wrong.append(f"{name}: {term} is {' or '.join(sorted(expected))}")
    assert compared > 30
    assert wrong == []


def test_lists_missing_stale_and_fuzzy_translations() -> None:
    source, translated = Catalog(), Catalog()
    for text in ("same", "new", "guessed", "[a](b.md)"):
        source.add(text)
    translated.add("same", "相同")
    translated.add("guessed", "猜测", flags=["fuzzy"])
    translated.add("[a](b.md)", "[甲](c.md)")
    translated.add("old", "旧")
    assert list(check_translations.iter_problems("page", source, translated)) == [
        "page: missing: new",
        "page: fuzzy: guessed",
        "page: other links: [a](b.md)",
        "page: stale: old",
    ]


def test_reference_lists_the_public_api(site: Path) -> None:
    pages = [path.read_text(encoding="utf-8") for path in (site / "api").glob("*.html")]
    listed = {
        name.rpartition(".")[2]
        for page in pages
        for name in re.findall(r'<dt class="sig[^>]* id="([^"]+)"', page)
    }
    functions = {name for name in tracklight.__all__ if not name.startswith("_")} - MODULES
    assert functions - listed == set()
    documented = {name for name in plugin.__all__ if name[0].isupper() or name.islower()}
    assert documented - listed - NOT_CLASSES == set()
