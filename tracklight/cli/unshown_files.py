"""Recognize files in a log directory that no dashboard shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from tracklight.logdir.captures import is_capture
from tracklight.logdir.filesystem import FileSystem, ListedFile

_DEBUGGER = "Debugger V2 data (tf.debugging.experimental.enable_dump_debug_info)"
_OLD_PROFILE = "results of an old TensorFlow profiler without the raw data"
_WANDB = "Weights & Biases run files"
_CSV_LOGGER = "metrics of Lightning's CSVLogger"

_DEBUGGER_PREFIX = "tfdbg_events."
_DEBUGGER_SUFFIXES = (
    ".metadata",
    ".source_files",
    ".stack_frames",
    ".graphs",
    ".execution",
    ".graph_execution_traces",
)
_PROFILE_FOLDER = "plugins/profile/"
#: Results that the profilers of TensorFlow 1.14 to 2.2 and of TPUs stored instead of raw data.
_OLD_PROFILE_SUFFIXES = (
    ".input_pipeline.json",
    ".input_pipeline.pb",
    ".kernel_stats.pb",
    ".memory_profile.json",
    ".op_profile.json",
    ".overview_page.json",
    ".overview_page.pb",
    ".pod_viewer.json",
    ".tensorflow_stats.pb",
    ".tracetable",
    ".trace",
)


def iter_unshown(files: FileSystem, root: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what such files are, with the folders (or files) in which they were found."""
    listing = files.list_files(root, _is_candidate, lambda directory: False).files
    has_captures = {file.directory for file in listing if is_capture(file.name)}
    found: dict[str, set[str]] = defaultdict(set)
    for file in listing:
        what = _describe(file)
        if what and not (what == _OLD_PROFILE and file.directory in has_captures):
            found[what].add(file.directory or ".")
    for what, places in found.items():
        yield what, sorted(places)


def _is_candidate(name: str) -> bool:
    return (
        name.startswith(_DEBUGGER_PREFIX)
        or name.endswith(_OLD_PROFILE_SUFFIXES)
        or name.endswith(".wandb")
        or name == "metrics.csv"
        or is_capture(name)
    )


def _describe(file: ListedFile) -> str | None:
    if file.name.startswith(_DEBUGGER_PREFIX):
        return _DEBUGGER if file.name.endswith(_DEBUGGER_SUFFIXES) else None
    if file.name.endswith(".wandb"):
        return _WANDB
    if file.name == "metrics.csv":
        return _CSV_LOGGER
    in_profile = _PROFILE_FOLDER in f"{file.directory}/"
    return _OLD_PROFILE if in_profile and file.name.endswith(_OLD_PROFILE_SUFFIXES) else None
