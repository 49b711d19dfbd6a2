"""Report what a log directory contains, and why some of it is not shown."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from itertools import islice

import numpy as np

from tracklight.cli.findings import Finding, Section, count, fine, name_some, note, wrong
from tracklight.cli.missing import suggest_path
from tracklight.cli.unshown_files import iter_unshown
from tracklight.dashboards import BUILT_IN
from tracklight.embeddings.find import find_embeddings
from tracklight.index.catalog import Catalog
from tracklight.logdir.discover import discover
from tracklight.logdir.mounts import is_shared
from tracklight.logdir.opening import open_filesystem
from tracklight.logdir.roots import Root, is_url
from tracklight.server.plugins import GROUP
from tracklight.tensorfiles.place import Place
from tracklight.types import Kind, RunInfo, SharedTag

#: Folders of other programs, and how to get their data in here.
_OTHER_PROGRAMS = {
    "wandb": "Weights & Biases uses its own format; let it sync TensorBoard files, or log here too",
    "mlruns": "MLflow uses its own format; log with a tracklight writer as well",
    "lightning_logs": "Lightning logs below this folder; give it as the log directory",
}
_MAX_ENTRIES = 1000

#: Shown by a dashboard that does not list the plugin as its own: times and memory of graph nodes.
_SHOWN_ELSEWHERE = {"graph_tagged_run_metadata": "Graphs"}

#: Plugins of TensorBoard and of writers that tracklight has no dashboard for.
_KNOWN_PLUGINS = {
    "beholder": "Beholder",
    "fairness_indicators": "Fairness Indicators",
    "npmi": "nPMI",
    "tensor": "SummaryWriter.add_tensor",
}


def check_log(catalog: Catalog) -> Iterator[Section]:
    """Yield findings on each root, and then on the contents of all of them."""
    for root in catalog.roots:
        yield Section(root.path, [*_check_root(root, catalog)])
    runs = catalog.runs()
    findings = [*_check_runs(runs, catalog), *_check_dashboards(runs, catalog)]
    if findings:
        yield Section("Contents", findings)


def _check_root(root: Root, catalog: Catalog) -> Iterator[Finding]:
    if is_url(root.path):
        yield fine("remote: checked for changes every few seconds")
    elif not os.path.exists(root.path):
        advice = f"it is shown as soon as it exists.{suggest_path(root.path)}"
        yield wrong("there is no such directory", advice)
        return
    elif is_shared(root.path):
        yield note("on a network file system: checked for changes every second")
    files, path = open_filesystem(root.path)
    found = discover(root, files)
    known = {run.name for run in catalog.runs()}
    left_out = [run for run in found.runs if run not in known]
    unshown = [*iter_unshown(files, path)]
    if found.runs:
        yield fine(f"{count(len(found.runs), 'run')} found")
    elif not unshown and not found.tensors:
        yield from _explain_no_runs(root)
    else:
        yield note("no runs: there is no event file and no profile")
    if left_out:
        few = name_some(left_out)
        yield note(f"{count(len(left_out), 'run')} left out by --include or --exclude: {few}")
    for what, places in unshown:
        yield note(f"{what}: {name_some(places)}", "no dashboard shows this yet")
    for problem in found.problems:
        yield wrong(problem, "check the permissions")


def _explain_no_runs(root: Root) -> Iterator[Finding]:
    yield wrong(
        "there is no event file in this directory or below it",
        'event files have "tfevents" in their names; is this where the program logs to?',
    )
    if is_url(root.path) or not os.path.isdir(root.path):
        return
    with os.scandir(root.path) as entries:
        names = sorted(entry.name for entry in islice(entries, _MAX_ENTRIES))
    yield note(f"it contains: {name_some(names, 5)}" if names else "the directory is empty")
    for name in names:
        if name in _OTHER_PROGRAMS:
            yield note(f"{name}: {_OTHER_PROGRAMS[name]}")


def _check_runs(runs: Sequence[RunInfo], catalog: Catalog) -> Iterator[Finding]:
    if runs:
        files, points = sum(run.files for run in runs), sum(run.points for run in runs)
        size_mb = sum(run.bytes for run in runs) / 1e6
        yield fine(
            f"{count(len(runs), 'run')} in {count(files, 'event file')} of {size_mb:,.1f} MB, "
            f"with {count(points, 'value')}"
        )
    others = {it.run for it in catalog.captures()} | {it.run for it in catalog.tensor_files()}
    empty = [run.name for run in runs if not run.tags and run.name not in others]
    if empty:
        yield note(
            f"{count(len(empty), 'run')} without data: {name_some(empty)}",
            "the program has logged nothing yet, or has not flushed its writer",
        )
    damaged = [run.name for run in runs if run.damaged]
    if damaged:
        places = sum(run.damaged for run in runs)
        yield wrong(
            f"{count(places, 'damaged place')} in {count(len(damaged), 'run')}: "
            f"{name_some(damaged)}",
            "everything readable is shown; `tracklight inspect` lists the damage",
        )
    for problem in catalog.problems:
        yield wrong(problem)


def _check_dashboards(runs: Sequence[RunInfo], catalog: Catalog) -> Iterator[Finding]:
    """Say what each dashboard shows, in the order of the tabs, and which tags have none."""
    tags = catalog.shared_tags([run.name for run in runs])
    titles = _find_titles()
    shown = Counter(titles[tag.plugin] for tag in tags if tag.plugin in titles)
    projector = [*_check_embeddings(catalog)]
    profile = [*_check_captures(catalog)]
    for title in dict.fromkeys(titles.values()):
        if shown[title]:
            yield fine(f"{title}: {count(shown[title], 'tag')}")
        if title == "Projector":
            yield from projector
        if title == "Profile":
            yield from profile
    without_dashboard: dict[str, list[str]] = defaultdict(list)
    for tag in tags:
        if tag.plugin not in titles:
            without_dashboard[tag.plugin].append(tag.tag)
    for plugin, names in without_dashboard.items():
        yield _explain_without_dashboard(plugin, names)
    yield from _check_overwritten(tags, runs, catalog)


def _find_titles() -> dict[str, str]:
    """Map plugin names to the titles of the dashboards that show them."""
    titles = {plugin: it.title for it in BUILT_IN for plugin in it.plugins}
    titles.update(_SHOWN_ELSEWHERE)
    for entry in entry_points(group=GROUP):
        try:
            dashboard = entry.load()
            titles.update({plugin: dashboard.title for plugin in dashboard.plugins})
        except Exception:  # the code of others may fail in any way; the server reports it
            continue
    return titles


def _check_embeddings(catalog: Catalog) -> Iterator[Finding]:
    if not catalog.tensor_files():
        return
    place = Place([root.path for root in catalog.roots])
    found = find_embeddings(place, catalog.roots)
    readable = [it for it in found if it.versions]
    if readable:
        yield fine(f"Projector: {count(len(readable), 'embedding')}")
    for it in found:
        if not it.versions:
            yield note(f"Projector cannot show {it.name} of run {it.run}: {it.problem}")


def _check_captures(catalog: Catalog) -> Iterator[Finding]:
    captures = catalog.captures()
    if captures:
        sessions = {(it.run, it.session) for it in captures}
        yield fine(f"Profile: {count(len(sessions), 'capture')} in {count(len(captures), 'file')}")


def _explain_without_dashboard(plugin: str, names: Sequence[str]) -> Finding:
    known = f" ({_KNOWN_PLUGINS[plugin]})" if plugin in _KNOWN_PLUGINS else ""
    what = f'of the plugin "{plugin}"{known}' if plugin else "without a plugin name"
    return note(
        f"{count(len(names), 'tag')} {what}: {name_some(names)}",
        "no dashboard shows this; it can be read from Python with log.tensors(run, tag)",
    )


def _check_overwritten(
    tags: Sequence[SharedTag], runs: Sequence[RunInfo], catalog: Catalog
) -> Iterator[Finding]:
    """Say how many values are hidden, by what hides them."""
    files = {run.name: run.files for run in runs}
    values: Counter[str] = Counter()
    series: Counter[str] = Counter()
    overwritten = {tag.tag: tag.runs for tag in tags if tag.overwritten}
    for run, names in _group_by_run(overwritten).items():
        for info in catalog.tags(run):
            if info.overwritten and info.tag in names:
                is_scalar = info.kind is Kind.SCALAR
                steps = (catalog.scalar if is_scalar else catalog.located)(run, info.tag).step
                cause = _find_cause(bool(np.any(steps[1:] < steps[:-1])), files.get(run, 1))
                values[cause] += info.overwritten
                series[cause] += 1
    for cause, number in values.items():
        yield note(
            f"{count(number, 'value')} in {count(series[cause], 'series', 'series')} {cause}",
            "they are kept; the settings of Scalars can show overwritten points",
        )


def _find_cause(goes_back: bool, files: int) -> str:
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
