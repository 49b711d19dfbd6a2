"""What was found in a log directory, and why something is not shown."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from tracklight.cli.findings import Finding, Section, count, fine, name_some, note, wrong
from tracklight.dashboards import BUILT_IN
from tracklight.index.catalog import Catalog
from tracklight.logdir.discover import discover
from tracklight.logdir.mounts import is_shared
from tracklight.logdir.opening import open_filesystem
from tracklight.logdir.roots import Root, is_url
from tracklight.types import RunInfo, SharedTag

#: What other programs leave in a folder, and what can be done with it.
_OTHERS = {
    "wandb": "Weights & Biases keeps its own files; let it sync TensorBoard's, or log here as well",
    "mlruns": "MLflow keeps its own files; log with a tracklight writer as well",
    "lightning_logs": "Lightning logs below this folder; give it as the log directory",
}
_MOST_ENTRIES = 1000


def check_log(catalog: Catalog) -> Iterator[Section]:
    """Findings on each root, and then on what is in all of them."""
    for root in catalog.roots:
        yield Section(root.path, [*_check_root(root, catalog)])
    runs = catalog.runs()
    if runs:
        tags = catalog.shared_tags([run.name for run in runs])
        yield Section("What is in it", [*_check_runs(runs, catalog), *_check_tags(tags)])


def _check_root(root: Root, catalog: Catalog) -> Iterator[Finding]:
    if is_url(root.path):
        yield fine("it is not on this machine: it is looked at every few seconds")
    elif not os.path.exists(root.path):
        yield wrong("there is no such directory", "it is shown as soon as there is one")
        return
    elif is_shared(root.path):
        yield note("it is on a network: changes are looked for every second, not reported")
    found = discover(root, open_filesystem(root.path)[0])
    known = {run.name for run in catalog.runs()}
    left_out = [run for run in found.runs if run not in known]
    if found.runs:
        yield fine(f"{count(len(found.runs), 'run')} found in it")
    else:
        yield from _explain_nothing(root)
    if left_out:
        few = name_some(left_out)
        yield note(f"{count(len(left_out), 'run')} left out by --include or --exclude: {few}")
    for problem in found.problems:
        yield wrong(problem, "check who may read it")


def _explain_nothing(root: Root) -> Iterator[Finding]:
    yield wrong(
        "there is no event file in it, nor below it",
        'event files have "tfevents" in their names; is this where the program logs to?',
    )
    if is_url(root.path) or not os.path.isdir(root.path):
        return
    with os.scandir(root.path) as entries:
        names = sorted(entry.name for entry in islice(entries, _MOST_ENTRIES))
    yield note(f"what is there: {name_some(names, 5)}" if names else "the directory is empty")
    for name in names:
        if name in _OTHERS:
            yield note(f"{name}: {_OTHERS[name]}")


def _check_runs(runs: Sequence[RunInfo], catalog: Catalog) -> Iterator[Finding]:
    files, points = sum(run.files for run in runs), sum(run.points for run in runs)
    size_mb = sum(run.bytes for run in runs) / 1e6
    yield fine(
        f"{count(len(runs), 'run')} in {count(files, 'event file')} of {size_mb:,.1f} MB, "
        f"with {count(points, 'value')}"
    )
    empty = [run.name for run in runs if not run.tags]
    if empty:
        yield note(
            f"{count(len(empty), 'run')} without any value: {name_some(empty)}",
            "the program has logged nothing yet, or has not flushed its writer",
        )
    damaged = [run.name for run in runs if run.damaged]
    if damaged:
        places = sum(run.damaged for run in runs)
        yield wrong(
            f"{count(places, 'damaged place')} in {count(len(damaged), 'run')}: "
            f"{name_some(damaged)}",
            "all that can be read is shown; `tracklight inspect` tells where they are",
        )
    for problem in catalog.problems:
        yield wrong(problem)


def _check_tags(tags: Sequence[SharedTag]) -> Iterator[Finding]:
    homes = {plugin: it.title for it in BUILT_IN for plugin in it.plugins}
    shown = Counter(homes[tag.plugin] for tag in tags if tag.plugin in homes)
    for title, number in shown.items():
        yield fine(f"{title}: {count(number, 'tag')}")
    homeless: dict[str, list[str]] = {}
    for tag in tags:
        if tag.plugin not in homes:
            homeless.setdefault(tag.plugin, []).append(tag.tag)
    for plugin, names in homeless.items():
        yield _explain_homeless(plugin, names)
    hidden = [tag for tag in tags if tag.overwritten]
    if hidden:
        points = sum(tag.overwritten for tag in hidden)
        yield note(
            f"{count(points, 'value')} of {count(len(hidden), 'tag')} were overwritten "
            "when a run was started again",
            'they are kept; "Overwritten" in the settings of a chart shows them',
        )


def _explain_homeless(plugin: str, names: Sequence[str]) -> Finding:
    what = f'of the plugin "{plugin}"' if plugin else "that name no plugin"
    return note(
        f"{count(len(names), 'tag')} {what} not shown: {name_some(names)}",
        "no dashboard here reads them; from Python they can be read",
    )
