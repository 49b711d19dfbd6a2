"""Workspaces and reports: cards of all kinds on one board, edited by several people."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

import tracklight
from tests.web.cards import drawn_chart
from tests.web.conftest import serve_log
from tests.web.event_writer import append_records
from tests.web.scalar_log import STEPS, scalar_records
from tests.web.waiting import get_stable_box, wait_for_condition, wait_for_value

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_log(logdir: Path) -> None:
    for number, run in enumerate(("a", "b")):
        for tag in ("loss", "accuracy", "lr"):
            append_records(logdir / run, *scalar_records(tag, STEPS, [number + 1.0] * len(STEPS)))


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("TRACKLIGHT_DATA_DIR", str(tmp_path / "data"))
    with serve_log(tmp_path, write_log) as address:
        yield address


def make_card(target: str, **fields: object) -> dict[str, object]:
    return {"id": f"card-{target}", "kind": "scalars", "target": target, **fields}


def make_document(**fields: object) -> dict[str, Any]:
    cards = [make_card("loss"), make_card("accuracy", runs=["b"])]
    section = {"id": "first", "title": "Quality", "cards": cards}
    return {"id": "board", "kind": "workspace", "name": "Board", "sections": [section], **fields}


def save(address: str, document: dict[str, Any], expected: int = 0) -> None:
    request = urllib.request.Request(
        f"{address}api/v1/workspaces/document",
        json.dumps({"document": document, "expected": expected}).encode(),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(request) as response:
        assert response.status == 200


def read(address: str) -> dict[str, Any]:
    with urllib.request.urlopen(f"{address}api/v1/workspaces/document?id=board") as response:
        return dict(json.load(response)["document"])


def get_card(page: Page, target: str) -> Locator:
    return page.locator(f"[data-board-card=card-{target}]")


def choose(page: Page, card: Locator, item: str) -> None:
    card.get_by_role("button", name=re.compile("^More actions")).click()
    page.get_by_role("menuitem", name=item).or_(
        page.get_by_role("menuitemcheckbox", name=item)
    ).first.click()


def rename(page: Page, target: str, title: str) -> None:
    choose(page, get_card(page, target), "Rename…")
    dialog = page.get_by_role("dialog", name="Rename…")
    dialog.get_by_role("textbox", name="Title").fill(title)
    dialog.get_by_role("button", name="Save").click()


def expect_saved(page: Page) -> None:
    expect(page.locator("[data-save-state]")).to_have_text("Saved")


def test_card_of_a_dashboard_is_added(address: str, open_page: OpenPage) -> None:
    page = open_page(f"{address}?tab=scalars&smoothing=0.9")
    drawn_chart(page, "loss")
    choose(page, page.get_by_role("article", name="loss"), "Add to workspace…")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Add", exact=True).click()
    dialog.get_by_role("button", name="Open", exact=True).click()
    drawn_chart(page, "loss")
    expect(page).to_have_url(re.compile("tab=workspaces"))
    listed = json.load(urllib.request.urlopen(f"{address}api/v1/workspaces/documents"))
    (row,) = listed["documents"]
    assert (row["name"], row["cards"]) == ("Workspace", 1)
    # Removing the card can be undone.
    choose(page, page.get_by_role("article", name="loss"), "Remove")
    expect(page.get_by_role("article")).to_have_count(0)
    page.keyboard.press("Control+z")
    drawn_chart(page, "loss")


def test_cards_keep_runs_and_settings(address: str, open_page: OpenPage) -> None:
    save(address, make_document())
    page = open_page(f"{address}?tab=workspaces")
    expect(get_card(page, "loss").locator("[data-note]")).to_contain_text("2 runs")
    expect(get_card(page, "accuracy").locator("[data-note]")).to_contain_text("1 run")
    # Settings of all curves.
    page.get_by_role("button", name="Settings of all cards").click()
    page.get_by_role("checkbox", name=re.compile("^Log.* y", re.I)).first.check()
    wait_for_value(page, lambda: read(address)["settings"], {"scalars": {"log-y": "*"}})
    expect_saved(page)


def test_two_pages_lose_no_change(address: str, open_page: OpenPage) -> None:
    save(address, make_document())
    mine, theirs = (open_page(f"{address}?tab=workspaces") for _ in range(2))
    drawn_chart(mine, "loss")
    drawn_chart(theirs, "loss")
    # Different cards are merged.
    rename(mine, "loss", "Loss of all")
    rename(theirs, "accuracy", "Best accuracy")
    expect(theirs.get_by_role("article", name="Loss of all")).to_be_visible()
    expect(mine.get_by_role("article", name="Best accuracy")).to_be_visible()
    expect_saved(mine)
    expect_saved(theirs)
    # The same card is a conflict; the page whose change was refused asks.
    theirs.route("**/workspaces/document", lambda route: route.abort())
    theirs.route("**/workspaces/documents", lambda route: route.abort())
    rename(theirs, "loss", "Theirs")
    expect(theirs.locator("[data-save-state]")).to_have_text("Not saved")
    rename(mine, "loss", "Mine")
    expect_saved(mine)
    # Back online, it finds the other change by itself.
    theirs.unroute_all()
    conflict = theirs.locator("[data-conflict]")
    expect(conflict).to_contain_text("Someone else has changed “Board” at the same time.")
    expect(theirs.get_by_role("article", name="Theirs")).to_be_visible()
    conflict.get_by_role("button", name="Keep mine").click()
    expect_saved(theirs)
    expect(mine.get_by_role("article", name="Theirs")).to_be_visible()
    versions = json.load(urllib.request.urlopen(f"{address}api/v1/workspaces/versions?id=board"))
    assert versions["versions"]


def test_report_shows_text_and_cards(address: str, open_page: OpenPage) -> None:
    text = "# Results\n\nAll runs *converge*.\n\n![[card-accuracy]]\n"
    save(address, make_document(kind="report", text=text))
    page = open_page(f"{address}?tab=workspaces&edit=1")
    expect(page.locator("[data-report] em")).to_have_text("converge")
    drawn_chart(page, "accuracy")
    page.get_by_role("textbox", name="Markdown").fill(text + "\n## Outlook\n")
    expect(page.locator("[data-report]").get_by_role("heading", name="Outlook")).to_be_visible()
    wait_for_condition(page, lambda: read(address)["text"].endswith("## Outlook\n"))
    expect_saved(page)
    # Printed, there is only the report.
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Dashboards")).to_be_hidden()
    expect(page.locator("[data-figure]")).to_be_visible()


def test_read_only_server_shows_a_workspace(
    tmp_path: Path, address: str, open_page: OpenPage
) -> None:
    save(address, make_document())
    with tracklight.serve(tmp_path / "logs", 0, cache=False, read_only=True) as board:
        page = open_page(f"{board.url}?tab=workspaces")
        drawn_chart(page, "loss")
        expect(page.get_by_role("button", name="Add card")).to_have_count(0)
        expect(page.get_by_role("button", name="Resize")).to_have_count(0)


def list_cards(address: str) -> list[str]:
    return [card["target"] for card in read(address)["sections"][0]["cards"]]


def test_cards_are_dragged_and_resized(address: str, open_page: OpenPage) -> None:
    save(address, make_document())
    page = open_page(f"{address}?tab=workspaces&workspace=board")
    card, other = get_card(page, "loss"), get_card(page, "accuracy")
    expect(drawn_chart(page, "loss")).to_be_visible()
    title = get_stable_box(card.get_by_text("loss", exact=True).first)
    target = get_stable_box(other)
    page.mouse.move(title.x + 5, title.y + 5)
    page.mouse.down()
    page.mouse.move(title.x + 60, title.y + 15, steps=4)
    page.mouse.move(target.x + 0.8 * target.width, target.y + 60, steps=8)
    page.mouse.up()
    wait_for_value(page, lambda: list_cards(address), ["accuracy", "loss"])
    page.get_by_role("button", name="Undo").click()
    wait_for_value(page, lambda: list_cards(address), ["loss", "accuracy"])

    corner = get_stable_box(page.get_by_role("button", name="Resize").first)
    x, y = corner.x + 7, corner.y + 7
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y + 100, steps=5)
    page.mouse.up()
    wait_for_value(page, lambda: read(address)["sections"][0]["cards"][0]["height"], 380)


def test_exported_workspace_needs_no_server(
    address: str, open_page: OpenPage, tmp_path: Path
) -> None:
    document = make_document()
    note = {"id": "card-note", "kind": "note", "target": "All runs *converge*."}
    document["sections"][0]["cards"].append(note)
    save(address, document)
    page = open_page(f"{address}?tab=workspaces&workspace=board")
    expect(drawn_chart(page, "loss")).to_be_visible()
    page.get_by_role("button", name="Workspaces and reports").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name="Export HTML").click()
    download.value.save_as(tmp_path / "board.html")
    exported = open_page((tmp_path / "board.html").as_uri())
    expect(drawn_chart(exported, "loss")).to_be_visible()
    expect(drawn_chart(exported, "accuracy")).to_be_visible()
    expect(get_card(exported, "note").locator("em")).to_have_text("converge")
    expect(exported.get_by_role("button", name="Add card")).to_have_count(0)


def test_version_is_restored(address: str, open_page: OpenPage) -> None:
    document = make_document()
    save(address, document)
    (section,) = document["sections"]
    fewer = [{**section, "cards": section["cards"][:1]}]
    save(address, {**document, "sections": fewer}, expected=1)
    page = open_page(f"{address}?tab=workspaces&workspace=board")
    expect(drawn_chart(page, "loss")).to_be_visible()
    expect(get_card(page, "accuracy")).to_have_count(0)
    page.get_by_role("button", name="Workspaces and reports").click()
    page.get_by_role("menuitem", name="Versions…").click()
    dialog = page.get_by_role("dialog", name="Versions…")
    expect(dialog.get_by_role("listitem")).to_contain_text("2 cards")
    dialog.get_by_role("button", name="Restore").click()
    expect(dialog).to_be_hidden()
    expect(drawn_chart(page, "accuracy")).to_be_visible()
    wait_for_value(page, lambda: list_cards(address), ["loss", "accuracy"])
    # The state that was replaced is a version, and restoring can be undone.
    versions = json.load(urllib.request.urlopen(f"{address}api/v1/workspaces/versions?id=board"))
    assert [version["cards"] for version in versions["versions"]] == [1, 2]
    page.get_by_role("button", name="Undo").click()
    wait_for_value(page, lambda: list_cards(address), ["loss"])
