"""A log directory with nothing in it, and a server that does not answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Serve
from tests.web.parts import run, tag
from tests.web.writing import append, scalars, write_sweep

pytestmark = pytest.mark.browser


def test_an_empty_directory_teaches(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir).address, permissions=["clipboard-read", "clipboard-write"])
    main = page.get_by_role("main")
    expect(main).to_contain_text(f"Watching {logdir}. It is empty so far.")
    for way, words in (
        ("Keras", "keras.callbacks.TensorBoard"),
        ("JAX", "flax.metrics"),
        ("Python", "tensorboardX"),
        ("PyTorch", "torch.utils.tensorboard"),
    ):
        main.get_by_role("button", name=way).click()
        expect(page.get_by_label("Code")).to_contain_text(words)
        expect(page.get_by_label("Code")).to_contain_text(f'"{logdir}/run-1"')
    main.get_by_role("button", name="Copy").click()
    expect(main.get_by_role("button", name="Copied")).to_be_visible()
    assert "torch.utils.tensorboard" in page.evaluate("navigator.clipboard.readText()")


def test_the_first_run_takes_the_place_of_the_lesson(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir).address)
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    append(logdir / "first", *scalars("loss", range(5)))
    expect(run(page, "first")).to_be_visible()
    expect(tag(page, "loss")).to_be_visible()


def test_a_directory_without_event_files_says_what_is_in_it(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    (logdir / "model.ckpt").touch()
    page = open_page(serve(logdir).address)
    main = page.get_by_role("main")
    expect(main).to_contain_text("It holds model.ckpt, but no event file")
    (logdir / "notes.txt").touch()
    expect(main).to_contain_text("It holds model.ckpt, notes.txt, but no event file")


def test_a_directory_that_does_not_exist_yet_is_waited_for(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    page = open_page(serve(logdir / "later").address)
    expect(page.get_by_role("main")).to_contain_text("It does not exist yet")
    append(logdir / "later" / "first", *scalars("loss", range(5)))
    expect(run(page, "first")).to_be_visible()


def test_a_server_that_fails_is_told_and_asked_again(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    page.route("**/api/runs", lambda route: route.abort())
    page.goto(serve(logdir).address)
    expect(page.get_by_role("alert")).to_contain_text("The server does not answer.")
    page.unroute("**/api/runs")
    page.get_by_role("button", name="Try again").click()
    expect(run(page, "vit")).to_be_visible()


def test_an_answer_in_the_one_shape_is_shown_in_its_words(
    logdir: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    write_sweep(logdir)
    page = open_page("about:blank")
    body = '{"error": {"what": "The share is away.", "next": "Mount it."}}'
    page.route("**/api/runs", lambda route: route.fulfill(status=500, body=body))
    page.goto(serve(logdir).address)
    expect(page.get_by_role("alert")).to_have_text("The share is away. Mount it.")
