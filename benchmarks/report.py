"""The result table: figures, peers, ratios and requirements."""

from __future__ import annotations

import datetime
import os
import platform
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil

RESULTS = Path(__file__).parent / "results.md"
COLUMNS = ("measured", "tracklight", "the other", "ratio", "must be", "is")
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
    ours: str
    theirs: str = ""
    ratio: float | None = None
    must: str = ""
    reached: bool | None = None

    def cells(self) -> tuple[str, ...]:
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}x"
        reached = {True: "reached", False: "**missed**", None: ""}[self.reached]
        return (self.what, self.ours, self.theirs, ratio, self.must, reached)


def repeat(times: int, measure_s: Callable[[], float]) -> Timing:
    return Timing(tuple(measure_s() for _ in range(times)))


def compare(what: str, ours: Timing, theirs: Timing, note: str, least: float | None = None) -> Row:
    """Return a row that compares two timings; ours must be ``least`` times as fast, if given."""
    ratio = theirs.median_s / ours.median_s
    must = "" if least is None else f"at least {least:g}x"
    reached = None if least is None else ratio >= least
    return Row(what, str(ours), f"{theirs}, {note}", ratio, must, reached)


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


def write_results(rows: Iterable[Row]) -> None:
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
