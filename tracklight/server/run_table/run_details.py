"""One run in detail, and several runs side by side.

The routes ``runs/details`` and ``runs/compare``: state, program, environment, code, hyperparameters
and metrics of runs. `RunDetailsApi` also has the routes of `run_files`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np

from tracklight.errors import RunNotFoundError, TracklightError
from tracklight.logdir import natural_key
from tracklight.plugin import Route
from tracklight.server.run_table.run_columns import Cell, HParams, RunHParams, make_cell
from tracklight.server.run_table.run_files import (
    ConsoleRequest,
    RunFileRequest,
    RunFiles,
    RunRequest,
)
from tracklight.server.source import LogOverview, LogSource, TagRow
from tracklight.types import Kind, Series
from tracklight.util.files import JsonNumber, to_json_number

if TYPE_CHECKING:
    from tracklight.formats.hparams import RunStart
    from tracklight.server.run_table.table import RunTable

MAX_COMPARED_RUNS = 20
#: Curves of further metrics are not searched for the step at which they diverge.
MAX_DIVERGENCE_TAGS = 300
MAX_DIFF_LINES = 4000

#: Texts that `tracklight.run` logs: the main file, and the difference to the commit.
SOURCE_TAG = "run/source"
DIFF_TAG = "run/diff"

_FENCED = re.compile(r"(?:`[^\n]*`\n\n)?(`{3,})[a-z]*\n(.*?)\n?\1\s*", re.DOTALL)


class NamedValue(msgspec.Struct):
    """A hyperparameter, or a fact about the environment."""

    name: str
    value: Cell


class MetricRow(msgspec.Struct):
    """The numbers of a scalar; ``step`` is that of its last point."""

    tag: str
    count: int
    last: JsonNumber | None
    min: JsonNumber | None
    max: JsonNumber | None
    step: JsonNumber | None


class RunDetailsResponse(msgspec.Struct):
    """What is known about a run. Times are in seconds since 1970, the duration in seconds.

    ``environment`` has what the program recorded about itself and its machine, ``source`` the main
    file of the program and ``diff`` the difference to its commit, null if they were not logged.
    """

    name: str
    state: str
    start: JsonNumber | None
    updated: JsonNumber | None
    duration: JsonNumber | None
    error: str
    points: int
    bytes: int
    environment: list[NamedValue]
    config: list[NamedValue]
    metrics: list[MetricRow]
    tags: list[TagRow]
    source: str | None
    diff: str | None
    captures: int
    has_dump: bool


class CompareRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The runs to compare; the first one is the baseline.

    Curves diverge at the first common step where values differ by more than ``tolerance`` times
    the larger one.
    """

    runs: Annotated[list[str], msgspec.Meta(min_length=2, max_length=MAX_COMPARED_RUNS)]
    tolerance: Annotated[float, msgspec.Meta(ge=0, le=1)] = 1e-6


class ComparedValue(msgspec.Struct):
    """A value in each run, null in runs without it."""

    name: str
    values: list[Cell]
    differs: bool


class ComparedMetric(msgspec.Struct):
    """A scalar in each run, null in runs without it.

    ``diverges_at`` is, for each run, the first step at which its curve differs from that of the
    baseline; null if it does not, or if there is nothing to compare.
    """

    tag: str
    last: list[JsonNumber | None]
    min: list[JsonNumber | None]
    max: list[JsonNumber | None]
    diverges_at: list[int | None]
    differs: bool


class CodeDiff(msgspec.Struct):
    """The difference between the code of the baseline and that of a run, as a unified diff.

    ``diff`` is empty if there is none, and null if one of them did not log its code.
    """

    run: str
    diff: str | None
    is_truncated: bool


class CompareResponse(msgspec.Struct):
    """Runs side by side, in the order of the request.

    ``first_divergence`` is, for each run, the lowest step at which any of its curves leaves that
    of the baseline.
    """

    runs: list[str]
    states: list[str]
    config: list[ComparedValue]
    environment: list[ComparedValue]
    metrics: list[ComparedMetric]
    code: list[CodeDiff]
    first_divergence: list[int | None]


class RunDetailsApi:
    """The routes below ``runs`` about single runs.

    Args:
        source: The log.
        overview: The runs and tags of the log.
        hparams: The hyperparameters of all runs.
        get_table: Returns the table of runs, which has the given runs if they exist.
    """

    def __init__(
        self,
        source: LogSource,
        overview: LogOverview,
        hparams: RunHParams,
        get_table: Callable[[Sequence[str]], RunTable],
    ) -> None:
        self._source = source
        self._overview = overview
        self._hparams = hparams
        self._get_table = get_table
        self._files = RunFiles(source, overview)

    def routes(self) -> Sequence[Route]:
        return [
            Route("runs/details", RunRequest, self.read_details),
            Route("runs/compare", CompareRequest, self.compare),
            Route("runs/files", RunRequest, self._files.list_files),
            Route("runs/preview", RunFileRequest, self._files.preview),
            Route("runs/file", RunFileRequest, self._files.read, "GET"),
            Route("runs/console", ConsoleRequest, self._files.read_console),
        ]

    def read_details(self, request: RunRequest) -> RunDetailsResponse:
        """Return what is known about one run."""
        run = request.run
        table = self._get_table([run])
        row = table.get_row(run)
        tags = self._overview.list_run_tags(run)
        cells = table.read_row(row, ("state", "start", "updated", "duration", "error"))
        counts = self._overview.runs().get(run)
        if counts is None:  # removed after the table was built
            raise RunNotFoundError(run, table.names)
        return RunDetailsResponse(
            name=run,
            state=str(cells["state"]),
            start=_to_number(cells["start"]),
            updated=_to_number(cells["updated"]),
            duration=_to_number(cells["duration"]),
            error=str(cells["error"] or ""),
            points=counts.points,
            bytes=counts.bytes,
            environment=[
                NamedValue(name, value)
                for name, value in list_environment(table.find_start(row)).items()
            ],
            config=_list_config(self._read_hparams([run]).get(run, {})),
            metrics=self._read_metrics(run, tags),
            tags=tags,
            source=self._find_text(run, SOURCE_TAG, tags),
            diff=self._find_text(run, DIFF_TAG, tags),
            captures=sum(capture.run == run for capture in self._source.captures()),
            has_dump=any(file.run == run for file in self._source.debug_files()),
        )

    def compare(self, request: CompareRequest) -> CompareResponse:
        """Return the hyperparameters, environments, metrics and code of several runs."""
        runs = list(dict.fromkeys(request.runs))
        table = self._get_table(runs)
        rows = [table.get_row(run) for run in runs]
        hparams = self._read_hparams(runs)
        starts = [table.find_start(row) for row in rows]
        metrics = self._compare_metrics(runs, request.tolerance)
        divergence = [
            min((at for metric in metrics if (at := metric.diverges_at[number]) is not None),
                default=None)
            for number in range(len(runs))
        ]  # fmt: skip
        return CompareResponse(
            runs=runs,
            states=[str(table.read_row(row, ("state",))["state"]) for row in rows],
            config=compare_values([hparams.get(run, {}) for run in runs]),
            environment=compare_values([list_environment(start) for start in starts]),
            metrics=metrics,
            code=self._compare_code(runs),
            first_divergence=divergence,
        )

    def _read_hparams(self, runs: Sequence[str]) -> Mapping[str, HParams]:
        return self._hparams.read_some(runs)

    def _read_metrics(self, run: str, tags: Iterable[TagRow]) -> list[MetricRow]:
        names = [row.tag for row in tags if row.kind == Kind.SCALAR]
        summaries = self._source.summaries([(run, tag) for tag in names])
        return [
            MetricRow(
                tag=tag,
                count=summary.count,
                last=None if summary.last is None else to_json_number(summary.last.value),
                min=None if summary.min is None else to_json_number(summary.min.value),
                max=None if summary.max is None else to_json_number(summary.max.value),
                step=None if summary.last is None else summary.last.step,
            )
            for tag, summary in zip(names, summaries, strict=True)
            if summary is not None
        ]

    def _find_text(self, run: str, tag: str, tags: Iterable[TagRow]) -> str | None:
        """Return the code in a text that `tracklight.run` logged; None if there is none."""
        if not any(row.tag == tag and row.kind == Kind.TEXT for row in tags):
            return None
        from tracklight.formats.values import Text, decode_value

        try:
            locations = self._source.locate(run, tag)
            value = decode_value(self._source.read(locations, len(locations) - 1), Kind.TEXT)
        except (TracklightError, OSError, IndexError):
            return None
        if not isinstance(value, Text) or value.array.size != 1:
            return None
        text = str(value.array.item())
        fenced = _FENCED.fullmatch(text)
        return fenced[2] if fenced else text

    def _compare_metrics(self, runs: Sequence[str], tolerance: float) -> list[ComparedMetric]:
        wanted = set(runs)
        tags = [
            shared.tag
            for shared in self._overview.tags()
            if shared.kind is Kind.SCALAR and not wanted.isdisjoint(shared.runs)
        ]
        metrics = []
        for number, tag in enumerate(sorted(tags, key=natural_key)):
            columns = self._source.summary_columns(runs, tag)
            last = [
                to_json_number(value) if is_present else None
                for value, is_present in zip(
                    columns.last.tolist(), columns.is_present.tolist(), strict=True
                )
            ]
            low, high = (
                [None if np.isnan(value) else value for value in column.tolist()]
                for column in (columns.low, columns.high)
            )
            diverges_at: list[int | None] = [None] * len(runs)
            if number < MAX_DIVERGENCE_TAGS and columns.is_present[0]:
                diverges_at = self._find_divergence(runs, tag, columns.is_present, tolerance)
            metrics.append(
                ComparedMetric(tag, last, low, high, diverges_at, len(set(map(str, last))) > 1)
            )
        return metrics

    def _find_divergence(
        self, runs: Sequence[str], tag: str, is_present: Iterable[bool], tolerance: float
    ) -> list[int | None]:
        baseline = self._source.scalar(runs[0], tag)
        return [
            find_divergence(baseline, self._source.scalar(run, tag), tolerance)
            if has_points and run != runs[0]
            else None
            for run, has_points in zip(runs, is_present, strict=True)
        ]

    def _compare_code(self, runs: Sequence[str]) -> list[CodeDiff]:
        codes = [self._read_code(run) for run in runs]
        return [
            make_code_diff(runs[0], codes[0], run, code)
            for run, code in zip(runs[1:], codes[1:], strict=True)
        ]

    def _read_code(self, run: str) -> str | None:
        tags = self._overview.list_run_tags(run)
        parts = [self._find_text(run, tag, tags) for tag in (SOURCE_TAG, DIFF_TAG)]
        return "\n".join(part for part in parts if part is not None) if any(parts) else None


def list_environment(start: RunStart | None) -> dict[str, Cell]:
    """Return what a program recorded about itself and its machine, without empty texts."""
    if start is None:
        return {}
    facts: dict[str, Cell] = {
        "command": start.command,
        "directory": start.directory,
        "host": start.host,
        "user": start.user,
        "git_commit": start.git_commit,
        "platform": start.platform,
        "python": start.python,
        **{f"package:{name}": version for name, version in sorted(start.versions.items())},
    }
    return {name: value for name, value in facts.items() if value}


def compare_values(runs: Sequence[Mapping[str, Cell]]) -> list[ComparedValue]:
    """Return the values of all runs by name, in natural order of the names."""
    names = sorted({name for values in runs for name in values}, key=natural_key)
    rows = []
    for name in names:
        values = [make_cell(own.get(name)) for own in runs]
        differs = any(type(value) is not type(values[0]) or value != values[0] for value in values)
        rows.append(ComparedValue(name, values, differs))
    return rows


def find_divergence(baseline: Series, other: Series, tolerance: float) -> int | None:
    """Return the first common step at which two curves differ; None if they do not.

    Args:
        baseline: A series.
        other: The series to compare with it.
        tolerance: The allowed difference, relative to the larger absolute value.
    """
    first, second = baseline.without_overwritten(), other.without_overwritten()
    steps, left, right = np.intersect1d(first.step, second.step, return_indices=True)
    a, b = first.value[left].astype(np.float64), second.value[right].astype(np.float64)
    with np.errstate(invalid="ignore"):
        is_close = np.abs(a - b) <= tolerance * np.maximum(np.abs(a), np.abs(b))
    is_same = is_close | (a == b) | (np.isnan(a) & np.isnan(b))
    found = np.flatnonzero(~is_same)
    return int(steps[found[0]]) if len(found) else None


def make_code_diff(
    baseline: str, baseline_code: str | None, run: str, code: str | None
) -> CodeDiff:
    """Compare the code of two runs."""
    if baseline_code is None or code is None:
        return CodeDiff(run, None, False)
    import difflib

    lines = list(
        difflib.unified_diff(
            baseline_code.splitlines(), code.splitlines(), baseline, run, lineterm=""
        )
    )
    return CodeDiff(run, "\n".join(lines[:MAX_DIFF_LINES]), len(lines) > MAX_DIFF_LINES)


def _list_config(hparams: HParams) -> list[NamedValue]:
    return [NamedValue(name, make_cell(hparams[name])) for name in sorted(hparams, key=natural_key)]


def _to_number(value: Cell) -> JsonNumber | None:
    return to_json_number(value) if isinstance(value, float) else None
