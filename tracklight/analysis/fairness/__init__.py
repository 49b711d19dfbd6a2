"""Evaluations of a log: results per slice that were logged, or found as TFMA folders.

`EvaluationLibrary` lists the evaluations of a log, and loads them through a cache. There are three
sources: results that `tracklight.fairness` logged (one per run, tag and step), evaluation folders
of TensorFlow Model Analysis below the log directories, and summaries of the
``fairness_indicators`` plugin, which only hold the path of such a folder. Such paths must be inside
the log directories. Results of folders are cached, so that they remain after a folder was moved.

`make_conditions` turns the definition of a slice into conditions on columns, as the What-If
dashboard applies them.

`tfma` decodes the files of an evaluation folder, and `tfma_folder` turns their metrics and plots
into the same form as our own results (`analysis.evaluation`). May import `formats`, `logdir`,
`index` and `analysis.evaluation`; nothing here knows about HTTP.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from tracklight.analysis.evaluation.filters import Comparison, list_comparisons
from tracklight.analysis.evaluation.report import (
    PLUGIN_NAME,
    decode_evaluation,
    encode_evaluation,
)
from tracklight.analysis.evaluation.slices import SliceKey, format_bucket
from tracklight.analysis.fairness.tfma_folder import (
    Attribution,
    ModelEvaluation,
    Validation,
    read_tfma_folder,
)
from tracklight.analysis.source import Source
from tracklight.errors import FormatError, LogError, Message, RunNotFoundError, TracklightError
from tracklight.logdir.access import ConfinedFiles, join_path
from tracklight.types import Bool, Int64
from tracklight.util.files import FileCache, hash_key
from tracklight.util.memory import LruCache

#: Plugin name of the summaries of Fairness Indicators.
TFMA_PLUGIN = "fairness_indicators"

_MEMORY_CACHE_BYTES = 256 << 20
_DISK_CACHE_BYTES = 512 << 20
_MAX_PATH_BYTES = 4096


@dataclass(frozen=True)
class EvaluationEntry:
    """One evaluation that can be loaded."""

    id: str
    run: str
    tag: str
    """Tag of the logged value, or path of a folder relative to its log directory."""
    step: int | None
    wall_time: float | None
    kind: str
    """``logged``, ``summary`` (a path in an event file) or ``folder``."""
    version: str
    """Changes whenever the evaluation was written again."""
    index: int = 0
    path: str = ""


class _CachedModel(msgspec.Struct):
    """What the disk cache holds of one model, beside the encoded result."""

    parts: list[bytes]
    is_baseline: bool
    attributions: list[Attribution]
    validation: Validation | None
    problems: list[Message]


class EvaluationLibrary:
    """The evaluations of a log. Thread-safe.

    Args:
        log: The log.
    """

    def __init__(self, log: Source) -> None:
        self._log = log
        self._files = ConfinedFiles([root.path for root in log.roots])
        self._cache: LruCache[tuple[str, str], list[ModelEvaluation]] = LruCache(
            max_bytes=_MEMORY_CACHE_BYTES
        )
        #: Version of the log, and the evaluations it had then.
        self._listed: tuple[int, list[EvaluationEntry]] = (-1, [])
        folder = log.cache_folder
        self._disk = (
            None
            if folder is None
            else FileCache(folder / "evaluations", max_bytes=_DISK_CACHE_BYTES)
        )

    def list_entries(self, runs: Sequence[str] | None = None) -> list[EvaluationEntry]:
        """Return all evaluations, by run, tag and step; folders last."""
        if runs is not None:
            return [*self._iter_logged(runs), *self._iter_folders()]
        version, entries = self._listed
        if version != self._log.version:
            version = self._log.version
            names = [run.name for run in self._log.runs()]
            entries = [*self._iter_logged(names), *self._iter_folders()]
            self._listed = version, entries
        return entries

    def get_entry(self, id_: str) -> EvaluationEntry:
        """Return an evaluation by its id.

        Raises:
            LogError: The log does not have it any more.
        """
        for entry in self.list_entries():
            if entry.id == id_:
                return entry
        raise LogError("fairness.gone", "the log no longer has this evaluation; reload the page")

    def load(self, entry: EvaluationEntry) -> list[ModelEvaluation]:
        """Return the results of each model of an evaluation.

        Raises:
            LogError: It was removed, or its folder is outside the log directories.
            FormatError: It is damaged.
        """
        return self._cache.get_or_build(
            (entry.id, entry.version), lambda: self._load(entry), _measure
        )

    def _load(self, entry: EvaluationEntry) -> list[ModelEvaluation]:
        if entry.kind == "logged":
            parts = self._read_strings(entry)
            return [ModelEvaluation(decode_evaluation(parts))]
        path = self._read_path(entry) if entry.kind == "summary" else entry.path
        key = f"{entry.kind} {path}"
        try:
            models = read_tfma_folder(self._files, path)
        except TracklightError as error:
            self._files.check_path(path)
            cached = self._find_cached(key)
            if cached is None:
                raise
            note = Message.format(
                "fairness.from_cache",
                "The folder can no longer be read ({error}); this is a copy from the cache.",
                error=error,
            )
            return [_add_problem(model, note) for model in cached]
        if self._disk is not None and not any(model.problems for model in models):
            self._disk.put(key, _encode_models(models))
        return models

    def _find_cached(self, key: str) -> list[ModelEvaluation] | None:
        content = None if self._disk is None else self._disk.find(key)
        if content is None:
            return None
        try:
            return _decode_models(content)
        except TracklightError:
            return None

    def _read_strings(self, entry: EvaluationEntry) -> list[bytes]:
        from tracklight.formats.values import Tensor, Text, decode_value

        locations = self._log.locate(entry.run, entry.tag)
        value = decode_value(self._log.read(locations, entry.index), locations.kind)
        if not isinstance(value, Tensor | Text) or value.array.dtype.kind != "O":
            raise FormatError("fairness.not_evaluation", '"{tag}" is no evaluation', tag=entry.tag)
        return [_to_bytes(item) for item in np.atleast_1d(value.array).ravel().tolist()]

    def _read_path(self, entry: EvaluationEntry) -> str:
        """Return the folder in a summary; a relative path is relative to the run."""
        path = next(iter(self._read_strings(entry)), b"")
        if not path or len(path) > _MAX_PATH_BYTES or b"\0" in path:
            raise FormatError(
                "fairness.no_path", '"{tag}" holds no path of an evaluation', tag=entry.tag
            )
        text = path.decode("utf-8", "surrogateescape")
        return join_path(self._get_run_folder(entry.run), text)

    def _get_run_folder(self, run: str) -> str:
        for root in self._log.roots:
            name = root.get_run_name("")
            if run == name:
                return root.path
            prefix = "" if name == "." else name.removesuffix("/.") + "/"
            if run.startswith(prefix):
                return join_path(root.path, run[len(prefix) :])
        raise RunNotFoundError(run)

    def _iter_logged(self, runs: Sequence[str]) -> Iterator[EvaluationEntry]:
        for run in runs:
            for tag in self._log.tags(run):
                if tag.plugin not in (PLUGIN_NAME, TFMA_PLUGIN):
                    continue
                kind = "logged" if tag.plugin == PLUGIN_NAME else "summary"
                locations = self._log.locate(run, tag.tag)
                for index in _list_valid(locations.step, locations.overwritten):
                    step, wall = int(locations.step[index]), float(locations.wall_time[index])
                    yield EvaluationEntry(
                        id=make_evaluation_id(kind, run, tag.tag, step, wall),
                        run=run,
                        tag=tag.tag,
                        step=step,
                        wall_time=wall,
                        kind=kind,
                        version=f"{index}",
                        index=index,
                    )

    def _iter_folders(self) -> Iterator[EvaluationEntry]:
        folders: dict[str, tuple[str, list[str]]] = {}
        for file in self._log.evaluation_files():
            folder = os.path.dirname(file.path)
            folders.setdefault(folder, (file.run, []))[1].append(file.version)
        for folder, (run, versions) in sorted(folders.items()):
            yield EvaluationEntry(
                id=hash_key(f"folder\n{folder}", size_bytes=8),
                run=run,
                tag=os.path.basename(folder),
                step=None,
                wall_time=None,
                kind="folder",
                version=hash_key("\n".join(sorted(versions)), size_bytes=8),
                path=folder,
            )


def make_evaluation_id(kind: str, run: str, tag: str, step: int, wall_time: float) -> str:
    """Return the id of an evaluation in an event file."""
    return hash_key("\n".join((kind, run, tag, str(step), repr(wall_time))), size_bytes=8)


def _list_valid(steps: Int64, overwritten: Bool) -> list[int]:
    order = np.argsort(steps, kind="stable")
    return [int(at) for at in order if not overwritten[at]]


def _to_bytes(item: object) -> bytes:
    if isinstance(item, bytes):
        return item
    return str(item).encode("utf-8", "surrogateescape")


def _measure(models: list[ModelEvaluation]) -> int:
    size = 1000
    for model in models:
        result = model.stored.result
        arrays = [result.value, result.lower, result.upper, result.replicates]
        if model.stored.plots is not None:
            arrays += [model.stored.plots.counts, model.stored.plots.calibration]
        size += sum(array.nbytes for array in arrays if array is not None)
        size += 200 * (len(result.slices) + len(model.attributions))
    return size


def _add_problem(model: ModelEvaluation, problem: Message) -> ModelEvaluation:
    return ModelEvaluation(
        model.stored,
        model.is_baseline,
        model.attributions,
        model.validation,
        (*model.problems, problem),
    )


def _encode_models(models: Sequence[ModelEvaluation]) -> bytes:
    return msgspec.msgpack.encode(
        [
            _CachedModel(
                encode_evaluation(model.stored),
                model.is_baseline,
                list(model.attributions),
                model.validation,
                list(model.problems),
            )
            for model in models
        ]
    )


def _decode_models(content: bytes) -> list[ModelEvaluation]:
    try:
        cached = msgspec.msgpack.decode(content, type=list[_CachedModel])
    except msgspec.DecodeError as error:
        raise FormatError(
            "fairness.invalid_cache", "the cached evaluation is damaged: {error}", error=error
        ) from None
    return [
        ModelEvaluation(
            decode_evaluation(item.parts),
            item.is_baseline,
            item.attributions,
            item.validation,
            tuple(item.problems),
        )
        for item in cached
    ]


# ---- slices as conditions

_RANGE = re.compile(r"\[(\S+), (\S+)\)")


class RowCondition(msgspec.Struct, frozen=True):
    """A row fits if its value equals ``value``, is missing, or is in a range."""

    column: str
    value: str | None = None
    is_missing: bool = False
    low: float | None = None
    """From here on."""
    high: float | None = None
    """Below here, or up to here if ``is_closed``."""
    is_closed: bool = False


def make_conditions(
    key: SliceKey,
    where: str = "",
    bucket_edges: Mapping[str, Sequence[Sequence[float]]] | None = None,
) -> list[RowCondition] | None:
    """Return the conditions that all rows of a slice fit.

    Args:
        key: The slice.
        where: The filter of the whole evaluation.
        bucket_edges: The edges of the bucket rules of each column. Without them, they are taken
            from the names of buckets, which have six digits.

    Returns:
        The conditions; None if a filter is not a conjunction of simple comparisons.
    """
    conditions: list[RowCondition] = []
    filters = [value for name, value in key if name == "filter"] + ([where] if where else [])
    for text in filters:
        comparisons = list_comparisons(text)
        if comparisons is None:
            return None
        conditions += (_convert(comparison) for comparison in comparisons)
    for name, value in key:
        if name != "filter":
            conditions += _iter_value(name, value, (bucket_edges or {}).get(name, ()))
    return conditions


def _convert(comparison: Comparison) -> RowCondition:
    column, symbol, value = comparison.column, comparison.symbol, comparison.value
    if value is None:
        return RowCondition(column, is_missing=True)
    if symbol == "=" or not isinstance(value, float):
        return RowCondition(column, _format(value))
    if symbol == "<":
        return RowCondition(column, high=value)
    if symbol == "<=":
        return RowCondition(column, high=value, is_closed=True)
    return RowCondition(column, low=value if symbol == ">=" else math.nextafter(value, math.inf))


def _format(value: str | float | bool) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _iter_value(
    column: str, value: str, rules: Sequence[Sequence[float]]
) -> Iterator[RowCondition]:
    for edges in rules:
        for number in range(len(edges) + 1):
            if format_bucket(edges, number) == value:
                low = edges[number - 1] if number else None
                high = edges[number] if number < len(edges) else None
                if edges:
                    yield RowCondition(column, low=low, high=high)
                return
    ends = _parse_bucket(value)
    if ends is None:
        yield RowCondition(column, value)
    else:
        yield RowCondition(column, low=ends[0], high=ends[1])


def _parse_bucket(text: str) -> tuple[float | None, float | None] | None:
    match = _RANGE.fullmatch(text)
    try:
        if match:
            return float(match[1]), float(match[2])
        if text.startswith("< "):
            return None, float(text[2:])
        if text.startswith(">= "):
            return float(text[3:]), None
    except ValueError:
        pass
    return None
