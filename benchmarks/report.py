"""The result tables: figures, peers, ratios and requirements; and how figures grow."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import psutil

RESULTS = Path(__file__).parent / "results.md"
#: The same for programs, with all repetitions; see `benchmarks.compare`.
RESULTS_JSON = RESULTS.with_suffix(".json")
COLUMNS = ("measured", "tracklight", "the other", "ratio", "must be", "is")
_INTRODUCTION = """\
# Results of `make bench`

Generated from `results.json`, in which a run replaces the rows of the measures that it repeats. The
docstrings of `benchmarks/*.py` describe how each row is measured. Both programs of a row are
measured in the same run. The load average is that at the end of the run: above the number of cores,
other programs made times longer."""
#: What is measured in seconds per second.
CPU_SHARE = "server, share of a core"
#: Growth that is faster than this is worse than linear; the rest is noise.
MAX_EXPONENT = 1.1
#: Packages whose versions are listed above the table.
PROGRAMS = (
    "tracklight",
    "tensorboard",
    "tensorboard-data-server",
    "torch",
    "tensorflow-cpu",
    "tensorboardX",
    "numpy",
)


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated measurements, each in its own process."""

    seconds: tuple[float, ...]

    @property
    def median_s(self) -> float:
        return statistics.median(self.seconds)

    def __str__(self) -> str:
        text = format_s(self.median_s)
        if len(self.seconds) > 1:
            text += f" (best {format_s(min(self.seconds))} of {len(self.seconds)})"
        return text


@dataclass(frozen=True)
class Row:
    """One line of the table; ``reached`` is None if there is no requirement."""

    what: str
    ours: str | Timing
    theirs: str | Timing = ""
    ratio: float | None = None
    must: str = ""
    reached: bool | None = None

    def to_json(self, measure: str = "") -> dict[str, Any]:
        seconds = self.ours.seconds if isinstance(self.ours, Timing) else None
        return {
            "measure": measure,
            "what": self.what,
            "tracklight": str(self.ours),
            "seconds": seconds,
            "other": str(self.theirs),
            "ratio": self.ratio,
            "must_be": self.must,
            "reached": self.reached,
        }


class Figure(NamedTuple):
    """A measurement of a log, or of a number of viewers."""

    by: str
    size: int
    what: str
    #: Seconds, or MiB for memory.
    value: float


class Growth(NamedTuple):
    """The figures of one kind by size, and the exponent of their growth in the last decade."""

    by: str
    what: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]

    @property
    def exponent(self) -> float:
        (size, larger), (value, last) = self.sizes[-2:], self.values[-2:]
        return math.log(last / value) / math.log(larger / size)

    def __str__(self) -> str:
        def write(value: float) -> str:
            if self.what == CPU_SHARE:
                return f"{value:.0%}"
            return f"{value:.0f} MiB" if self.what == "memory" else format_s(value)

        values = ", ".join(map(write, self.values))
        warning = " **worse than linear**" if self.exponent > MAX_EXPONENT else ""
        return f"| {self.what} by {self.by} | {values} | {self.exponent:.2f}{warning} |"


def fit_growth(figures: list[Figure]) -> list[Growth]:
    """Combine the figures of the same kind, ordered by size."""
    groups: defaultdict[tuple[str, str], list[Figure]] = defaultdict(list)
    for figure in figures:
        groups[figure.by, figure.what].append(figure)
    growths = []
    for (by, what), group in groups.items():
        group.sort(key=lambda figure: figure.size)
        sizes, values = zip(*((figure.size, figure.value) for figure in group), strict=True)
        growths.append(Growth(by, what, sizes, values))
    return growths


def repeat(times: int, measure_s: Callable[[], float]) -> Timing:
    return Timing(tuple(measure_s() for _ in range(times)))


def alternate(times: int, *measures_s: Callable[[], float]) -> tuple[Timing, ...]:
    """Repeat several measurements in turn, because the speed of a shared machine drifts."""
    rounds = [[measure_s() for measure_s in measures_s] for _ in range(times)]
    return tuple(map(Timing, zip(*rounds, strict=True)))


def compare(what: str, ours: Timing, theirs: Timing, note: str, least: float | None = None) -> Row:
    """Return a row that compares two timings; ours must be ``least`` times as fast, if given."""
    ratio = theirs.median_s / ours.median_s
    must = "" if least is None else f"at least {least:g}x"
    reached = None if least is None else ratio >= least
    return Row(what, ours, f"{theirs}, {note}", ratio, must, reached)


def format_s(seconds: float) -> str:
    if seconds < 1e-3:
        return f"{seconds * 1e6:.3g} µs"
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def format_table(rows: Iterable[Row]) -> str:
    return _format_cells(_get_cells(row.to_json()) for row in rows)


def _format_cells(rows: Iterable[Sequence[str]]) -> str:
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def describe_machine() -> str:
    memory_gib = psutil.virtual_memory().total / 2**30
    programs = ", ".join(filter(None, map(_describe_program, PROGRAMS)))
    return (
        f"{datetime.date.today().isoformat()}, {_read_processor()}, {os.cpu_count()} cores, "
        f"{memory_gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}; {programs}"
    )


def make_run(rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Describe one run of the benchmarks: the machine, and the rows of each measure."""
    return {
        **_describe_conditions(),
        "rows": [row.to_json(measure) for measure, group in rows.items() for row in group],
    }


def _describe_conditions() -> dict[str, Any]:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"machine": describe_machine(), "load_average": load}


def write_json(path: Path, run: Mapping[str, Any]) -> None:
    _write(path, {"runs": [run]})


def update_results(run: Mapping[str, Any]) -> None:
    """Replace the rows of the measures of ``run`` in the results, for readers and for programs."""
    results = json.loads(RESULTS_JSON.read_text("utf-8")) if RESULTS_JSON.exists() else {"runs": []}
    results = merge_run(results, run)
    _write(RESULTS_JSON, results)
    RESULTS.write_text(format_results(results), encoding="utf-8")


def update_growth(figures: Sequence[Figure]) -> list[Figure]:
    """Replace the recorded figures of the same dimensions; return all that are recorded."""
    results = json.loads(RESULTS_JSON.read_text("utf-8"))
    growth = results.setdefault("growth", {})
    for by in dict.fromkeys(figure.by for figure in figures):
        own = [list(figure[1:]) for figure in figures if figure.by == by]
        growth[by] = {**_describe_conditions(), "figures": own}
    _write(RESULTS_JSON, results)
    RESULTS.write_text(format_results(results), encoding="utf-8")
    return list_figures(results)


def list_figures(results: Mapping[str, Any]) -> list[Figure]:
    """Return the figures of growth that are recorded in the results."""
    return [
        Figure(by, *cells)
        for by, recorded in results.get("growth", {}).items()
        for cells in recorded["figures"]
    ]


def merge_run(results: Mapping[str, Any], run: Mapping[str, Any]) -> dict[str, Any]:
    """Return the results with a run added; older rows of the same measures are dropped."""
    measures = {row["measure"] for row in run["rows"]}
    kept = [
        {**old, "rows": [row for row in old["rows"] if row["measure"] not in measures]}
        for old in results["runs"]
    ]
    return {**results, "runs": [*(old for old in kept if old["rows"]), run]}


def format_results(results: Mapping[str, Any]) -> str:
    """Write the page with all rows, one table for each run."""
    parts = [_INTRODUCTION]
    for run in results["runs"]:
        parts.append(f"## {run['machine'].partition(',')[0]}")
        parts.append(_format_conditions(run))
        if run.get("note"):
            parts.append(run["note"])
        cells = (tuple(map(_format_cell, _get_cells(row))) for row in run["rows"])
        parts.append(_format_cells(cells))
    if results.get("growth"):
        parts.append(_format_growth(results))
    return "\n\n".join(parts) + "\n"


def _format_growth(results: Mapping[str, Any]) -> str:
    conditions = (f"- {by}: {_format_conditions(it)}" for by, it in results["growth"].items())
    lines = ["| measured | figures by size | exponent |", "| --- | --- | --- |"]
    rows = map(str, fit_growth(list_figures(results)))
    return "\n\n".join(["## Growth", "\n".join(conditions), "\n".join([*lines, *rows])])


def _format_conditions(run: Mapping[str, Any]) -> str:
    load = run["load_average"]
    return str(run["machine"]) + ("" if load is None else f"; load average {load:.1f}")


def _get_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    ratio = "" if row["ratio"] is None else f"{row['ratio']:.3g}x"
    reached = {True: "reached", False: "**missed**", None: ""}[row["reached"]]
    return (row["what"], row["tracklight"], row["other"], ratio, row["must_be"], reached)


def _format_cell(text: str) -> str:
    return text.replace("|", r"\|")


def _write(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _describe_program(name: str) -> str:
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        return ""


def _read_processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
