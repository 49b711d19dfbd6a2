"""Graph of 100,000 nodes: first render, expanding a group, memory.

tracklight sends only the expanded groups. TensorBoard sends the whole graph as text, which the page
parses and groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

from benchmarks import board, peers
from benchmarks.browser import open_page, read_heap_mib, start_chromium, time_first
from benchmarks.make_logs import FILE_NAME, get_log
from benchmarks.report import Row, format_s
from benchmarks.website import Website
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_graph
from tracklight.formats.tfrecord import encode_record

_STAGES, _OPS = 10, 200
_KINDS = (b"Conv2D", b"FusedBatchNormV3", b"Relu", b"AddV2")
_STAGE, _LAYER = "model/stage_0", "model/stage_0/layer_0"
_PEER_NODE = "tf-graph-scene g.node"

#: Press Enter on the selected node and wait until a node inside it is painted.
_OPEN = """
([surface, inside]) => new Promise(resolve => {
  const began = performance.now();
  const look = () => document.querySelector(inside)
    ? requestAnimationFrame(() => resolve(performance.now() - began))
    : requestAnimationFrame(look);
  document.querySelector(surface)
    .dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }));
  look();
})
"""
_SURFACE = "[role=application]"


def measure(quick: bool) -> Iterator[Row]:
    layers = 5 if quick else 50
    nodes = _STAGES * layers * _OPS
    folder = get_log(f"graph-{nodes}", lambda target: write_graph(target, layers))
    with start_chromium() as browser:
        with board.start_tracklight(folder) as site:
            first_s, open_s, heap_mib = _look(browser, site)
        with peers.start_tensorboard(folder) as site:
            peer_s, peer_mib = _look_there(browser, site)
    yield Row(
        f"Graph of {nodes:,} nodes: first picture",
        format_s(first_s),
        "not within two minutes" if peer_s is None else format_s(peer_s),
        None if peer_s is None else peer_s / first_s,
        "under 1.5 s",
        first_s < 1.5,
    )
    yield Row(
        f"… a group of {_OPS} nodes opened", format_s(open_s), "", None, "under 0.3 s", open_s < 0.3
    )
    yield Row(
        "… heap of the page then, at TensorBoard after its first picture",
        f"{heap_mib:.0f} MiB",
        f"{peer_mib:.0f} MiB",
        peer_mib / heap_mib,
        "under 250 MB",
        heap_mib < 238,
    )


def write_graph(folder: Path, layers: int) -> None:
    """Write a graph of stages and layers; some operations have skip connections."""
    graph = proto.GraphDef()
    before = b""
    for stage in range(_STAGES):
        for layer in range(layers):
            scope = f"model/stage_{stage}/layer_{layer}"
            skipped = before
            for number in range(_OPS):
                inputs = [before, skipped] if number == _OPS - 1 else [before]
                before = f"{scope}/op_{number}".encode()
                kind = _KINDS[number % len(_KINDS)]
                _fill(graph.node.add(), before, kind, [name for name in inputs if name])
    path = folder / "run" / FILE_NAME
    path.parent.mkdir(parents=True)
    path.write_bytes(encode_record(encode_graph(1.7e9, 0, graph)))


def _fill(node: Message, name: bytes, op: bytes, inputs: list[bytes]) -> None:
    node.name, node.op = name, op
    node.input.extend(inputs)
    dtype, shapes = node.attr.add(), node.attr.add()
    dtype.key, dtype.value.type = b"T", 1
    shapes.key = b"_output_shapes"
    shape = shapes.value.list.shape.add()
    for size in (32, 56, 56, 64):
        shape.dim.add().size = size


def _look(browser: Browser, site: Website) -> tuple[float, float, float]:
    """Return the seconds to the first render and to an expanded group, and the heap size."""
    with open_page(browser) as page:
        first_s = time_first(page, f"{site.url}?tab=graphs", f"[data-node='{_STAGE}']")
        _open(page, _STAGE)
        open_s = _open(page, _LAYER)
        return first_s, open_s, read_heap_mib(page)


def _open(page: Page, group: str) -> float:
    """Return the seconds to expand a group."""
    page.locator(f"[data-node='{group}'] [role=button]").dispatch_event("click")
    page.locator(f"[data-node='{group}'] [aria-pressed=true]").wait_for()
    inside = f"[data-node^='{group}/']"
    return float(page.evaluate(_OPEN, [_SURFACE, inside])) / 1000


def _look_there(browser: Browser, site: Website) -> tuple[float | None, float]:
    with open_page(browser) as page:
        page.goto(f"{site.url}#graphs&run=run", wait_until="commit")
        try:
            # The nodes are in shadow trees, which only the browser driver can query.
            page.locator(_PEER_NODE).first.wait_for(state="attached")
        except PlaywrightTimeoutError:
            return None, read_heap_mib(page)
        return float(page.evaluate("performance.now()")) / 1000, read_heap_mib(page)
