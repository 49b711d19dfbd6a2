"""Embeddings: layouts, first render and search of a million points, panning of ten million.

TensorBoard computes t-SNE of at most 10,000 points and UMAP of 5,000 in the page, without an end.
Its time for the same number of steps is extrapolated from the first ones. Layouts of 100,000
vectors are compared with openTSNE and umap-learn where they are installed, with the same measure of
trustworthiness. No GPU for either.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Frame, Page

from benchmarks import board
from benchmarks.browser import WATCH_TASKS, open_page, read_longest_ms, start_chromium, time_first
from benchmarks.make_logs import FILE_NAME
from benchmarks.peers import start_tensorboard
from benchmarks.report import Row, format_s
from benchmarks.website import Website
from tracklight.analysis.embeddings.projections import compute_trustworthiness
from tracklight.formats import summary
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record
from tracklight.types import Float32

_DIMENSIONS = 50
_STEPS = 750
#: Number of timed steps of TensorBoard.
_TIMED = 15
_PANEL = "vz-projector-projections-panel"
_POINTS = "[role=application][data-drawn]"
_NAMES = ("fred", "larry", "anna", "bob", "mary")
_EXPRESSION = "^(fred|larry)$"
_PATIENCE_S = 3600.0
_TILED_DIMENSIONS = 8
#: Neighbors for which the trustworthiness is computed, as in the page.
_NEIGHBORS = 5
#: The name of a library, and its function from vectors to positions.
Peer = tuple[str, Callable[[Float32], Any]]
#: Record the time between frames until `stopFrames` is called.
_WATCH_FRAMES = """() => {
  const frames = [];
  let before = performance.now();
  let running = true;
  const watch = (now) => {
    frames.push(now - before);
    before = now;
    if (running) requestAnimationFrame(watch);
  };
  requestAnimationFrame((now) => { before = now; requestAnimationFrame(watch); });
  window.stopFrames = () => { running = false; return frames; };
}"""


def measure(quick: bool) -> Iterator[Row]:
    yield from _compare_tsne(1000 if quick else 10_000)
    yield from _show_many(20_000 if quick else 1_000_000)
    yield from _pan_tiles(2_100_000 if quick else 10_000_000)


def _compare_tsne(count: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        write_vectors(Path(folder), make_vectors(count), as_text=True)
        with board.start_tracklight(Path(folder)) as site:
            ours_s, trust = _time_layout(site, {"type": "tsne", "iterations": _STEPS})
        with start_chromium() as browser, start_tensorboard(Path(folder)) as site:
            theirs_s = _time_tensorboard(browser, site)
    ratio = theirs_s / ours_s
    yield Row(
        f"t-SNE of {count:,} x {_DIMENSIONS}, {_STEPS} steps (trustworthiness {trust:.3f})",
        format_s(ours_s),
        f"{format_s(theirs_s)}, from its first {_TIMED} steps",
        ratio,
        "at least 5x",
        ratio >= 5,
    )


def measure_umap(quick: bool) -> Iterator[Row]:
    yield _lay_out_many("UMAP", 2000 if quick else 100_000, _load_umap_learn)


def measure_tsne(quick: bool) -> Iterator[Row]:
    yield _lay_out_many("t-SNE", 2000 if quick else 100_000, _load_open_tsne)


def _lay_out_many(name: str, count: int, load_peer: Callable[[], Peer]) -> Row:
    vectors = make_vectors(count)
    with tempfile.TemporaryDirectory() as folder:
        write_vectors(Path(folder), vectors)
        with board.start_tracklight(Path(folder)) as site:
            taken_s, trust = _time_layout(site, {"type": name.replace("-", "").lower()})
    what = f"{name} of {count:,} x {_DIMENSIONS} (trustworthiness {trust:.3f})"
    return _compare_layout(what, taken_s, trust, vectors, load_peer)


def _compare_layout(
    what: str, ours_s: float, trust: float, vectors: Float32, load_peer: Callable[[], Peer]
) -> Row:
    """Return a row beside a library, with its defaults and as many threads as there are cores."""
    try:
        name, lay_out = load_peer()
    except ImportError as error:
        note = f"{error.name} is not installed"
        return Row(what, format_s(ours_s), note, must="to finish", reached=True)
    began = time.perf_counter()
    layout = lay_out(vectors)
    theirs_s = time.perf_counter() - began
    their_trust = compute_trustworthiness(vectors, np.asarray(layout, np.float32), _NEIGHBORS)
    ratio = theirs_s / ours_s
    return Row(
        what,
        format_s(ours_s),
        f"{format_s(theirs_s)} (trustworthiness {their_trust:.3f}), {name}",
        ratio,
        "at least 1.5x, trustworthiness within 0.005",
        ratio >= 1.5 and trust >= their_trust - 0.005,
    )


def _load_umap_learn() -> Peer:
    umap = import_module("umap")
    # The first call compiles the code.
    umap.UMAP(n_epochs=2).fit(make_vectors(200))
    return "umap-learn", lambda vectors: umap.UMAP().fit_transform(vectors)


def _load_open_tsne() -> Peer:
    open_tsne = import_module("openTSNE")
    return "openTSNE", lambda vectors: open_tsne.TSNE(n_jobs=-1).fit(vectors)


def _show_many(count: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, start_chromium() as browser:
        write_vectors(Path(folder), make_vectors(count), with_labels=True)
        with board.start_tracklight(Path(folder)) as site, open_page(browser) as page:
            page.add_init_script(WATCH_TASKS)
            first_s = time_first(
                page, f"{site.url}?tab=projector", f"{_POINTS}:not([data-drawn='0'])"
            )
            page.locator(f"{_POINTS}[data-drawn='1'][aria-busy=false]").wait_for()
            longest_ms = read_longest_ms(page)
            search_s = _time_search(site)
    what = f"{count:,} vectors of {_DIMENSIONS} from a file of NumPy"
    yield Row(f"{what}: drawn", format_s(first_s), must="under 5 s", reached=first_s < 5)
    yield Row(
        "… the longest that the page does not answer meanwhile",
        f"{longest_ms:.0f} ms" if longest_ms else "under 50 ms",
        must="under 200 ms",
        reached=longest_ms < 200,
    )
    yield Row(
        f"… their labels searched for {_EXPRESSION}",
        format_s(search_s),
        must="under 200 ms",
        reached=search_s < 0.2,
    )


def _pan_tiles(count: int) -> Iterator[Row]:
    """Drag the map of many points along a path and back, without a GPU."""
    with tempfile.TemporaryDirectory() as folder, start_chromium() as browser:
        write_vectors(Path(folder), make_vectors(count, _TILED_DIMENSIONS))
        with board.start_tracklight(Path(folder)) as site, open_page(browser) as page:
            first_s = time_first(
                page, f"{site.url}?tab=projector", f"{_POINTS}[data-drawn='1'][aria-busy=false]"
            )
            frames = _measure_pan(page)
    what = f"{count:,} points of {_TILED_DIMENSIONS} dimensions as density tiles"
    yield Row(f"{what}: drawn", format_s(first_s), must="to be drawn", reached=True)
    slow_ms = float(np.quantile(frames, 0.95))
    rate = 1000 / float(np.mean(frames))
    yield Row(
        "… frames a second while the map is panned (95 % of the frames within)",
        f"{rate:.0f} ({slow_ms:.0f} ms)",
        must="at least 30",
        reached=rate >= 30,
    )


def _measure_pan(page: Page) -> list[float]:
    """Return the milliseconds between frames while the map is dragged."""
    box = page.locator(_POINTS).bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    for _ in range(4):
        page.mouse.wheel(0, -300)
    page.locator(f"{_POINTS}[data-drawn='1'][aria-busy=false]").wait_for()
    page.mouse.down()
    page.evaluate(_WATCH_FRAMES)
    for step in range(240):
        page.mouse.move(x + 250 * np.sin(step / 20), y + 150 * np.sin(step / 31))
    frames: list[float] = page.evaluate("window.stopFrames()")
    page.mouse.up()
    return frames


def make_vectors(count: int, dimensions: int = _DIMENSIONS) -> Float32:
    """Return clusters of points."""
    rng = np.random.default_rng(0)
    middles = rng.normal(0, 2, (40, dimensions)).astype(np.float32)
    vectors = rng.standard_normal((count, dimensions), np.float32)
    vectors += middles[np.arange(count) % len(middles)]
    return vectors


def write_vectors(
    folder: Path, vectors: Float32, *, as_text: bool = False, with_labels: bool = False
) -> None:
    run = folder / "run"
    run.mkdir()
    record = encode_event(time.time(), 0, [summary.text("about", "vectors")])
    (run / FILE_NAME).write_bytes(encode_record(record))
    path = "vectors.tsv" if as_text else "vectors.npy"
    if as_text:
        np.savetxt(run / path, vectors, "%.6g", delimiter="\t")
    else:
        np.save(run / path, vectors)
    labels = ""
    if with_labels:
        names = (_NAMES[row % len(_NAMES)] for row in range(len(vectors)))
        # Most labels are unique, some are not.
        lines = (name if row % 1000 < 5 else f"{name} {row}" for row, name in enumerate(names))
        (run / "labels.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        labels = 'metadata_path: "labels.tsv"'
    shape = " ".join(f"tensor_shape: {size}" for size in vectors.shape)
    (run / "projector_config.pbtxt").write_text(
        f'embeddings {{ tensor_name: "vectors" {shape} tensor_path: "{path}" {labels} }}\n'
    )


def _time_layout(site: Website, method: dict[str, Any]) -> tuple[float, float]:
    """Return the seconds of a layout and its trustworthiness."""
    (row,) = _wait_for_rows(site)
    began = time.perf_counter()
    job = site.post("api/v1/projector/project", {"id": row["id"], "method": method})
    while job["state"] in ("waiting", "running"):
        if time.perf_counter() - began > _PATIENCE_S:
            raise TimeoutError("the layout was never ready")
        time.sleep(0.05)
        # Only new positions are sent.
        job = site.get("api/v1/projector/layout", job=job["job"], known_frame=str(job["frame"]))[
            "job"
        ]
    if job["state"] != "done":
        raise RuntimeError(job["problem"])
    taken_s = time.perf_counter() - began
    return taken_s, float(site.get("api/v1/projector/quality", job=job["job"])["trustworthiness"])


def _time_search(site: Website) -> float:
    """Return the seconds of one search of all labels (best of several)."""
    (row,) = _wait_for_rows(site)
    ask = {"id": row["id"], "query": _EXPRESSION, "regex": True}
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        site.post("api/v1/projector/search", ask)
        taken.append(time.perf_counter() - began)
    return min(taken)


def _wait_for_rows(site: Website) -> list[dict[str, Any]]:
    """Wait until the log is loaded, and return the embeddings."""
    while True:
        rows: list[dict[str, Any]] = site.get("api/v1/projector/embeddings")["embeddings"]
        if rows:
            return rows
        time.sleep(0.05)


def _time_tensorboard(browser: Browser, site: Website) -> float:
    """Return the extrapolated seconds for as many steps as ours."""
    with open_page(browser) as page:
        page.goto(f"{site.url}#projector")
        panel = _wait_for_projector(page).locator(_PANEL)
        # PCA comes first; a click on the t-SNE tab before that has no effect.
        panel.locator(".ink-tab[data-tab=tsne]").wait_for()
        page.wait_for_timeout(5000)
        panel.locator(".ink-tab[data-tab=tsne]").click()
        began = time.perf_counter()
        first_s = _wait_for_step(page, panel.locator(".run-tsne-iter"), 1) - began
        last_s = _wait_for_step(page, panel.locator(".run-tsne-iter"), _TIMED) - began
    return first_s + (last_s - first_s) / (_TIMED - 1) * (_STEPS - 1)


def _wait_for_projector(page: Page) -> Frame:
    """Return the frame of the projector."""
    while True:
        for inner in page.frames:
            if "projector_binary" in inner.url and inner.locator(_PANEL).count():
                return inner
        page.wait_for_timeout(100)


def _wait_for_step(page: Page, counter: Any, step: int) -> float:
    """Return the time at which a step was first reported."""
    deadline = time.perf_counter() + _PATIENCE_S
    while time.perf_counter() < deadline:
        text = counter.first.text_content() or ""
        if text.strip().isdigit() and int(text) >= step:
            return time.perf_counter()
        page.wait_for_timeout(20)
    raise TimeoutError("TensorBoard's page did not get that far")
