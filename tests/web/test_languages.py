"""The language of the page: the browser's by default, another one by choice."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Page, expect

from tests.web.audio_log import write_audio_log
from tests.web.conftest import Serve
from tests.web.graph_view import write_graph_log
from tests.web.histogram_log import write_histogram_log
from tests.web.hparams_log import write_grid as write_hparams
from tests.web.image_log import write_image_log
from tests.web.mesh_log import write_mesh_log
from tests.web.pr_curve_log import write_pr_curves
from tests.web.scalar_log import write_scalar_log
from tests.web.test_looks import overflows
from tests.web.text_log import write_text_log

STORED_LANGUAGE = "tracklight.language"


class Dashboard(NamedTuple):
    """A dashboard to open in Chinese and with longer text."""

    tab: str
    write_log: Callable[[Path], object]
    #: CSS selector of content that is shown when the dashboard has loaded.
    content: str
    #: Names in the log, which are not translated, as a regular expression.
    names: str


DASHBOARDS = [
    Dashboard(
        "hparams",
        write_hparams,
        "[data-trial]",
        r"run-\d+|accuracy|loss|dropout|units|learning_rate|optimizer|adam|sgd",
    ),
    Dashboard(
        "graphs",
        write_graph_log,
        "[data-node]",
        r"a_deep|images|net|head|block_\d|kernel|Read|add|float32|resource|VarHandleOp"
        r"|VariableOp|TPU|MatMul|Relu|Softmax|AddV2|Placeholder|conv|op:|shape:|ONNX|pbtxt"
        r"|Enter|Graphviz",
    ),
]

#: Text that the dashboard shows, and its accessible names.
READ_TEXTS = """() => {
  const texts = [];
  for (const element of document.querySelectorAll("main, main *")) {
    for (const name of ["aria-label", "title", "placeholder"])
      if (element.hasAttribute(name)) texts.push(element.getAttribute(name));
    for (const node of element.childNodes)
      if (node.nodeType === Node.TEXT_NODE && !element.closest("style, script"))
        texts.push(node.textContent);
  }
  return texts;
}"""


def find_english(page: Page, names: str) -> list[str]:
    """Return the texts of the dashboard with English words that are not names in the log."""
    known = re.compile(rf"{names}|tracklight|CSV|JSON|SVG|PNG|NaN|Python|\.\.\.")
    texts = page.evaluate(READ_TEXTS)
    return sorted({text for text in texts if re.search(r"[A-Za-z]{3}", known.sub("", text))})


@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda dashboard: dashboard.tab)
def test_dashboards_are_chinese_and_fit(
    dashboard: Dashboard,
    width: int,
    logdir: Path,
    serve: Serve,
    open_page: Callable[..., Page],
) -> None:
    dashboard.write_log(logdir)
    address = f"{serve(logdir).address}?tab={dashboard.tab}"
    page = open_page(address, width=width, locale="zh-CN")
    expect(page.locator(dashboard.content).first).to_be_visible()
    assert not overflows(page)
    assert find_english(page, dashboard.names) == []
    page.evaluate(f"localStorage.setItem('{STORED_LANGUAGE}', 'en-XA')")
    page.reload()
    expect(page.locator(dashboard.content).first).to_be_visible()
    assert not overflows(page)


def test_the_page_follows_the_language_of_the_browser(
    sweep: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(sweep, locale="zh-TW")
    expect(page.get_by_role("link", name="标量")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")


def test_english_loads_no_other_language(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep, locale="de-DE")
    expect(page.get_by_role("link", name="Scalars")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    scripts = page.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name).filter((n) => "
        "/assets\\/(start|server)-/.test(n))"
    )
    assert scripts == []


def test_the_language_is_chosen_in_the_settings(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep, locale="en-US")
    page.get_by_role("button", name="Settings", exact=True).first.click()
    page.get_by_role("group", name="Language").get_by_role("button", name="简体中文").click()
    expect(page.get_by_role("link", name="标量")).to_be_visible()
    assert page.evaluate(f"localStorage.getItem('{STORED_LANGUAGE}')") == "zh-CN"


def test_the_pseudo_locale_lengthens_text(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page(sweep)
    page.evaluate(f"localStorage.setItem('{STORED_LANGUAGE}', 'en-XA')")
    page.reload()
    expect(page.get_by_role("link", name="[Šçálárs")).to_be_visible()


#: Dashboards of cards: name, log, and the label of a control in Chinese.
CARD_DASHBOARDS = [
    pytest.param("scalars", write_scalar_log, "平滑", id="scalars"),
    pytest.param("distributions", write_histogram_log, "运行布局", id="distributions"),
    pytest.param("histograms", write_histogram_log, "直方图模式", id="histograms"),
    pytest.param("pr_curves", write_pr_curves, "曲线类型", id="pr_curves"),
    pytest.param("text", write_text_log, "文本格式", id="text"),
    pytest.param("audio", write_audio_log, "频谱图", id="audio"),
    pytest.param("images", write_image_log, "卡片布局", id="images"),
    pytest.param("mesh", write_mesh_log, "绘制模式", id="mesh"),
]


@pytest.mark.parametrize(("dashboard", "write_log", "label"), CARD_DASHBOARDS)
def test_a_dashboard_is_shown_in_chinese(
    tmp_path: Path,
    serve: Serve,
    open_page: Callable[..., Page],
    dashboard: str,
    write_log: Callable[[Path], None],
    label: str,
) -> None:
    write_log(tmp_path)
    page = open_page(f"{serve(tmp_path).address}?tab={dashboard}", locale="zh-CN")
    expect(page.get_by_role("article").first).to_be_visible()
    expect(page.get_by_label(label).first).to_be_visible()


@pytest.mark.parametrize(("dashboard", "write_log", "label"), CARD_DASHBOARDS)
def test_long_text_fits_on_a_phone(
    tmp_path: Path,
    serve: Serve,
    open_page: Callable[..., Page],
    dashboard: str,
    write_log: Callable[[Path], None],
    label: str,
) -> None:
    write_log(tmp_path)
    page = open_page("about:blank", width=390)
    page.add_init_script(f"localStorage.setItem('{STORED_LANGUAGE}', 'en-XA')")
    page.goto(f"{serve(tmp_path).address}?tab={dashboard}")
    expect(page.get_by_role("article").first).to_be_visible()
    assert not overflows(page)
