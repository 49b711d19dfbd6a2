"""A log of texts that tests know, and the parts of the page that show them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

from tests.hostile_markdown import VECTORS
from tests.small_log import write
from tests.web.cards import card
from tracklight.formats import summary
from tracklight.formats.event import encode_event
from tracklight.formats.tfrecord import encode_record

CARD = """\
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


def write_library(folder: Path) -> None:
    """Runs ``a`` with 60 stories and ``b`` with 30, and arrays of every rank in ``a``."""
    grid = np.array([f"cell {n}" for n in range(120 * 45)], object).reshape(120, 45)
    cube = np.array([f"box *{n}*" for n in range(24)], object).reshape(2, 3, 2, 2)
    events = [event(0, summary.text(*named)) for named in _arrays(grid, cube)]
    events += [event(10 * n, summary.text("story", tell(n))) for n in range(60)]
    write(folder / "a", *events)
    others = [event(10 * n, summary.text("story", tell(n, "dog"))) for n in range(30)]
    write(folder / "b", *others, event(0, summary.text("model/card", "A plain text of **b**.")))


def write_hostile(folder: Path) -> None:
    """One step for each text that would like to run something."""
    write(folder / "evil", *(event(n, summary.text("x", text)) for n, text in enumerate(VECTORS)))


def tell(number: int, animal: str = "cat") -> str:
    return f"## Chapter {number}\n\nThe {animal} sat on mat {number}.\n\nThen it left.\n"


def _arrays(grid: Any, cube: Any) -> list[tuple[str, Any]]:
    return [
        ("model/card", CARD),
        ("arrays/list", ["**one**", "two"]),
        ("arrays/grid", grid),
        ("arrays/cube", cube),
    ]


def event(step: int, value: Any) -> bytes:
    return encode_record(encode_event(1.7e9 + step, step, [value]))


def texts(page: Page, title: str) -> Locator:
    """The list of texts in a card; the last one where the card is over all others."""
    return card(page, title).last.get_by_role("group", name=f"Texts of {title}")


def entries(page: Page, title: str) -> Locator:
    return texts(page, title).locator("> ol > li")
