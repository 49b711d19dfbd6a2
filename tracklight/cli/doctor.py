"""``tracklight doctor``: check the installation and a log directory.

`check_install` reports on compiled modules, directories, extras and dashboards. `check_log` reports
what a log directory contains and why some of it is not shown. Both return sections of findings.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from argparse import Namespace
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from importlib.metadata import PackageNotFoundError, entry_points, version
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np

from tracklight import __version__
from tracklight.analysis.embeddings.discovery import discover_embeddings
from tracklight.cli.logdir_arg import (
    create_catalog,
    find_logdir_arg,
    read_byte_progress,
    show_progress,
    suggest_path,
)
from tracklight.cli.parser import EXIT_UNHEALTHY
from tracklight.dashboards import BUILT_IN_DASHBOARDS
from tracklight.errors import BindError
from tracklight.index.cache import get_user_cache_folder
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import ConfinedFiles, Root, is_url, open_filesystem
from tracklight.logdir.discover import discover, is_capture
from tracklight.logdir.filesystem import FileSystem, ListedFile
from tracklight.logdir.watch import is_network_path
from tracklight.server.plugins import ENTRY_POINT_GROUP
from tracklight.server.routing import PAGE_DIR
from tracklight.server.serve import bind_address
from tracklight.types import Kind, RunInfo, SharedTag
from tracklight.util.files import get_data_dir
from tracklight.util.html import format_count


class Severity(str, Enum):
    """How much a finding matters. Only errors change the exit status."""

    OK = "ok"
    NOTE = "note"
    ERROR = "error"


class Finding(msgspec.Struct, frozen=True):
    """One result of a check, and what to do about it."""

    severity: Severity
    text: str
    hint: str = ""


class Section(msgspec.Struct, frozen=True):
    """The findings on one subject."""

    title: str
    findings: list[Finding]


def ok(text: str) -> Finding:
    return Finding(Severity.OK, text)


def note(text: str, hint: str = "") -> Finding:
    return Finding(Severity.NOTE, text, hint)


def error(text: str, hint: str = "") -> Finding:
    return Finding(Severity.ERROR, text, hint)


def has_errors(sections: Iterable[Section]) -> bool:
    return any(
        finding.severity is Severity.ERROR for section in sections for finding in section.findings
    )


def iter_report_lines(sections: Iterable[Section]) -> Iterator[str]:
    for section in sections:
        yield section.title
        for finding in section.findings:
            yield f"  {finding.severity.value:<6}{finding.text}"
            if finding.hint:
                yield f"        {finding.hint}"
        yield ""


def format_names(names: Sequence[str], limit: int = 3) -> str:
    """Join the first names, and say how many more there are."""
    joined = ", ".join(names[:limit])
    return joined if len(names) <= limit else f"{joined} and {len(names) - limit:,} more"


def doctor(flags: Namespace) -> int:
    """Print the report; the exit status says whether there are errors."""
    sections = list(_iter_sections(flags))
    if flags.json:
        sys.stdout.buffer.write(msgspec.json.encode(sections) + b"\n")
    else:
        sys.stdout.writelines(f"{line}\n" for line in iter_report_lines(sections))
    return EXIT_UNHEALTHY if has_errors(sections) else 0


def _iter_sections(flags: Namespace) -> Iterator[Section]:
    yield check_install()
    if find_logdir_arg(flags) is None:
        return
    catalog = create_catalog(flags)
    try:
        with show_progress("reading", lambda: read_byte_progress(catalog)):
            catalog.refresh()
        yield from check_log(catalog)
    finally:
        catalog.close()


# ---- the installation


class Extra(NamedTuple):
    """The packages that an optional extra installs, and what they are for."""

    packages: tuple[str, ...]
    purpose: str


#: There are no wheels for 3.10, where s3fs and adlfs do all.
_OBSTORE = ["obstore"] if sys.version_info >= (3, 11) else []

#: Every extra of pyproject.toml except "all".
EXTRAS = {
    "remote": Extra(("aiohttp", "fsspec"), "logs at http:// and other URLs"),
    "s3": Extra(("aiohttp", "fsspec", "s3fs", *_OBSTORE), "logs at s3://"),
    "gcs": Extra(("aiohttp", "fsspec", "gcsfs"), "logs at gs://"),
    "azure": Extra(("aiohttp", "fsspec", "adlfs", *_OBSTORE), "logs at az://"),
    "pandas": Extra(("pandas",), "tables for pandas"),
    "polars": Extra(("polars",), "tables for Polars"),
    "arrow": Extra(("pyarrow",), "tables for Arrow"),
    "parquet": Extra(("pyarrow",), "export to Parquet files"),
    "keras": Extra(("keras",), "the Keras callback"),
    "notebook": Extra(("anywidget",), "live charts in notebook cells"),
    "projector": Extra(("h5py", "pyarrow"), "embeddings in HDF5 and Parquet files"),
    "ray": Extra(("ray",), "indexing a log on a Ray cluster"),
    "search": Extra(("optuna",), "hyperparameter search with Optuna"),
    "serving": Extra(("grpcio",), "models behind TensorFlow Serving"),
    "sql": Extra(("duckdb", "pyarrow"), "SQL queries of profiles"),
    "system": Extra(("psutil", "nvidia-ml-py"), "CPU, memory and GPU usage in profiles"),
}

_WRITERS = ("torch", "tensorflow", "keras", "jax", "lightning", "transformers", "tensorboardX")


def check_install() -> Section:
    system = f"{platform.system()} {platform.machine()}"
    title = f"tracklight {__version__}, Python {platform.python_version()} on {system}"
    findings = [*_check_build(), *_check_folders(), _check_port(), *_check_packages()]
    return Section(title, findings)


def _check_build() -> Iterator[Finding]:
    if importlib.util.find_spec("tracklight.formats._scan"):
        yield ok("the event reader is compiled")
    else:
        yield error(
            "the event reader is not compiled, so large logs load slowly",
            "install a C compiler and reinstall tracklight",
        )
    if (PAGE_DIR / "index.html").is_file():
        yield ok("the web page is built")
    else:
        yield error(
            "the web page is not built, so only the HTTP API is served",
            "install npm and reinstall tracklight",
        )


def _check_folders() -> Iterator[Finding]:
    yield _check_folder("cache", get_user_cache_folder(), "--cache-dir or TRACKLIGHT_CACHE_DIR")
    yield _check_folder("notes", get_data_dir(), "TRACKLIGHT_DATA_DIR")


def _check_folder(name: str, folder: Path, setting: str) -> Finding:
    if _is_writable(folder):
        return ok(f"{name} directory {folder} is writable")
    return error(
        f"{name} directory {folder} is not writable", f"choose another directory with {setting}"
    )


def _is_writable(folder: Path) -> bool:
    """Return whether the folder, or the nearest parent that exists, is writable."""
    nearest = next((item for item in (folder, *folder.parents) if item.exists()), folder)
    return nearest.is_dir() and os.access(nearest, os.W_OK)


def _check_port() -> Finding:
    try:
        bind_address("localhost", 6006).close()
    except BindError:
        return note("port 6006 is in use", "without --port, the next free port is used")
    return ok("port 6006 is free")


def _check_packages() -> Iterator[Finding]:
    for name, extra in EXTRAS.items():
        yield _check_extra(name, extra)
    writers = [f"{name} {found}" for name in _WRITERS if (found := _find_version(name))]
    yield ok(f"installed frameworks: {', '.join(writers) or 'none'}")
    tensorboard = _find_version("tensorboard")
    if tensorboard:
        yield ok(f"TensorBoard {tensorboard} is installed (not needed)")
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        yield ok(f'dashboard "{entry.name}" is provided by {entry.value}')


def _check_extra(name: str, extra: Extra) -> Finding:
    versions = {package: _find_version(package) for package in extra.packages}
    missing = [package for package, found in versions.items() if found is None]
    if missing:
        return note(
            f'extra "{name}" is not installed (missing {" and ".join(missing)}): {extra.purpose}',
            f"pip install 'tracklight[{name}]'",
        )
    listed = ", ".join(f"{package} {found}" for package, found in versions.items())
    return ok(f'extra "{name}" ({listed}): {extra.purpose}')


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# ---- files in a log directory that no dashboard shows

_OLD_PROFILE = "results of an old TensorFlow profiler without the raw data"
_WANDB = "Weights & Biases run files"
_CSV_LOGGER = "metrics of Lightning's CSVLogger"

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


def iter_unsupported_files(files: FileSystem, root: str) -> Iterator[tuple[str, list[str]]]:
    """Yield descriptions of files that no dashboard shows, with the folders that hold them."""
    listing = files.list_files(root, _is_candidate, lambda directory: False).files
    has_captures = {file.directory for file in listing if is_capture(file.name)}
    folders: dict[str, set[str]] = defaultdict(set)
    for file in listing:
        description = _describe_file(file)
        is_duplicate = description == _OLD_PROFILE and file.directory in has_captures
        if description and not is_duplicate:
            folders[description].add(file.directory or ".")
    for description, names in folders.items():
        yield description, sorted(names)


def _is_candidate(name: str) -> bool:
    return (
        name.endswith(_OLD_PROFILE_SUFFIXES)
        or name.endswith(".wandb")
        or name == "metrics.csv"
        or is_capture(name)
    )


def _describe_file(file: ListedFile) -> str | None:
    if file.name.endswith(".wandb"):
        return _WANDB
    if file.name == "metrics.csv":
        return _CSV_LOGGER
    in_profile = _PROFILE_FOLDER in f"{file.directory}/"
    return _OLD_PROFILE if in_profile and file.name.endswith(_OLD_PROFILE_SUFFIXES) else None


# ---- the log directory

#: Folders of other programs, and how to show their data.
_OTHER_PROGRAMS = {
    "wandb": "Weights & Biases uses its own format; let it sync TensorBoard files, or log here too",
    "mlruns": "MLflow uses its own format; log with a tracklight writer as well",
    "lightning_logs": "Lightning logs below this folder; give it as the log directory",
}

_MAX_ENTRIES = 1000
#: Plugins shown by a dashboard that does not list them: node times and memory in Graphs.
_SECONDARY_PLUGINS = {"graph_tagged_run_metadata": "Graphs"}

#: Plugins of TensorBoard and of writers without a dashboard here.
_KNOWN_PLUGINS = {
    "beholder": "Beholder",
    "fairness_indicators": "Fairness Indicators",
    "npmi": "nPMI",
    "tensor": "SummaryWriter.add_tensor",
}


def check_log(catalog: Catalog) -> Iterator[Section]:
    """Yield a section for each root, and one for the contents of all of them."""
    for root in catalog.roots:
        yield Section(root.path, [*_check_root(root, catalog)])
    runs = catalog.runs()
    findings = [*_check_runs(runs, catalog), *_check_dashboards(runs, catalog)]
    if findings:
        yield Section("Contents", findings)


def _check_root(root: Root, catalog: Catalog) -> Iterator[Finding]:
    if is_url(root.path):
        yield ok("remote: checked for changes every few seconds")
    elif not os.path.exists(root.path):
        hint = f"it is shown as soon as it exists.{suggest_path(root.path)}"
        yield error("there is no such directory", hint)
        return
    elif is_network_path(root.path):
        yield note("on a network file system: checked for changes every second")
    files, path = open_filesystem(root.path)
    discovered = discover(root, files)
    known = {run.name for run in catalog.runs()}
    excluded = [run for run in discovered.runs if run not in known]
    unsupported = [*iter_unsupported_files(files, path)]
    if discovered.runs:
        yield ok(f"{format_count(len(discovered.runs), 'run')} found")
    elif not unsupported and not discovered.tensors:
        yield from _explain_no_runs(root)
    else:
        yield note("no runs: there are no event files and no profiles")
    if excluded:
        runs = format_count(len(excluded), "run")
        yield note(f"{runs} excluded by --include or --exclude: {format_names(excluded)}")
    for description, folders in unsupported:
        yield note(f"{description}: {format_names(folders)}", "no dashboard shows this yet")
    for problem in discovered.problems:
        yield error(str(problem), "check the permissions")


def _explain_no_runs(root: Root) -> Iterator[Finding]:
    yield error(
        "there are no event files in this directory or below it",
        'event files have "tfevents" in their names; is this where the program logs to?',
    )
    if is_url(root.path) or not os.path.isdir(root.path):
        return
    with os.scandir(root.path) as entries:
        names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES))
    yield note(f"it contains: {format_names(names, 5)}" if names else "the directory is empty")
    for name in names:
        if name in _OTHER_PROGRAMS:
            yield note(f"{name}: {_OTHER_PROGRAMS[name]}")


def _check_runs(runs: Sequence[RunInfo], catalog: Catalog) -> Iterator[Finding]:
    if runs:
        files, points = sum(run.files for run in runs), sum(run.points for run in runs)
        size_mb = sum(run.bytes for run in runs) / 1e6
        yield ok(
            f"{format_count(len(runs), 'run')} in {format_count(files, 'event file')} "
            f"({size_mb:,.1f} MB) with {format_count(points, 'value')}"
        )
    has_files = {capture.run for capture in catalog.captures()} | {
        tensor_file.run for tensor_file in catalog.tensor_files()
    }
    has_files |= {debug_file.run for debug_file in catalog.debug_files()}
    empty = [run.name for run in runs if not run.tags and run.name not in has_files]
    if empty:
        yield note(
            f"{format_count(len(empty), 'run')} without data: {format_names(empty)}",
            "the program has logged nothing yet, or has not flushed its writer",
        )
    damaged = [run.name for run in runs if run.damaged]
    if damaged:
        records = format_count(sum(run.damaged for run in runs), "corrupt record")
        yield error(
            f"{records} in {format_count(len(damaged), 'run')}: {format_names(damaged)}",
            "all other records are shown; `tracklight inspect` lists the corrupt ones",
        )
    for problem in catalog.problems:
        yield error(str(problem))


def _check_dashboards(runs: Sequence[RunInfo], catalog: Catalog) -> Iterator[Finding]:
    """Report what each dashboard shows, in the order of the tabs, and the tags without one."""
    tags = catalog.shared_tags([run.name for run in runs])
    titles = _list_dashboard_titles()
    shown = Counter(titles[tag.plugin] for tag in tags if tag.plugin in titles)
    projector = [*_check_embeddings(catalog)]
    debugger = [*_check_dumps(catalog)]
    profile = [*_check_captures(catalog)]
    for title in dict.fromkeys(titles.values()):
        if shown[title]:
            yield ok(f"{title}: {format_count(shown[title], 'tag')}")
        if title == "Projector":
            yield from projector
        if title == "Debugger":
            yield from debugger
        if title == "Profile":
            yield from profile
    without_dashboard: dict[str, list[str]] = defaultdict(list)
    for tag in tags:
        if tag.plugin not in titles:
            without_dashboard[tag.plugin].append(tag.tag)
    for plugin, names in without_dashboard.items():
        yield _explain_without_dashboard(plugin, names)
    yield from _check_overwritten(tags, runs, catalog)


def _list_dashboard_titles() -> dict[str, str]:
    """Map plugin names to the titles of the dashboards that show them."""
    titles = {
        plugin: built_in_dashboard.title
        for built_in_dashboard in BUILT_IN_DASHBOARDS
        for plugin in built_in_dashboard.plugins
    }
    titles.update(_SECONDARY_PLUGINS)
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        try:
            dashboard = entry.load()
            titles.update({plugin: dashboard.title for plugin in dashboard.plugins})
        except Exception:  # third-party code may raise anything; the server reports it
            continue
    return titles


def _check_embeddings(catalog: Catalog) -> Iterator[Finding]:
    if not catalog.tensor_files():
        return
    files = ConfinedFiles([root.path for root in catalog.roots])
    embeddings = discover_embeddings(files, catalog.roots)
    readable = [embedding for embedding in embeddings if embedding.versions]
    if readable:
        yield ok(f"Projector: {format_count(len(readable), 'embedding')}")
    for item in embeddings:
        if not item.versions:
            yield note(f"Projector cannot show {item.name} of run {item.run}: {item.problem}")


def _check_dumps(catalog: Catalog) -> Iterator[Finding]:
    files = catalog.debug_files()
    if files:
        dumps = {(file.run, file.prefix) for file in files}
        where = format_names(sorted({file.run for file in files}))
        yield ok(f"Debugger: {format_count(len(dumps), 'dump')} of TensorFlow: {where}")


def _check_captures(catalog: Catalog) -> Iterator[Finding]:
    captures = catalog.captures()
    if captures:
        sessions = {(capture.run, capture.session) for capture in captures}
        files = format_count(len(captures), "file")
        yield ok(f"Profile: {format_count(len(sessions), 'capture')} in {files}")


def _explain_without_dashboard(plugin: str, names: Sequence[str]) -> Finding:
    known = f" ({_KNOWN_PLUGINS[plugin]})" if plugin in _KNOWN_PLUGINS else ""
    what = f'of the plugin "{plugin}"{known}' if plugin else "without a plugin name"
    return note(
        f"{format_count(len(names), 'tag')} {what}: {format_names(names)}",
        "no dashboard shows this; read it in Python with log.tensors(run, tag)",
    )


def _check_overwritten(
    tags: Sequence[SharedTag], runs: Sequence[RunInfo], catalog: Catalog
) -> Iterator[Finding]:
    """Report how many values are hidden as overwritten, by cause."""
    files = {run.name: run.files for run in runs}
    values: Counter[str] = Counter()
    series: Counter[str] = Counter()
    overwritten = {tag.tag: tag.runs for tag in tags if tag.overwritten}
    for run, names in _group_by_run(overwritten).items():
        for info in catalog.tags(run):
            if info.overwritten and info.tag in names:
                is_scalar = info.kind is Kind.SCALAR
                steps = (catalog.scalar if is_scalar else catalog.locate)(run, info.tag).step
                goes_back = bool(np.any(steps[1:] < steps[:-1]))
                cause = _explain_overwritten(goes_back, files.get(run, 1))
                values[cause] += info.overwritten
                series[cause] += 1
    for cause, number in values.items():
        yield note(
            f"{format_count(number, 'value')} in {series[cause]:,} series {cause}",
            "overwritten points are kept; the settings of Scalars can show them",
        )


def _explain_overwritten(goes_back: bool, files: int) -> str:
    if not goes_back:
        return "hidden by a later value at the same step"
    if files == 1:
        return "hidden because the step goes back later in the same file"
    return "hidden because the step goes back, as after a restart from a checkpoint"


def _group_by_run(runs_by_tag: Mapping[str, Sequence[str]]) -> Mapping[str, set[str]]:
    grouped: dict[str, set[str]] = defaultdict(set)
    for tag, runs in runs_by_tag.items():
        for run in runs:
            grouped[run].add(tag)
    return grouped
