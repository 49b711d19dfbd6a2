"""The language of the page: the browser's by default, another one by choice."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

STORED_LANGUAGE = "tracklight.language"


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
