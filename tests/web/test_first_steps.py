"""Empty log directories, damaged files and failing requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import tracklight
from tests import builders as b
from tests.web.conftest import TIMEOUT_MS, Serve
from tests.web.event_writer import EVENT_FILE_NAME, append_records, loss_records, write_sweep
from tests.web.locators import click_retry, dashboard_tab, run_row, tag_row
from tests.web.waiting import wait_for_condition

pytestmark = pytest.mark.browser

OVERVIEW = "?tab=overview"


def test_empty_directory_shows_example_code(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir).address, permissions=["clipboard-read", "clipboard-write"])
    main = page.get_by_role("main")
    expect(main).to_contain_text(f"Watching {logdir}. The directory is empty.")
    for framework, code in (
        ("Keras", "tracklight.keras.TensorBoard"),
        ("JAX", "tracklight.jax.scalars"),
        ("Python", "tracklight.run"),
        ("PyTorch", "from tracklight.torch import SummaryWriter"),
    ):
        main.get_by_role("button", name=framework).click()
        expect(page.get_by_label("Code")).to_contain_text(code)
        expect(page.get_by_label("Code")).to_contain_text(f'"{logdir}/run-1"')
    main.get_by_role("button", name="Copy").click()
    expect(main.get_by_role("button", name="Copied")).to_be_visible()
    clipboard = "navigator.clipboard.readText()"
    wait_for_condition(page, lambda: "tracklight.torch" in page.evaluate(clipboard))


@pytest.mark.parametrize("framework", ["PyTorch", "JAX", "Python"])
def test_example_code_writes_a_run(
    logdir: Path, serve: Serve, open_page: Callable[..., Page], framework: str
) -> None:
    page = open_page(serve(logdir).address + OVERVIEW)
    page.get_by_role("button", name=framework).click()
    expect(page.get_by_role("button", name=framework)).to_have_attribute("aria-pressed", "true")
    exec(page.get_by_label("Code").inner_text(), {})
    expect(run_row(page, "run-1")).to_be_visible()
    expect(tag_row(page, "train/loss")).to_be_visible()
    with tracklight.open(logdir) as log:
        assert len(log.scalar("run-1", "train/loss")) == 1000


def test_first_run_replaces_the_empty_state(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir).address + OVERVIEW)
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    append_records(logdir / "first", *loss_records("loss", range(5)))
    expect(run_row(page, "first")).to_be_visible()
    expect(tag_row(page, "loss")).to_be_visible()


def test_directory_without_event_files_lists_its_content(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    (logdir / "train.log").touch()
    page = open_page(serve(logdir).address)
    main = page.get_by_role("main")
    expect(main).to_contain_text("Found train.log, but no event files")
    (logdir / "notes.txt").touch()
    expect(main).to_contain_text("Found notes.txt, train.log, but no event files")


def test_missing_directory_is_watched(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir / "later").address)
    expect(page.get_by_role("main")).to_contain_text("The directory does not exist yet")
    append_records(logdir / "later" / "first", *loss_records("loss", range(5)))
    expect(run_row(page, "first")).to_be_visible()
    expect(page).to_have_title("Scalars · tracklight")


def test_dashboard_without_data_shows_example_code(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    image_value = b.value("samples", b.image(b"not looked at"), b.metadata("images"))
    append_records(logdir / "vit", b.record(b.event(b.summary(image_value), step=3, wall=1.0)))
    page = open_page(serve(logdir).address + "?tab=overview")
    expect(tag_row(page, "samples")).to_be_visible()
    expect(dashboard_tab(page, "Scalars")).to_have_count(0)
    page.get_by_role("button", name="More", exact=True).click()
    more = page.get_by_role("dialog", name="Inactive dashboards")
    expect(more.get_by_label("Code").first).to_contain_text("run.log(")
    more.get_by_role("button", name="Scalars", exact=True).click()
    expect(page.get_by_role("heading", name="No data for Scalars yet")).to_be_visible()
    expect(page.get_by_role("main")).to_contain_text("1 run, 1 image tag")


def test_damaged_record_is_reported(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    records = loss_records("loss", range(20))
    offset = sum(map(len, records[:5]))
    records[5] = b.flip(records[5], -6)
    append_records(logdir / "conv", *records)
    page = open_page(serve(logdir).address + OVERVIEW)
    notice = page.get_by_role("main").get_by_role("status").filter(has_text="damaged")
    expect(notice).to_contain_text(
        f"Skipped 1 damaged record in {EVENT_FILE_NAME} at byte {offset}."
    )
    expect(page.locator("footer")).to_contain_text("1 damaged")
    notice.get_by_role("button", name="Show details").click()
    expect(notice.get_by_role("listitem")).to_contain_text(f"conv/{EVENT_FILE_NAME}")
    expect(tag_row(page, "loss")).to_contain_text("19")
    notice.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)
    page.locator("footer").get_by_role("button", name="1 damaged").click()
    expect(notice).to_be_visible()


def test_failed_request_can_be_retried(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    page.route("**/api/v1/runs?limit=*", lambda route: route.abort())
    page.goto(serve(logdir).address)
    expect(page.get_by_role("alert")).to_contain_text("Server unreachable")
    expect(page.get_by_role("button", name="Retry")).to_be_visible()
    page.unroute("**/api/v1/runs?limit=*")
    click_retry(page)
    expect(run_row(page, "vit")).to_be_visible()


def test_error_message_of_the_server_is_shown(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    body = '{"error": {"message": "The share is away.", "hint": "Mount it."}}'
    page.route("**/api/v1/runs?limit=*", lambda route: route.fulfill(status=500, body=body))
    page.goto(serve(logdir).address)
    expect(page.get_by_role("alert")).to_have_text("The share is away. Mount it.")


def test_dashboard_code_that_fails_to_load_shows_an_error(
    sweep: str, open_page: Callable[..., Page]
) -> None:
    page = open_page(sweep + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_be_visible()
    page.route("**/assets/*.js", lambda route: route.abort())
    # Not Scalars, whose code is loaded with the page.
    dashboard_tab(page, "Workspace").click()
    expect(page.get_by_role("alert")).to_contain_text("Could not open Workspace")
    page.unroute("**/assets/*.js")
    dashboard_tab(page, "Overview").click()
    expect(tag_row(page, "train/loss")).to_be_visible()


@pytest.fixture
def failing_page(browser: Browser) -> Iterator[Page]:
    """Return a page whose programming errors do not fail the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.set_default_timeout(TIMEOUT_MS)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize(
    "code",
    [
        "export function mount() { throw new TypeError('rows is undefined'); }",
        """export function mount(target, context) {
            setTimeout(() => context.reportError(new TypeError('rows is undefined')));
            return () => {};
        }""",
    ],
)
def test_error_of_a_dashboard_is_shown_as_programming_error(
    sweep: str, failing_page: Page, code: str
) -> None:
    def add_plugin(route: Route) -> None:
        rows = route.fetch(headers={"accept": "application/json"}).json()
        row = {**rows[0], "name": "broken", "title": "Broken", "module_url": "broken.js"}
        route.fulfill(body=json.dumps([*rows, row]), content_type="application/json")

    page = failing_page
    messages: list[str] = []
    page.on("console", lambda message: messages.append(f"{message.type}: {message.text}"))
    page.route("**/api/v1/dashboards", add_plugin)
    page.route(
        "**/broken.js", lambda route: route.fulfill(body=code, content_type="text/javascript")
    )
    page.goto(sweep + "?tab=broken")
    alert = page.get_by_role("main").get_by_role("alert")
    expect(alert).to_contain_text("Broken failed because of a programming error: rows is undefined")
    assert any("error" in message and "rows is undefined" in message for message in messages)
    dashboard_tab(page, "Overview").click()
    expect(tag_row(page, "train/loss")).to_be_visible()
    expect(alert).to_have_count(0)


def test_uncaught_error_is_not_reported_as_unreachable_server(
    sweep: str, failing_page: Page
) -> None:
    page = failing_page
    page.goto(sweep + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_be_visible()
    page.evaluate("setTimeout(() => { throw new TypeError('x is not a function'); })")
    notice = page.get_by_role("main").get_by_role("alert")
    expect(notice).to_contain_text("Programming error in the page: x is not a function")
    expect(page.get_by_text("Server unreachable")).to_have_count(0)
    notice.get_by_role("button", name="Dismiss").click()
    expect(notice).to_have_count(0)
