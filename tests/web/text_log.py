"""A log of texts with known content, and locators of the Text dashboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

from tests.hostile_markdown import VECTORS
from tests.small_log import write
from tests.web.cards import card
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

MODEL_CARD = """\
# The model

It has **two** layers and one [paper](https://example.test/paper).

| layer | width |
|:--|--:|
| first | 64 |

$$\\frac{a}{b}$$

```python
def forward(x):
    return x  # nothing yet
```
"""


def write_text_log(folder: Path) -> None:
    """Write run ``a`` with 60 stories and arrays of several ranks, and ``b`` with 30 stories."""
    grid = np.array([f"cell {n}" for n in range(120 * 45)], object).reshape(120, 45)
    cube = np.array([f"box *{n}*" for n in range(24)], object).reshape(2, 3, 2, 2)
    events = [event_record(0, summary.text(*named)) for named in _arrays(grid, cube)]
    events += [event_record(10 * n, summary.text("story", make_story(n))) for n in range(60)]
    write(folder / "a", *events)
    others = [event_record(10 * n, summary.text("story", make_story(n, "dog"))) for n in range(30)]
    write(
        folder / "b", *others, event_record(0, summary.text("model/card", "A plain text of **b**."))
    )


def write_hostile_texts(folder: Path) -> None:
    """Write one step for each text that tries to run a script."""
    write(
        folder / "evil",
        *(event_record(n, summary.text("x", text)) for n, text in enumerate(VECTORS)),
    )


def make_story(number: int, animal: str = "cat") -> str:
    return f"## Chapter {number}\n\nThe {animal} sat on mat {number}.\n\nThen it left.\n"


def _arrays(grid: Any, cube: Any) -> list[tuple[str, Any]]:
    return [
        ("model/card", MODEL_CARD),
        ("arrays/list", ["**one**", "two"]),
        ("arrays/grid", grid),
        ("arrays/cube", cube),
    ]


def event_record(step: int, value: Any) -> bytes:
    return encode_record(encode_event(1.7e9 + step, step, [value]))


def text_list(page: Page, title: str) -> Locator:
    """Return the list of texts in a card; the last match is the full-screen card."""
    return card(page, title).last.get_by_role("list", name=f"Text of {title}")


def text_entries(page: Page, title: str) -> Locator:
    return text_list(page, title).locator("[role=listitem][aria-posinset]")
