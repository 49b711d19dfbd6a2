"""Live updates: new points, runs and tags, pausing, progress and lost connections."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from tests.server.waiting import wait_until
from tests.web.conftest import Serve
from tests.web.event_writer import append_records, loss_records, write_sweep
from tests.web.live_updates import count_streams, set_hidden
from tests.web.locators import connection_status, run_count, run_row, step_range, tag_row, tag_table
from tests.web.waiting import wait_for_value

pytestmark = [pytest.mark.browser, pytest.mark.smoke]

OVERVIEW = "?tab=overview"


@pytest.fixture
def page(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> Page:
    write_sweep(logdir)
    page = open_page(serve(logdir).address + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 49))
    return page


def test_new_points_appear(page: Page, logdir: Path) -> None:
    append_records(logdir / "vit", *loss_records("train/loss", range(50, 80), scale=30.0))
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 79))
    expect(tag_row(page, "train/loss")).to_contain_text("180")
    expect(tag_row(page, "train/loss")).to_contain_text("0.0863 \u2013 0.578")
    expect(page.locator("footer")).to_contain_text("375 points")
    expect(connection_status(page, "Live")).to_be_visible()


def test_new_run_and_new_tag_appear(page: Page, logdir: Path) -> None:
    append_records(logdir / "conv" / "lr9e-4", *loss_records("eval/bleu", range(5)))
    expect(run_row(page, "conv/lr9e-4")).to_be_visible()
    expect(tag_row(page, "eval/bleu")).to_be_visible()


def test_removed_run_disappears(page: Page, logdir: Path) -> None:
    shutil.rmtree(logdir / "conv" / "lr1e-3")
    expect(run_row(page, "conv/lr1e-3")).to_have_count(0)
    expect(run_count(page)).to_have_text("2 runs")


def test_live_updates_keep_scroll_position(page: Page, logdir: Path) -> None:
    many = [record for tag in range(100) for record in loss_records(f"layer/{tag}", [1])]
    append_records(logdir / "vit", *many)
    expect(page.get_by_role("main")).to_contain_text("106 tags")
    tag_table(page).evaluate("element => (element.scrollTop = 1500)")
    expect(tag_row(page, "layer/40")).to_be_visible()
    append_records(logdir / "vit", *loss_records("layer/40", [2, 3, 4]))
    expect(tag_row(page, "layer/40")).to_contain_text(step_range(1, 4))
    wait_for_value(page, lambda: tag_table(page).evaluate("element => element.scrollTop"), 1500)


def test_hidden_page_closes_stream_and_catches_up(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    board = serve(logdir).address
    page = open_page(board + OVERVIEW)
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 49))
    wait_until(lambda: count_streams(board) == 1)
    set_hidden(page, True)
    wait_until(lambda: count_streams(board) == 0)
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    append_records(logdir / "vit", *loss_records("train/loss", range(50, 60)))
    set_hidden(page, False)
    expect(run_row(page, "late")).to_be_visible()
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 59))
    wait_until(lambda: count_streams(board) == 1)


def test_paused_page_does_not_update_and_catches_up(page: Page, logdir: Path) -> None:
    page.get_by_role("button", name="Pause live updates").click()
    expect(connection_status(page, "Updates paused")).to_be_visible()
    expect(page).to_have_url(re.compile("paused=1"))
    append_records(logdir / "vit", *loss_records("train/loss", range(50, 80)))
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    page.wait_for_timeout(2500)
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 49))
    expect(run_row(page, "late")).to_have_count(0)
    page.keyboard.press("l")
    expect(run_row(page, "late")).to_be_visible()
    expect(tag_row(page, "train/loss")).to_contain_text(step_range(0, 79))
    expect(page).not_to_have_url(re.compile("paused"))


def test_shows_progress_of_first_load(sweep: str, open_page: Callable[..., Page]) -> None:
    page = open_page("about:blank")
    progress = {"files_done": 3, "files_total": 12, "bytes_done": 4e6, "bytes_total": 16e6}
    status = {"loading": True, "progress": progress, "problems": [], "problem_count": 0}

    def fulfill_with_progress(route: Route) -> None:
        body = route.fetch(headers={"accept": "application/json"}).json()
        route.fulfill(json={**body, "status": status})

    page.route("**/api/v1/status", fulfill_with_progress)
    # Block live updates, which would report that the log is already loaded.
    page.add_init_script("delete window.SharedWorker")
    page.route("**/api/v1/live/poll?*", lambda _: None)
    page.goto(sweep + OVERVIEW)
    expect(connection_status(page, "Loading").locator("..")).to_contain_text(
        "3 of 12 files, 4 of 16 MB"
    )
    bar = page.get_by_role("progressbar", name="Loading logs")
    wait_for_value(page, lambda: bar.evaluate("bar => bar.value"), 0.25)


def test_shows_lost_connection_and_recovers_with_same_view(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    board = serve(logdir)
    page = open_page(board.address + OVERVIEW + "&tags=loss&cursor=12")
    expect(tag_row(page, "train/loss")).to_be_visible()
    board.stop()
    expect(connection_status(page, "Server unreachable")).to_be_visible()
    expect(tag_row(page, "train/loss")).to_be_visible()
    notice = page.get_by_role("main").get_by_role("status").filter(has_text="Server unreachable")
    expect(notice).to_contain_text("Showing the last loaded data.")
    append_records(logdir / "late", *loss_records("train/loss", range(5)))
    serve(logdir, port=int(board.address.rstrip("/").rpartition(":")[2]))
    expect(connection_status(page, "Live")).to_be_visible()
    expect(notice).to_have_count(0)
    expect(run_row(page, "late")).to_be_visible()
    expect(page.get_by_label("Filter tags")).to_have_value("loss")
    expect(page).to_have_url(re.compile("tags=loss&cursor=12"))
