"""The language of the page, and every dashboard in Chinese and with longer text."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests import builders as b
from tests.web.chinese_log import CAPTURES, RUNS, event_record
from tests.web.conftest import Serve
from tests.web.event_writer import append_records
from tests.web.every_dashboard import (
    CHINESE,
    DASHBOARDS,
    LONG_ENGLISH,
    STORED_LANGUAGE,
    Dashboard,
)
from tests.web.page_checks import (
    has_chinese_font,
    list_cut_labels,
    list_english,
    list_overlaps,
)
from tests.web.test_appearance import list_violations_in, overflows
from tests.web.waiting import get_stable_text
from tracklight.analysis.profiles.captures import make_capture_id
from tracklight.formats import summary

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]
WIDE_PX, PHONE_PX = 1440, 390


# ---- choice of the language


def test_the_page_follows_the_language_of_the_browser(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep, locale="zh-TW")
    expect(page.get_by_role("link", name="标量")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh-CN")


def test_english_loads_no_other_language(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep, locale="de-DE")
    expect(page.get_by_role("link", name="Scalars")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "en")
    scripts = page.evaluate(
        "performance.getEntriesByType('resource').map(({ name }) => name).filter((n) => "
        "/assets\\/(start|server)-/.test(n))"
    )
    assert scripts == []


def test_the_language_is_chosen_in_the_settings(sweep: str, open_page: OpenPage) -> None:
    page = open_page(sweep, locale="en-US")
    page.get_by_role("button", name="Settings", exact=True).first.click()
    page.get_by_role("group", name="Language").get_by_role("button", name="简体中文").click()
    expect(page.get_by_role("link", name="标量")).to_be_visible()
    assert page.evaluate(f"localStorage.getItem('{STORED_LANGUAGE}')") == "zh-CN"


# ---- every dashboard

CELLS = "[role=columnheader], [role=rowheader], [role=cell], th[scope=row]"


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=str)
def test_dashboard_is_complete_and_fits_in_chinese(
    dashboard: Dashboard, chinese_board: str, open_page: OpenPage
) -> None:
    page = open_page("about:blank", width=WIDE_PX)
    dashboard.open(page, chinese_board, CHINESE)
    expect(page.locator("html")).to_have_attribute("lang", CHINESE)
    assert has_chinese_font(page), "Install a Chinese font, such as fonts-wqy-microhei"
    themes: dict[int, Literal["light", "dark"]] = {WIDE_PX: "light", PHONE_PX: "dark"}
    for width, theme in themes.items():
        page.set_viewport_size({"width": width, "height": 900})
        scope = "html"
        for view in dashboard.iter_views(page):
            assert list_english(page, dashboard.names) == [], (view, width)
            assert not overflows(page), (view, width)
            assert list_cut_labels(page) == [], (view, width)
            assert list_violations_in(page, theme, scope) == [], (view, width)
            scope = "main"  # All views have the same header and run table.


@pytest.mark.parametrize("dashboard", DASHBOARDS, ids=str)
def test_dashboard_has_space_for_longer_text(
    dashboard: Dashboard, chinese_board: str, open_page: OpenPage
) -> None:
    """The pseudo-locale is English with 40 % more text."""
    page = open_page("about:blank", width=WIDE_PX)
    dashboard.open(page, chinese_board, LONG_ENGLISH)
    expect(page.get_by_role("link", name="[Škíp tö çöñtéñt")).to_be_attached()
    for view in dashboard.iter_views(page):
        assert not overflows(page), view
        assert list_overlaps(page) == [], view
        # Columns of tables can be resized, and their cells have tooltips.
        assert list_cut_labels(page, ignored=CELLS) == [], view
    page.set_viewport_size({"width": PHONE_PX, "height": 900})
    assert not overflows(page)


# ---- menus and panels of the page


def check_chinese(page: Page, names: str = "(?!)") -> None:
    """Check the whole page once its texts no longer change."""
    get_stable_text(page.locator("body"))
    assert list_english(page, names) == []
    assert list_cut_labels(page) == []
    assert not overflows(page)


def test_menus_and_panels_are_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{chinese_board}?tab=scalars", locale=CHINESE)
    expect(page.get_by_role("article").first).to_be_visible()
    # The examples of tag patterns are names.
    names = r"\(train\|eval\)|train/loss|\*/loss|re:loss\$"
    for label in ("分组 无", "颜色 运行", "列", "更多运行操作", "基线 的操作"):
        page.get_by_role("button", name=label, exact=True).click()
        expect(page.locator("[role=menu], [role=dialog]").first).to_be_visible()
        check_chinese(page, names)
        page.keyboard.press("Escape")
    page.get_by_role("button", name="训练/损失 的更多操作").click()
    expect(page.get_by_role("menu")).to_be_visible()
    check_chinese(page)
    page.keyboard.press("Escape")
    for label in ("告警", "设置"):
        # The button may have the number of new alerts.
        page.get_by_role("button", name=re.compile(f"^(\\d+ 条新)?{label}$")).click()
        expect(page.get_by_role("complementary", name=label)).to_be_visible()
        check_chinese(page, names)
    page.locator("body").press("?")
    expect(page.get_by_role("dialog", name="键盘快捷键")).to_be_visible()
    check_chinese(page, names)
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    expect(page.get_by_role("dialog")).to_be_visible()
    check_chinese(page, names)


# ---- errors and empty states


def test_empty_log_is_chinese(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    page = open_page(serve(logdir).address, locale=CHINESE)
    expect(page.get_by_role("heading", name="尚无运行")).to_be_visible()
    check_chinese(page)


def test_dashboards_without_data_are_chinese(
    logdir: Path, serve: Serve, open_page: OpenPage
) -> None:
    append_records(logdir / RUNS[0], event_record(0, summary.scalar("损失", 1.0)))
    page = open_page("about:blank", locale=CHINESE)
    address = serve(logdir).address
    for dashboard in DASHBOARDS:
        if dashboard.tab in ("overview", "runs", "scalars"):
            continue
        page.goto(f"{address}?tab={dashboard.tab}")
        expect(page.locator("main").locator("h2, strong").first).to_be_visible()
        check_chinese(page, names=dashboard.names)


def test_unreachable_server_is_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page("about:blank", locale=CHINESE)
    page.route("**/api/v1/**", lambda route: route.abort())
    page.goto(chinese_board)
    expect(page.get_by_role("alert")).to_be_visible()
    check_chinese(page)


def test_lost_connection_is_chinese(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    append_records(logdir / RUNS[0], event_record(0, summary.scalar("损失", 1.0)))
    board = serve(logdir)
    page = open_page(board.address, locale=CHINESE)
    expect(page.get_by_role("article").first).to_be_visible()
    board.stop()
    expect(page.get_by_role("banner")).to_contain_text("无法连接")
    check_chinese(page)


def test_warnings_of_the_server_are_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{chinese_board}?tab=projector", locale=CHINESE)
    page.get_by_role("button", name="选择嵌入").click()
    page.get_by_role("dialog").get_by_role("option", name="太少").click()
    warning = page.get_by_role("status").filter(has_text="5 个向量有 41 行标签")
    expect(warning).to_contain_text("多余的行将被忽略。")
    page.get_by_role("button", name="UMAP", exact=True).click()
    quality = page.get_by_role("status", name="布局质量")
    expect(quality).to_have_attribute("title", re.compile("聚类之间的距离没有太大意义"))
    check_chinese(page)


def test_unreadable_capture_is_chinese(chinese_board: str, open_page: OpenPage) -> None:
    capture = make_capture_id("性能/损坏", "xplane", CAPTURES["损坏"])
    page = open_page(f"{chinese_board}?tab=profile&capture={capture}", locale=CHINESE)
    expect(page.get_by_text("无法读取“主机.xplane.pb”")).to_be_visible()
    check_chinese(page)


def test_validation_is_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{chinese_board}?tab=fairness&fairness-view=validation", locale=CHINESE)
    page.get_by_role("button", name=re.compile("^评估")).click()
    page.get_by_role("dialog").get_by_role("option", name="完整").click()
    expect(page.get_by_text("未通过")).to_be_visible()
    # Slices, metrics and features of the folder.
    check_chinese(page, names=r"[\w.:@]*_[\w.:@]*|\w+:\w+|[a-z]+|AUC|TensorFlow")


def test_unreadable_evaluation_is_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{chinese_board}?tab=fairness", locale=CHINESE)
    page.get_by_role("button", name=re.compile("^评估")).click()
    page.get_by_role("dialog").get_by_role("option", name="损坏").click()
    expect(page.locator("main").get_by_text("metrics-00000-of-00002.tfrecord")).to_be_visible()
    check_chinese(page, names=r"[\w.-]+\.tfrecord|Holm|Bonferroni|Benjamini-Hochberg")


def test_invalid_expressions_are_chinese(chinese_board: str, open_page: OpenPage) -> None:
    page = open_page(f"{chinese_board}?tab=text&q=(&q-regex=1&tags=[&tags-regex=1", locale=CHINESE)
    expect(page.get_by_text("字符组未闭合")).to_be_visible()
    expect(page.get_by_text("正则表达式无效。")).to_be_visible()
    check_chinese(page)


def test_damaged_file_is_chinese(logdir: Path, serve: Serve, open_page: OpenPage) -> None:
    records = [event_record(step, summary.scalar("损失", 1.0)) for step in range(3)]
    records[1] = b.flip(records[1], len(records[1]) - 8)
    append_records(logdir / RUNS[0], *records)
    page = open_page(serve(logdir).address, locale=CHINESE)
    notice = page.locator("main [role=alert], main [role=status]").filter(has_text="损坏")
    expect(notice.first).to_be_visible()
    check_chinese(page, names=r"events\.out\.tfevents[\w.]*")
