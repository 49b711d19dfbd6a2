"""The result tables: figures, peers, ratios and requirements; and how figures grow."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

import psutil

RESULTS = Path(__file__).parent / "results.md"
#: The same for programs, with all repetitions; see `benchmarks.compare`.
RESULTS_JSON = RESULTS.with_suffix(".json")
COLUMNS = ("measured", "tracklight", "the other", "ratio", "must be", "is")
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

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}x"
        reached = {True: "reached", False: "**missed**", None: ""}[self.reached]
        return (self.what, str(self.ours), str(self.theirs), ratio, self.must, reached)

    def to_json(self) -> dict[str, object]:
        seconds = self.ours.seconds if isinstance(self.ours, Timing) else None
        return {
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
    lines = [COLUMNS, tuple("---" for _ in COLUMNS), *(row.cells() for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def describe_machine() -> str:
    memory_gib = psutil.virtual_memory().total / 2**30
    programs = ", ".join(filter(None, map(_describe_program, PROGRAMS)))
    return (
        f"{datetime.date.today().isoformat()}, {_read_processor()}, {os.cpu_count()} cores, "
        f"{memory_gib:.0f} GiB, {platform.system()}, Python {platform.python_version()}; {programs}"
    )


def write_json(path: Path, rows: Iterable[Row]) -> None:
    result = {"machine": describe_machine(), "rows": [row.to_json() for row in rows]}
    path.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def write_results(rows: Sequence[Row]) -> None:
    """Write the table of a complete run, for readers and for programs."""
    write_json(RESULTS_JSON, rows)
    text = "# Results of `make bench`\n\n{}\n\nHow each row is measured is described in {}.\n\n{}\n"
    modules = "the docstrings of `benchmarks/*.py`"
    RESULTS.write_text(text.format(describe_machine(), modules, format_table(rows)))


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
