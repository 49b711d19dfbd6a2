"""Memory snapshots of PyTorch, and collectives of several ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.dashboards.profile.test_communication import TIME, write_second_rank
from tests.dashboards.profile.test_memory_snapshots import SNAPSHOT
from tests.web.conftest import serve_log
from tests.web.profile_log import DATA, TAB, choose_capture, open_tool
from tests.web.test_appearance import list_violations, overflows
from tests.web.test_profile_tools import table_rows

pytestmark = pytest.mark.browser

OpenPage = Callable[..., Page]


def write_captures(logdir: Path) -> None:
    for run in ("snapshot", "ddp"):
        (logdir / run).mkdir(parents=True)
    (logdir / "snapshot" / "rank0_memory_snapshot.pickle").write_bytes(SNAPSHOT)
    source = DATA / "nccl.pt.trace.json.gz"
    first = logdir / "ddp" / f"a_1.{TIME}.pt.trace.json.gz"
    first.write_bytes(source.read_bytes())
    write_second_rank(source, logdir / "ddp" / f"b_1.{TIME}.pt.trace.json.gz")


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve_log(tmp_path_factory.mktemp("memory"), write_captures) as address:
        yield address + TAB


def test_snapshot_shows_the_peak_and_fragmentation(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "snapshot")
    panel = page.locator('[data-tool="memory"]')
    # The peak is 219,527,344 bytes, of which the weights are 9,487,400.
    expect(panel).to_contain_text("Peak 220 MB")
    expect(panel).to_contain_text("Weights 9.5 MB")
    for category in ("Weights", "Gradients", "Optimizer", "Activations"):
        expect(panel).to_contain_text(category)
    expect(panel).to_contain_text("Out of memory")
    rows = table_rows(page, "Memory in use at the peak by stack")
    expect(rows.first).to_be_visible()
    page.get_by_role("button", name="Fragmentation").click()
    expect(panel).to_contain_text("Largest free block")
    expect(panel).to_contain_text("Lost to rounding")
    assert list_violations(page) == []
    assert not overflows(page)


def test_collectives_and_the_rank_that_others_wait_for(board: str, open_page: OpenPage) -> None:
    page = open_page(board)
    choose_capture(page, "Select capture", "ddp")
    open_tool(page, "Communication")
    collectives = table_rows(page, "Collectives by kind and size")
    expect(collectives.filter(has_text="All-reduce").first).to_be_visible()
    expect(collectives.filter(has_text="Broadcast").first).to_be_visible()
    expect(page.get_by_role("region", name="Ranks")).to_contain_text("21 collectives found")
    ranks = table_rows(page, "Ranks")
    expect(ranks).to_have_count(2)
    # Rank 0 was ready 0.1 ms earlier in each of the 15 all-reduces.
    expect(ranks.first).to_contain_text("1.5 ms")
    expect(page.get_by_role("group", name="Collectives of all ranks over time")).to_be_visible()
    assert list_violations(page) == []
    assert not overflows(page)
