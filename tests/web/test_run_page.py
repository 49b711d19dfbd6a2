"""The run page and the comparison of runs, opened from the table of runs and by URL."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tracklight
from tests.web.conftest import Serve
from tests.web.event_writer import append_records
from tests.web.scalar_log import STEPS, scalar_records
from tracklight.formats.hparams import HParam, Metric, build_experiment, build_session_start
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

pytestmark = pytest.mark.browser


@pytest.fixture
def url(tmp_path: Path, serve: Serve) -> str:
    for name, lr, factor in (("base", 0.1, 1.0), ("other", 0.2, 1.5)):
        config = {"lr": lr, "optimizer": {"name": "adam", "beta": 0.9}}
        with tracklight.run(tmp_path, config, name=name, save_code=True) as run:
            for step in range(20):
                run.log({"loss": (1.0 if step < 10 else factor) / (step + 1)}, step)
                run.log({"system/cpu_percent": 50.0 + step}, step)
    log = tmp_path / "base/train.log"
    log.write_text("10%\r100%\n\x1b[31mno such file\x1b[0m\n")
    return serve(tmp_path).address


def test_opens_a_run_and_returns(url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{url}?tab=runs")
    page.get_by_role("button", name="Open base").click()
    expect(page).to_have_url(re.compile("rt-run=base"))
    expect(page.get_by_role("heading", name="base")).to_be_visible()
    config = page.get_by_role("region", name="Hyperparameters")
    expect(config).to_contain_text("optimizer")
    expect(config).to_contain_text("adam")
    expect(page.get_by_role("region", name="Environment")).to_contain_text("Python")
    metrics = page.get_by_role("table", name="Summary metrics")
    expect(metrics.get_by_role("row").filter(has_text="loss")).to_contain_text("0.05")
    page.go_back()
    expect(page.get_by_role("grid", name="Runs")).to_be_visible()


def test_shows_charts_console_and_files(url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{url}?tab=runs&rt-run=base&rt-tab=charts")
    expect(page.get_by_role("img", name=re.compile("^loss"))).to_be_visible()
    page.get_by_role("button", name="System and console").click()
    expect(page.get_by_role("img", name=re.compile("cpu_percent"))).to_be_visible()
    console = page.get_by_role("log")
    expect(console).to_contain_text("100%")
    expect(console).not_to_contain_text("10%\r")
    expect(console).to_contain_text("no such file")
    page.get_by_role("button", name="Files", exact=True).click()
    page.get_by_role("button", name=re.compile("^train.log")).click()
    expect(page.get_by_role("region", name="Preview of train.log")).to_contain_text("no such file")
    expect(page).to_have_url(re.compile("rt-file=train.log"))


def test_compares_selected_runs(url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{url}?tab=runs")
    for name in ("base", "other"):
        page.get_by_role("checkbox", name=f"Select {name}").check()
    page.get_by_role("button", name="Compare", exact=True).click()
    config = page.get_by_role("table", name="Hyperparameters")
    expect(config.get_by_role("row").filter(has_text="lr")).to_contain_text("0.2")
    expect(config).not_to_contain_text("optimizer")
    page.get_by_role("checkbox", name="Show equal values").check()
    expect(config).to_contain_text("optimizer")
    page.get_by_role("button", name="Metrics", exact=True).click()
    metrics = page.get_by_role("table", name="Metrics")
    first = metrics.get_by_role("row").filter(has_text="First step of divergence")
    expect(first).to_contain_text("10")
    expect(metrics.get_by_role("row").filter(has_text="loss")).to_contain_text("+50%")
    expect(page).to_have_url(re.compile("rt-compare=base,other"))


def test_names_compared_runs_without_records(
    tmp_path: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    for name in ("plain", "bare"):
        append_records(tmp_path / name, *scalar_records("loss", STEPS, [1.0] * len(STEPS)))
    page = open_page(f"{serve(tmp_path).address}?tab=runs&rt-compare=plain,bare")
    expect(page.get_by_role("list", name="Legend")).to_contain_text("plain")
    expect(page.get_by_role("region", name="Hyperparameters")).not_to_contain_text("0 of 0")


def test_shows_display_names(tmp_path: Path, serve: Serve, open_page: Callable[..., Page]) -> None:
    declared = build_experiment(
        [HParam("optimizer.lr", display_name="Learning rate")],
        [Metric("loss", display_name="Cross entropy")],
    )
    append_records(tmp_path, encode_record(encode_event(1.0, 0, [declared])))
    for name, lr in (("base", 0.1), ("other", 0.2)):
        start = encode_record(encode_event(1.0, 0, [build_session_start({"optimizer.lr": lr})]))
        losses = [1.0 + lr] * len(STEPS)
        append_records(tmp_path / name, start, *scalar_records("loss", STEPS, losses))
    url = f"{serve(tmp_path).address}?tab=runs"
    page = open_page(f"{url}&rt-run=base")
    config = page.get_by_role("region", name="Hyperparameters")
    expect(config.get_by_text("Learning rate")).to_have_attribute("title", "optimizer.lr")
    metrics = page.get_by_role("table", name="Summary metrics")
    expect(metrics.get_by_text("Cross entropy")).to_be_visible()
    page.goto(f"{url}&rt-compare=base,other")
    expect(page.get_by_role("rowheader", name="Learning rate")).to_be_visible()
    page.get_by_role("button", name="Metrics", exact=True).click()
    expect(page.get_by_role("rowheader", name="Cross entropy")).to_be_visible()
    page.get_by_role("button", name="Charts", exact=True).click()
    expect(page.get_by_role("figure").filter(has_text="Cross entropy")).to_be_visible()


def test_shows_alerts_of_the_run(url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{url}?tab=runs&rt-run=other")
    expect(page.get_by_role("heading", name="Summary metrics")).to_contain_text("finite values")
    rule = {"id": "1", "tag": "loss", "kind": "above", "value": 0.06}
    page.request.put(f"{url}api/v1/alerts/rules", data=[rule])
    alerts = page.get_by_role("region", name="Alerts")
    expect(alerts).to_contain_text("loss")
    alerts.get_by_role("button", name="Scalars").click()
    expect(page).to_have_url(re.compile("tab=scalars"))


def test_opens_from_the_run_list(url: str, open_page: Callable[..., Page]) -> None:
    page = open_page(f"{url}?tab=scalars")
    page.get_by_role("row").filter(has_text="other").first.click(button="right")
    page.get_by_role("menuitem", name="Open run page").click()
    expect(page).to_have_url(re.compile("rt-run=other"))
    expect(page.get_by_role("heading", name="other")).to_be_visible()


def test_shows_media_of_one_run_with_their_own_steps(
    tmp_path: Path, serve: Serve, open_page: Callable[..., Page]
) -> None:
    for name in ("first", "second"):
        with tracklight.run(tmp_path, {}, name=name) as run:
            for step in range(3):
                run.log({"loss": 1.0}, step)
                tracklight.summary.image("digits", np.zeros((1, 8, 8, 1)), step)
                tracklight.summary.text("notes", f"{name} at {step}", step)
                tracklight.summary.histogram("weights", np.arange(50.0), step)
    # The page of a run does not depend on which runs are selected.
    page = open_page(f"{serve(tmp_path).address}?tab=runs&rt-run=second&selected=none")
    page.get_by_role("button", name="Media", exact=True).click()
    expect(page.get_by_role("region", name="Images")).to_contain_text("digits")
    expect(page.get_by_role("region", name="Images").locator("img, canvas").first).to_be_visible()
    texts = page.get_by_role("region", name="Text")
    expect(texts).to_contain_text("second at 2")
    expect(texts).not_to_contain_text("first")
    texts.get_by_role("slider").first.focus()
    page.keyboard.press("ArrowLeft")
    expect(texts).to_contain_text("second at 1")
    expect(page.get_by_role("region", name="Histograms")).to_contain_text("weights")
    texts.get_by_role("article", name="notes").hover()
    texts.get_by_role("button", name="Full screen").first.click()
    shown = page.locator("body > section")
    expect(shown).to_contain_text("second at")
    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
