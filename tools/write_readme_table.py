"""Write the performance tables of both READMEs: ``python -m tools.write_readme_table``.

The figures come from ``benchmarks/results.json``; ``--check`` fails if a table has others.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "results.json"
COMMAND = "python -m tools.write_readme_table"

_4_MILLION = "20 runs x 20 tags x 10,000 steps"
_40_MILLION = "200 runs x 20 tags x 10,000 steps"


@dataclass(frozen=True)
class Source:
    """A row of the results: its first column, and what the column of the peer contains."""

    what: str
    other: str = ""


@dataclass(frozen=True)
class TableRow:
    """A row of the table: the cells in English and in Chinese.

    ``{ours}`` and ``{theirs}`` are the figures of ``source``; ``{second}`` is the peer's figure of
    ``second``.
    """

    source: Source
    english: tuple[str, str, str]
    chinese: tuple[str, str, str]
    second: Source | None = None


ROWS = (
    TableRow(
        Source(f"Cold load, {_4_MILLION}", "1,000 points a tag, no checksums"),
        (
            "4 million points in 20 runs, first start",
            "{ours} (all points)",
            "TensorBoard's data server {theirs} (1,000 points per tag)",
        ),
        (
            "20 个运行共 400 万个点，首次启动",
            "{ours}（全部数据点）",
            "TensorBoard 数据服务器 {theirs}（每个标签 1,000 个点）",
        ),
    ),
    TableRow(
        Source(f"Warm start beside our own cold load, {_40_MILLION}"),
        (
            "40 million points, second start",
            "{ours}",
            "TensorBoard's data server {second} (no cache)",
        ),
        ("4000 万个点，第二次启动", "{ours}", "TensorBoard 数据服务器 {second}（无缓存）"),
        second=Source(f"Cold load, {_40_MILLION}"),
    ),
    TableRow(
        Source(f"Memory held, {_4_MILLION}", "1,000 points a tag"),
        (
            "memory with 4 million points",
            "{ours}",
            "TensorBoard {theirs} (1,000 points per tag), {second} (all points)",
        ),
        (
            "400 万个点时的内存占用",
            "{ours}",
            "TensorBoard {theirs}（每个标签 1,000 个点），{second}（全部数据点）",
        ),
        second=Source(f"Memory held, {_4_MILLION}", "all points"),
    ),
    TableRow(
        Source(f"Navigation to first drawn chart, {_4_MILLION}"),
        ("page load to first chart", "{ours}", "TensorBoard {theirs}"),
        ("从加载页面到显示第一个图表", "{ours}", "TensorBoard {theirs}"),
    ),
    TableRow(
        Source("Graph of 100,000 nodes: first picture"),
        ("graph of 100,000 nodes, first render", "{ours}", "TensorBoard {theirs}"),
        ("100,000 个节点的计算图，首次渲染", "{ours}", "TensorBoard {theirs}"),
    ),
    TableRow(
        Source("Capture of JAX, 23.8 MB: timeline, first picture"),
        ("profile of 23 MB, first timeline", "{ours}", "xprof {theirs}"),
        ("23 MB 的性能分析数据，首次显示时间线", "{ours}", "xprof {theirs}"),
    ),
    TableRow(
        Source("t-SNE of 10,000 x 50, 750 steps"),
        (
            "t-SNE of 10,000 vectors, 750 steps",
            "{ours}",
            "TensorBoard's page {theirs} (extrapolated)",
        ),
        ("10,000 个向量的 t-SNE，750 步", "{ours}", "TensorBoard 页面 {theirs}（外推）"),
    ),
    TableRow(
        Source("Point flushed to point on screen, 95 % within"),
        (
            "delay from flush to screen, 95 %",
            "{ours}",
            "TensorBoard reloads every 5 s by default",
        ),
        (
            "从写入（flush）到屏幕显示的延迟（95 %）",
            "{ours}",
            "TensorBoard 默认每 5 s 重新加载一次",
        ),
    ),
    TableRow(
        Source("`tracklight.summary.scalar`", "torch.utils.tensorboard"),
        (
            "logging one scalar, CPU time of the training thread",
            "{ours}",
            "torch {theirs}, tf.summary {second}",
        ),
        (
            "记录一个标量，训练线程的 CPU 时间",
            "{ours}",
            "torch {theirs}，tf.summary {second}",
        ),
        second=Source("`tracklight.summary.scalar`", "tf.summary"),
    ),
)

#: The first line of each table; the table ends with the first line that is not part of one.
HEADERS = {
    "README.md": "| | tracklight | other program |",
    "README.zh-CN.md": "| | tracklight | 其他程序 |",
}
_FIGURE = re.compile(r"([\d.]+) (µs|ms|s|MiB)\b")
_SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0}


def format_figure(text: str) -> str:
    """Return the first figure of a cell with two significant digits."""
    found = _FIGURE.search(text)
    if found is None:
        return ""
    number, unit = float(found[1]), found[2]
    if unit in _SECONDS:
        seconds = number * _SECONDS[unit]
        unit = "s" if seconds >= 0.1 else "ms" if seconds >= 1e-3 else "µs"
        number = seconds / _SECONDS[unit]
    digits = f"{number:.0f}" if number >= 10 else f"{number:.2g}"
    return f"{digits} {unit}"


def write_table(results: Mapping[str, Any], header: str) -> list[str]:
    """Return the lines of the table below ``header``.

    Raises:
        LookupError: The results lack a row of the table.
    """
    rows = [row for run in results["runs"] for row in run["rows"]]
    lines = [header, "|---|---|---|"]
    for row in ROWS:
        measured = _get_row(rows, row.source)
        figures = {
            "ours": format_figure(measured["tracklight"]),
            "theirs": format_figure(measured["other"]),
            "second": format_figure(_get_row(rows, row.second)["other"]) if row.second else "",
        }
        cells = row.english if header == HEADERS["README.md"] else row.chinese
        lines.append(f"| {' | '.join(cells).format(**figures)} |")
    return lines


def _get_row(rows: list[dict[str, Any]], source: Source) -> dict[str, Any]:
    for row in rows:
        if row["what"].startswith(source.what) and source.other in row["other"]:
            return row
    raise LookupError(f"benchmarks/results.json has no row {source.what!r} with {source.other!r}")


def replace_table(text: str, header: str, table: list[str]) -> str:
    """Replace the table that begins with ``header``."""
    lines = text.splitlines()
    start = lines.index(header)
    end = next((at for at in range(start, len(lines)) if not lines[at].startswith("|")), len(lines))
    return "\n".join([*lines[:start], *table, *lines[end:]]) + "\n"


def write_pages() -> Iterator[tuple[Path, str]]:
    """Yield each README and what it should contain."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    for name, header in HEADERS.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        yield path, replace_table(text, header, write_table(results, header))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, fail if stale")
    check = parser.parse_args(arguments).check
    stale = [(path, text) for path, text in write_pages() if path.read_text("utf-8") != text]
    for path, text in stale:
        if check:
            print(f"{path.name} is out of date: run {COMMAND}", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
