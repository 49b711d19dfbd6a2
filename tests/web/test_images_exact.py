"""Images on the page match, pixel for pixel, what other writers logged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

import tracklight
from tests.archives import extract
from tests.web.conftest import serve_log
from tests.web.image_log import as_rgba, read_pixels

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[1] / "data" / "corpus"
ARCHIVES = ("seed000", "seed002", "seed003", "torch", "jax", "legacy_v1")

#: Writer, run and tag.
CASES = {
    "TensorFlow, a batch": ("seed000/logs/data_20240527031421/train", "A training data batch"),
    "TensorFlow, floats": ("seed002/logs/kinds", "image/rgb_float"),
    "TensorFlow, a figure": ("seed003/logs/confusion_matrix/20240527-031421", "Confusion Matrix"),
    "Keras, weights": (
        "seed000/logs/all_options_20240527031421/train",
        "sequential_2/conv/kernel/image",
    ),
    "PyTorch, floats": ("torch/runs/all", "image/CHW_f"),
    "PyTorch, a grid": ("torch/runs/all", "images/NHWC"),
    "PyTorch, a figure": ("torch/runs/all", "figure/one"),
    "clu": ("jax/clu", "w1_image"),
    "flax": ("jax/flax", "w1_image"),
    "TensorFlow 1": ("legacy_v1/protos", "im/image"),
    "TensorBoard 1": ("legacy_v1/tb_v1_ops", "image_v1/image_summary"),
}


def extract_corpus(logdir: Path) -> None:
    for name in ARCHIVES:
        extract(CORPUS / f"{name}.tar.xz", logdir)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, tracklight.Log]]:
    folder = tmp_path_factory.mktemp("corpus")
    with (
        serve_log(folder, extract_corpus) as address,
        tracklight.open(folder / "logs", cache=False) as log,
    ):
        yield address, log


@pytest.mark.parametrize("writer", CASES)
def test_every_image_of_every_step_is_exact(
    corpus: tuple[str, tracklight.Log], open_page: Callable[..., Page], writer: str
) -> None:
    address, log = corpus
    run, tag = CASES[writer]
    values = log.images(run, tag).without_overwritten()
    page = open_page(f"{address}?tab=images&card={quote(tag, safe='')}&step={values.step[0]}")
    sheet = page.locator("article.full").get_by_role("group", name=run, exact=True)
    for step, value in zip(values.step, values, strict=True):
        expect(sheet.locator("[data-step]")).to_have_attribute("data-step", str(step))
        images = sheet.locator("img")
        expect(images).to_have_count(len(value.encoded))
        for at, pixels in enumerate(value.to_arrays()):
            assert np.array_equal(read_pixels(images.nth(at)), as_rgba(pixels)), (
                f"step {step}, {at}"
            )
        page.keyboard.press("ArrowRight")
