"""The Projector in Chinese and with longer text, on wide and narrow screens."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import board_fixture
from tests.web.embedding_log import POINT_COUNT, drawn_points, write_embedding_log
from tests.web.test_languages import STORED_LANGUAGE
from tests.web.test_looks import find_violations, overflows

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]

points = board_fixture(write_embedding_log, "module", "?tab=projector")

#: Words of the log, and names that are the same in every language.
UNTRANSLATED = re.compile(
    r"(west|east|middle|none|word|side|weight|places|run|PCA|t-SNE|UMAP|TSV|k-means|HDBSCAN"
    r"|From TensorBoard|TensorBoard|tag|px|npy|npz|tsv|csv|parquet|arrow|safetensors|pt|h5)"
    r"\b[-\d]*",
    re.IGNORECASE,
)
#: All texts of an element, visible or for screen readers.
LIST_TEXTS = """root => [...root.querySelectorAll('*')].flatMap((element) => [
    ...[...element.childNodes].filter(({ nodeType }) => nodeType === 3).map(({ data }) => data),
    ...['title', 'aria-label', 'placeholder'].map((name) => element.getAttribute(name) ?? ''),
])"""


@pytest.mark.parametrize("width", [1440, 390])
def test_is_complete_in_chinese(points: str, open_page: OpenPage, width: int) -> None:
    page = open_page(f"{points}&dims=2&point=0&find=west&chosen=3-5", width=width, locale="zh-CN")
    expect(drawn_points(page)).to_have_accessible_name(f"{POINT_COUNT} 个点的 PCA")
    assert not overflows(page)
    if width < 900:
        page.get_by_role("button", name="设置和详细信息").click()
    expect(page.get_by_role("list", name="最近邻").get_by_role("listitem")).to_have_count(20)
    assert not overflows(page)
    assert find_violations(page) == []
    parts = [
        page.get_by_role("complementary", name="设置和详细信息"),
        page.get_by_role("toolbar", name="嵌入投影"),
        page.get_by_role("group", name="投影"),
    ]
    texts: list[str] = [text for part in parts for text in part.evaluate(LIST_TEXTS)]
    english = [text for text in texts if re.search("[A-Za-z]{2}", UNTRANSLATED.sub("", text))]
    assert english == []


def test_translates_messages_of_the_server(points: str, open_page: OpenPage) -> None:
    page = open_page(points, locale="zh-CN")
    drawn_points(page)
    page.get_by_role("button", name="选择嵌入").click()
    page.get_by_role("dialog").get_by_role("option", name=re.compile("too_few")).click()
    warning = page.get_by_role("status").filter(has_text="5 个向量有 41 行标签")
    expect(warning).to_contain_text("多余的行将被忽略。")
    page.get_by_role("button", name="UMAP", exact=True).click()
    quality = page.get_by_role("status", name="布局质量")
    expect(quality).to_have_attribute("title", re.compile("聚类之间的距离没有太大意义"))


def test_longer_text_fits_on_a_phone(points: str, open_page: OpenPage) -> None:
    page = open_page("about:blank", width=390)
    page.add_init_script(f"localStorage.setItem('{STORED_LANGUAGE}', 'en-XA')")
    page.goto(points)
    drawn_points(page)
    assert not overflows(page)
