from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import tracklight

pytestmark = pytest.mark.browser


def test_window_title_can_be_set(small_logdir: Path, open_page: Callable[..., Page]) -> None:
    with tracklight.serve(small_logdir, cache=False, window_title="Vision lab") as board:
        page = open_page(board.url)
        expect(page).to_have_title("Scalars · Vision lab")
