"""What happens on the page while somebody writes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.parts import live_mark, run, run_count, runs, steps, table, tag
from tests.web.writing import append, scalars, write_sweep

pytestmark = pytest.mark.browser


@pytest.fixture
def page(logdir: Path, serve: Serve, open_page: Callable[..., Page]) -> Page:
    write_sweep(logdir)
    page = open_page(serve(logdir).address)
    expect(tag(page, "train/loss")).to_contain_text(steps(0, 49))
    return page


def test_new_points_appear(page: Page, logdir: Path) -> None:
    run(page, "vit").click()
    expect(tag(page, "train/loss")).to_contain_text(steps(0, 49))
    append(logdir / "vit", *scalars("train/loss", range(50, 80), scale=3.0))
    expect(tag(page, "train/loss")).to_contain_text(steps(0, 79))
    expect(tag(page, "train/loss")).to_contain_text("80")
    expect(tag(page, "train/loss")).to_contain_text("0.05776")
    expect(run(page, "vit")).to_contain_text("145")
    expect(live_mark(page, "Live")).to_be_visible()


def test_points_appear_in_the_view_of_all_runs_too(page: Page, logdir: Path) -> None:
    append(logdir / "vit", *scalars("train/loss", range(50, 80)))
    expect(tag(page, "train/loss")).to_contain_text(steps(0, 79))
    expect(page.locator("footer")).to_contain_text("375 points")


def test_a_new_run_and_a_new_tag_appear(page: Page, logdir: Path) -> None:
    append(logdir / "conv" / "lr9e-4", *scalars("eval/bleu", range(5)))
    expect(run(page, "conv/lr9e-4")).to_be_visible()
    expect(tag(page, "eval/bleu")).to_be_visible()
    assert [text.split("\n")[0] for text in runs(page).all_inner_texts()] == [
        "All runs",
        "conv/lr3e-4",
        "conv/lr9e-4",
        "conv/lr1e-3",
        "vit",
    ]


def test_a_removed_run_goes(page: Page, logdir: Path) -> None:
    shutil.rmtree(logdir / "conv" / "lr1e-3")
    expect(run(page, "conv/lr1e-3")).to_have_count(0)
    expect(run_count(page)).to_have_text("2 runs")


def test_a_removed_run_that_is_looked_at_says_so(page: Page, logdir: Path) -> None:
    run(page, "conv/lr1e-3").click()
    expect(page).to_have_title("conv/lr1e-3 · tracklight")
    shutil.rmtree(logdir / "conv" / "lr1e-3")
    expect(page.get_by_role("alert")).to_contain_text('No run "conv/lr1e-3"')


def test_live_points_do_not_move_what_is_read(page: Page, logdir: Path) -> None:
    many = [record for tag in range(100) for record in scalars(f"layer/{tag}", [1])]
    append(logdir / "vit", *many)
    expect(page.get_by_role("main")).to_contain_text("106 tags")
    table(page).evaluate("element => (element.scrollTop = 1500)")
    expect(tag(page, "layer/40")).to_be_visible()
    append(logdir / "vit", *scalars("layer/40", [2, 3, 4]))
    expect(tag(page, "layer/40")).to_contain_text(steps(1, 4))
    assert table(page).evaluate("element => element.scrollTop") == 1500


def test_a_page_that_is_not_seen_rests_and_catches_up(page: Page, logdir: Path) -> None:
    def show(shown: bool) -> None:
        page.evaluate(
            """hidden => {
                Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
                document.dispatchEvent(new Event('visibilitychange'));
            }""",
            arg=not shown,
        )

    show(False)
    append(logdir / "late", *scalars("train/loss", range(5)))
    append(logdir / "vit", *scalars("train/loss", range(50, 60)))
    with page.expect_request("**/api/live**") as stream:
        show(True)
    assert "since=" in stream.value.url
    expect(run(page, "late")).to_be_visible()
    expect(tag(page, "train/loss")).to_contain_text(steps(0, 59))


def test_a_lost_server_is_told_and_found_again(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    board = serve(logdir)
    page = open_page(board.address)
    expect(tag(page, "train/loss")).to_be_visible()
    board.stop()
    expect(live_mark(page, "Connection lost")).to_be_visible()
    expect(tag(page, "train/loss")).to_be_visible()
    append(logdir / "late", *scalars("train/loss", range(5)))
    serve(logdir, port=int(board.address.rstrip("/").rpartition(":")[2]))
    expect(live_mark(page, "Live")).to_be_visible()
    expect(run(page, "late")).to_be_visible()
