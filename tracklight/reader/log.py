"""`Log` and `RunView`: read access to a log directory and to one of its runs."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from operator import attrgetter
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tracklight.analysis.pr_curves import PRCurve, parse_pr_curve
from tracklight.errors import FormatError, LogError, RunNotFoundError, TagNotFoundError, UsageError
from tracklight.formats import proto
from tracklight.formats.batch import Content
from tracklight.formats.hparams import HParamValue
from tracklight.formats.values import Audio, Histogram, Images, Tensor, Text, decode_value
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import Root
from tracklight.reader.tables import (
    ChangeTracker,
    LogChanges,
    LoggedRows,
    NameFilter,
    Table,
    Values,
    check_one_of,
    select_names,
    warn_caller,
    warn_no_match,
)
from tracklight.types import MEMORY_KINDS, Delta, FileInfo, Kind, RunInfo, Series, TagInfo
from tracklight.util import html

if TYPE_CHECKING:
    # Imported on first use: programs that read scalars start a third faster without them.
    from tracklight.analysis.debugger.library import DebuggerData
    from tracklight.analysis.meshes import Mesh
    from tracklight.analysis.profiles.profile_data import ProfileData
    from tracklight.reader.graph import Graph
    from tracklight.reader.hparams import HParamsReader, HParamsTable, Reduction

#: The method that reads each kind of value, and each plugin that has no kind of its own.
_METHODS = {
    Kind.SCALAR: "scalar",
    Kind.IMAGE: "images",
    Kind.AUDIO: "audio",
    Kind.TEXT: "text",
    Kind.HISTOGRAM: "histograms",
}
_PR_CURVES, _MESH = "pr_curves", "mesh"
_PLUGIN_METHODS = {_PR_CURVES: "pr_curves", _MESH: "meshes"}
_MAX_HTML_RUNS = 20
_MAX_HTML_TAGS = 20


class Log:
    """A log directory, or several, as of the last `refresh`.

    A log is a collection of runs: ``len(log)``, ``"train" in log``, ``for name in log`` and
    ``log["train"]`` work as for a dictionary. Close it, or use it in a ``with`` block.

    Example:
        >>> with tracklight.open("logs") as log:
        ...     loss = log["resnet/train"].scalar("loss")
        ...     frame = log.scalars(tag="loss").to_pandas()
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._runs: tuple[RunInfo, ...] | None = None
        self._tags: dict[str, dict[str, TagInfo]] = {}

    def refresh(self) -> Delta:
        """Read what was written since the last refresh.

        Returns:
            The names of the runs that were added, removed and changed.

        Example:
            >>> log.refresh().changed
            ('resnet/train',)
        """
        self._runs = None
        self._tags.clear()
        return self._catalog.refresh()

    def watch(
        self, interval_s: float = 1.0, timeout_s: float | None = None
    ) -> Iterator[LogChanges]:
        """Refresh the log periodically and yield what has changed.

        Nothing is yielded while nothing changes. The contents at the time of the call are not
        reported.

        Args:
            interval_s: Seconds between refreshes.
            timeout_s: Stop after this many seconds without a change; by default never.

        Yields:
            The runs and tags that changed, and the new points of every series.

        Raises:
            UsageError: The interval or the timeout is negative.

        Example:
            >>> for changes in log.watch(interval_s=2.0, timeout_s=600):
            ...     for (run, tag), points in changes.points.items():
            ...         print(run, tag, points[-1].value)
        """
        if interval_s < 0 or (timeout_s is not None and timeout_s < 0):
            raise UsageError("the interval and the timeout of watch() must not be negative")
        return self._watch(ChangeTracker(self._catalog), interval_s, timeout_s)

    def _watch(
        self, tracker: ChangeTracker, interval_s: float, timeout_s: float | None
    ) -> Iterator[LogChanges]:
        last_change = time.monotonic()
        while True:
            self.refresh()
            changes = tracker.collect_changes()
            if changes:
                yield changes
                last_change = time.monotonic()
            pause = interval_s
            if timeout_s is not None:
                left = last_change + timeout_s - time.monotonic()
                if left <= 0:
                    return
                pause = min(interval_s, left)
            time.sleep(pause)

    def close(self) -> None:
        """Close the cache files. The log cannot be read afterwards."""
        self._catalog.close()

    def __enter__(self) -> Log:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        paths = ", ".join(root.path for root in self.roots)
        return f"<Log of {paths}: {len(self.runs):,} runs, {self.points:,} points>"

    def _repr_html_(self) -> str:
        runs = self._get_runs()
        rows = [
            (run.name, run.tags, run.points, html.format_time(run.last_wall))
            for run in runs[:_MAX_HTML_RUNS]
        ]
        count = html.format_count
        notes = [f"{count(len(runs), 'run')}, {count(self.points, 'point')}"]
        if len(runs) > _MAX_HTML_RUNS:
            notes.append(f"the first {_MAX_HTML_RUNS} runs are shown")
        notes += self.problems[:3]
        return html.render_block(
            ", ".join(root.path for root in self.roots),
            html.render_note("; ".join(notes)),
            html.render_table(("run", "tags", "points", "last written"), rows),
        )

    def __len__(self) -> int:
        return len(self._get_runs())

    def __bool__(self) -> bool:
        # Without this, an empty log would be false because of `__len__`.
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __contains__(self, run: object) -> bool:
        return any(info.name == run for info in self._get_runs())

    def __getitem__(self, run: str) -> RunView:
        """Return a view of one run, with the reading methods of the log.

        Raises:
            RunNotFoundError: There is no such run; the message names the most similar one.

        Example:
            >>> train = log["resnet/train"]
            >>> train.scalar("loss").value
        """
        if run not in self:
            raise RunNotFoundError(run, self.runs)
        return RunView(self, run)

    @property
    def catalog(self) -> Catalog:
        """The index behind the log, for internal use."""
        return self._catalog

    @property
    def roots(self) -> tuple[Root, ...]:
        """The log directories."""
        return self._catalog.roots

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of all runs, in natural order."""
        return tuple(run.name for run in self._get_runs())

    @property
    def points(self) -> int:
        """The number of scalar points in all runs, including overwritten ones."""
        return sum(run.points for run in self._get_runs())

    @property
    def problems(self) -> tuple[str, ...]:
        """Messages about files and directories that could not be read."""
        return tuple(map(str, self._catalog.problems))

    def tags(self, run: str) -> dict[str, TagInfo]:
        """Return information on every tag of a run, in natural order.

        Raises:
            RunNotFoundError: There is no such run.

        Example:
            >>> log.tags("resnet/train")["loss"].count
            1000
        """
        return dict(self._get_tags(run))

    def files(self, run: str) -> tuple[FileInfo, ...]:
        """Return the event files of a run, in the order they were started.

        Raises:
            RunNotFoundError: There is no such run.

        Example:
            >>> sum(file.damaged for file in log.files("resnet/train"))
            0
        """
        return self._catalog.files(run)

    def scalar(self, run: str, tag: str) -> Series:
        """Return all points of one scalar tag, as read-only arrays.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError: There is no such run; the message names the most similar one.
            TagNotFoundError: The run has no such tag; the message names the most similar one.
            UsageError: The tag holds another kind of data; the message names the right method.

        Example:
            >>> loss = log.scalar("resnet/train", "loss")
            >>> loss.step, loss.value
        """
        self._check_kind(run, tag, Kind.SCALAR)
        return _freeze(self._catalog.scalar(run, tag))

    def scalars(
        self, run: NameFilter = None, tag: NameFilter = None, *, overwritten: bool = False
    ) -> Table:
        """Return the points of many series as one table.

        Runs and tags are selected by name, by glob (``"lr*/train"``), by regular expression
        (``"re:loss$"`` or a compiled one), or by a list of these. A pattern that matches nothing is
        reported as a `tracklight.errors.NoMatchWarning`.

        Args:
            run: The runs to include; None includes all.
            tag: The tags to include; None includes all.
            overwritten: Whether to include overwritten points, marked in a column.

        Returns:
            A long table, one row per point. ``table.to_wide()`` pivots it.

        Raises:
            RunNotFoundError: A plain name matches no run.
            TagNotFoundError: A plain name matches no tag of the selected runs.

        Example:
            >>> log.scalars(run="resnet/*", tag=["loss", "re:^acc"]).to_pandas()
        """
        selection = self._select(run, tag, should_warn=True)
        keys = [(name, info) for name, tags in selection.items() for info in tags]
        scalars = [(name, info.tag) for name, info in keys if info.kind is Kind.SCALAR]
        if keys and not scalars and tag is not None:
            kinds = ", ".join(sorted({str(info.kind) for _, info in keys}))
            warn_caller(f"The selected tags hold no scalars, but values of kind {kinds}.")
        series = [self._catalog.scalar(*key) for key in scalars]
        if not overwritten:
            series = [item.without_overwritten() for item in series]
        return Table(series, overwritten=overwritten)

    def select(self, run: NameFilter = None, tag: NameFilter = None) -> dict[str, list[TagInfo]]:
        """Return the selected tags of every selected run.

        Args:
            run: The runs, as for `scalars`; None selects all.
            tag: The tags, as for `scalars`; None selects all.

        Returns:
            The tags of any kind by the name of the run.

        Raises:
            RunNotFoundError: A plain name matches no run.
            TagNotFoundError: A plain name matches no tag of the selected runs.

        Example:
            >>> {run: [info.tag for info in tags] for run, tags in log.select(tag="*loss").items()}
        """
        return self._select(run, tag)

    def _select(
        self, run: NameFilter, tag: NameFilter, should_warn: bool = False
    ) -> dict[str, list[TagInfo]]:
        def report(noun: str, known: Iterable[str], pattern: str) -> None:
            if should_warn:
                warn_no_match(noun, pattern, [*known])

        runs = select_names(
            run,
            self.runs,
            lambda name: RunNotFoundError(name, self.runs),
            partial(report, "run", self),
        )
        known = dict.fromkeys(name for run in runs for name in self._get_tags(run))
        single_run = runs[0] if len(runs) == 1 else None
        wanted = frozenset(
            select_names(
                tag,
                known,
                lambda name: TagNotFoundError(single_run, name, known),
                # Without a run there are no tags either; one warning is enough.
                partial(report, "tag", known) if runs else lambda pattern: None,
            )
        )
        return {
            run: [info for info in self._get_tags(run).values() if info.tag in wanted]
            for run in runs
        }

    def images(self, run: str, tag: str) -> Values[Images]:
        """Return images as encoded files, one or more at each step.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> log.images("resnet/train", "input")[-1].to_arrays()[0].shape
            (28, 28, 1)
        """
        return self._read_values(run, tag, Kind.IMAGE)

    def audio(self, run: str, tag: str) -> Values[Audio]:
        """Return audio clips as encoded files, one or more at each step.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> log.audio("tts", "sample")[-1].sample_rate
            22050.0
        """
        return self._read_values(run, tag, Kind.AUDIO)

    def text(self, run: str, tag: str) -> Values[NDArray[np.object_]]:
        """Return text, an array of strings at each step; rank 0 for a single string.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> log.text("translate", "sample")[-1].item()
            'Guten Tag'
        """
        return self._read_values(run, tag, Kind.TEXT)

    def histograms(self, run: str, tag: str) -> Values[Histogram]:
        """Return histograms, each as bucket edges and counts.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> log.histograms("resnet/train", "weights")[-1].counts.sum()
            2048.0
        """
        return self._read_values(run, tag, Kind.HISTOGRAM)

    def pr_curves(self, run: str, tag: str) -> Values[PRCurve]:
        """Return precision-recall curves, one at each step.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> curve = log.pr_curves("classifier", "cats")[-1]
            >>> curve.metrics.average_precision, curve.precision[0]
            (0.91, 0.5)
        """
        self._check_plugin(run, tag, _PR_CURVES)
        rows, read = self._get_rows(run, tag, Kind.TENSOR)
        return Values(rows, lambda row: parse_pr_curve(Tensor(read(row))))

    def debugger(self, path: str | None = None) -> DebuggerData:
        """Return a dump of TensorFlow's debugger, or a recording of `tracklight.debugger`.

        Args:
            path: Name of the dump or recording, which is the name of its run; may be omitted if
                there is only one.

        Raises:
            LogError: There is no such dump or recording.
            UsageError: ``path`` was omitted, and there are several.

        Example:
            >>> log.debugger("run1").root_cause.message
            'Step 7: "log" produced 3 -Inf of 64 values from finite inputs ...'
        """
        from tracklight.analysis.debugger.library import DebuggerData, DebuggerLibrary

        library = DebuggerLibrary(self._catalog)
        names = library.list_names()
        if path is None:
            if len(names) > 1:
                raise UsageError(f"choose one of the dumps: {', '.join(names[:10])}")
            path = names[0] if names else "."
        return DebuggerData(path, library.get(path))

    def meshes(self, run: str, tag: str) -> Values[Mesh]:
        """Return meshes, one batch of them at each step.

        Args:
            run: The run.
            tag: The name of the mesh, or the tag of one of its parts
                (``<name>_VERTEX``, ``<name>_FACE``, ``<name>_COLOR``).

        Raises:
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.

        Example:
            >>> log.meshes("shapes", "cube")[-1].vertices.shape
            (1, 8, 3)
        """
        from tracklight.analysis.meshes import (
            MeshRows,
            join_mesh_parts,
            list_mesh_names,
            locate_mesh_parts,
            read_mesh,
            split_mesh_tag,
        )

        tags = self._get_tags(run)
        names = list_mesh_names([info.tag for info in tags.values() if info.plugin == _MESH])
        name = tag if tag in names else split_mesh_tag(tag)[0]
        if name not in names:
            self._check_plugin(run, tag, _MESH, known=names)
        steps = join_mesh_parts(locate_mesh_parts(self._catalog, run, name))
        return Values(MeshRows(run, name, steps), partial(read_mesh, self._catalog, steps))

    def graph(self, run: str, tag: str | None = None) -> Graph:
        """Return a logged graph as nodes and edges; the last one if there are several.

        Args:
            run: The run.
            tag: The tag of the graph; by default the graph of the run itself, or else the first
                graph of the run.

        Raises:
            LogError: The run has no graph.
            RunNotFoundError, TagNotFoundError, UsageError: As for `scalar`.
            FormatError: The graph is damaged.

        Example:
            >>> graph = log.graph("resnet/train")
            >>> [node.name for node in graph.nodes if node.op == "Conv2D"]
        """
        from tracklight.analysis.graphs.parsers import GRAPH_PARSERS, parse_logged_graph
        from tracklight.reader.graph import Graph

        tags = self._get_tags(run)
        if tag is None:
            graphs = [info for info in tags.values() if info.plugin in GRAPH_PARSERS]
            if not graphs:
                raise LogError(f'Run "{run}" has no graph.')
            order = [*GRAPH_PARSERS]
            info = min(graphs, key=lambda info: order.index(info.plugin))
        else:
            self._check_plugin(run, tag, *GRAPH_PARSERS)
            info = tags[tag]
        data = self.tensors(run, info.tag).without_overwritten()[-1].item()
        return Graph(run, info.tag, parse_logged_graph(info.plugin, data))

    def profile(self, run: str, session: str | None = None, host: str | None = None) -> ProfileData:
        """Return a profiler capture as tables: steps, devices, ops, kernels, memory, events.

        Args:
            run: The run.
            session: The session of the capture, as `tracklight inspect --profile` lists it; by
                default the last one of the run. Memory snapshots are taken only by name, or if the
                run has nothing else.
            host: The host or worker; by default the first one.

        Raises:
            RunNotFoundError: There is no such run.
            LogError: The run has no such capture.
            FormatError: The capture cannot be read.

        Example:
            >>> profile = log.profile("train")
            >>> profile.steps.to_pandas()["total_ms"].median()
            4.31
        """
        from tracklight.analysis.profiles.captures import get_capture_time_s
        from tracklight.analysis.profiles.profile_data import load_profile

        self._get_tags(run)
        captures = self._catalog.captures()
        files = [capture for capture in captures if capture.run == run and capture.kind != "pprof"]
        if not files:
            raise LogError(f'Run "{run}" has no profiler capture.')
        traces = [file for file in files if file.kind not in MEMORY_KINDS]
        chosen = session or max(traces or files, key=get_capture_time_s).session
        hosts = [file for file in files if file.session == chosen and host in (None, file.host)]
        if not hosts:
            known = ", ".join(sorted({f"{file.session} ({file.host})" for file in files}))
            wanted = " ".join(filter(None, (session, host)))
            raise LogError(f'Run "{run}" has no capture "{wanted}". It has {known}.')
        with self._catalog.fetch_capture(hosts[0]) as path:
            return load_profile(run, chosen, hosts[0].host, path, hosts[0].kind)

    def hparams(self, metrics: NameFilter = None, *, reduce: Reduction = "last") -> HParamsTable:
        """Return the hyperparameters of all trials, with their metrics, status and times.

        Hyperparameters are read from the records of the HParams APIs of TensorBoard, PyTorch,
        Keras and tracklight, or else from ``hparams.yaml``, ``config.json`` and similar files
        beside the runs.

        Args:
            metrics: The metrics to include, selected like the tags in `scalars`; None includes all
                scalars of the trials. If a run below the trial logged the metric, its name is
                prefixed with that run: ``"validation/epoch_loss"``.
            reduce: Which value of a metric to use: ``"last"``, ``"min"`` or ``"max"``.

        Returns:
            A table with one row per trial.

        Raises:
            UsageError: A plain name matches no metric.

        Example:
            >>> table = log.hparams(metrics="accuracy", reduce="max")
            >>> table.to_pandas().sort_values("metrics.accuracy").tail()
        """
        check_one_of("reduce", reduce, ("last", "min", "max"))
        return self._hparams_reader.read(metrics, reduce)

    def run_hparams(self, run: str) -> dict[str, HParamValue]:
        """Return the hyperparameters of a run: its own, or those of the trial it belongs to.

        Raises:
            RunNotFoundError: There is no such run.

        Example:
            >>> log.run_hparams("sweep/3/train")
            {'lr': 0.1, 'optimizer': 'adam'}
        """
        self._get_tags(run)
        return self._hparams_reader.read_run(run)

    def tensors(self, run: str, tag: str) -> Values[NDArray[Any]]:
        """Return the values of any tag as arrays, whichever plugin it belongs to.

        A number is an array of rank 0, a graph an array with one bytes object. Data that plugins
        store in the metadata of a tag is not included: for hyperparameters, use `hparams`.

        Args:
            run: The name of the run.
            tag: The name of the tag.

        Raises:
            RunNotFoundError, TagNotFoundError: As for `scalar`.

        Example:
            >>> log.tensors("resnet/train", "attention")[-1].shape
            (12, 64, 64)
        """
        return self._read_values(run, tag, Kind.TENSOR)

    @cached_property
    def _hparams_reader(self) -> HParamsReader:
        from tracklight.reader.hparams import HParamsReader

        return HParamsReader(self._catalog)

    def _get_runs(self) -> tuple[RunInfo, ...]:
        if self._runs is None:
            self._runs = self._catalog.runs()
        return self._runs

    def _get_tags(self, run: str) -> dict[str, TagInfo]:
        if run not in self._tags:
            infos = self._catalog.tags(run)
            self._tags[run] = dict(zip(map(attrgetter("tag"), infos), infos, strict=True))
        return self._tags[run]

    def _check_kind(self, run: str, tag: str, kind: Kind) -> None:
        tags = self._get_tags(run)
        if tag not in tags:
            raise TagNotFoundError(run, tag, tags)
        found = tags[tag].kind
        if kind not in (found, Kind.TENSOR):
            raise UsageError(
                f'"{tag}" in run "{run}" is of kind {found}, not {kind}; '
                f"{_suggest_method(tags[tag])}"
            )

    def _check_plugin(
        self, run: str, tag: str, *plugins: str, known: Iterable[str] | None = None
    ) -> None:
        tags = self._get_tags(run)
        if tag not in tags:
            raise TagNotFoundError(run, tag, tags if known is None else known)
        if tags[tag].plugin not in plugins:
            plugin = tags[tag].plugin or "no plugin"
            raise UsageError(
                f'"{tag}" in run "{run}" belongs to {plugin}, not {plugins[0]}; '
                f"{_suggest_method(tags[tag])}"
            )

    def _read_values(self, run: str, tag: str, kind: Kind) -> Values[Any]:
        self._check_kind(run, tag, kind)
        return Values(*self._get_rows(run, tag, kind))

    def _get_rows(self, run: str, tag: str, kind: Kind) -> tuple[LoggedRows, Any]:
        rows = LoggedRows(self._catalog.scalar(run, tag), self._catalog.locate(run, tag))
        return rows, partial(self._read_row, rows, kind)

    def _read_row(self, rows: LoggedRows, kind: Kind, row: int) -> Any:
        index = rows.find_located_index(row)
        if index is None:
            if kind is not Kind.TENSOR:
                raise FormatError(f"expected a value of kind {kind}, but found a number")
            return np.asarray(rows.points.value[row])
        data = self._catalog.read(rows.located, index)
        content = rows.located.content[index]
        if content == Content.RUN_METADATA:
            return np.array([proto.parse("TaggedRunMetadata", data).run_metadata], object)
        if content >= Content.GRAPH:
            return np.array([data], object)
        value = decode_value(data, kind)
        if isinstance(value, Images):
            return value.with_size()
        return value.array if isinstance(value, Text | Tensor) else value


class RunView:
    """One run of a log: ``log["train"].scalar("loss")`` is ``log.scalar("train", "loss")``.

    A run is a collection of tags: ``len(run)``, ``"loss" in run`` and ``for tag in run`` work. The
    view holds no data and reflects every refresh of the log.

    Example:
        >>> train = log["resnet/train"]
        >>> "loss" in train, train.scalar("loss")[-1].value
        (True, 0.031)
    """

    def __init__(self, log: Log, name: str) -> None:
        self._log = log
        self.name = name

    def __len__(self) -> int:
        return len(self.tags())

    def __bool__(self) -> bool:
        # Without this, a run without tags would be false because of `__len__`.
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(self.tags())

    def __contains__(self, tag: object) -> bool:
        return tag in self.tags()

    def __repr__(self) -> str:
        return f'<RunView "{self.name}": {html.format_count(len(self), "tag")}>'

    def _repr_html_(self) -> str:
        tags = list(self.tags().values())
        rows = [
            (
                info.tag,
                str(info.kind),
                info.count,
                None if info.last is None else info.last.step,
            )
            for info in tags[:_MAX_HTML_TAGS]
        ]
        more = len(tags) - len(rows)
        return html.render_block(
            self.name,
            html.render_table(("tag", "kind", "values", "last step"), rows),
            html.render_note(html.format_count(more, "more tag")) if more else "",
        )

    def tags(self) -> dict[str, TagInfo]:
        """See `Log.tags`."""
        return self._log.tags(self.name)

    def files(self) -> tuple[FileInfo, ...]:
        """See `Log.files`."""
        return self._log.files(self.name)

    def hparams(self) -> dict[str, HParamValue]:
        """See `Log.run_hparams`."""
        return self._log.run_hparams(self.name)

    def scalar(self, tag: str) -> Series:
        """See `Log.scalar`."""
        return self._log.scalar(self.name, tag)

    def scalars(self, tag: NameFilter = None, *, overwritten: bool = False) -> Table:
        """See `Log.scalars`."""
        return self._log.scalars(self.name, tag, overwritten=overwritten)

    def images(self, tag: str) -> Values[Images]:
        """See `Log.images`."""
        return self._log.images(self.name, tag)

    def audio(self, tag: str) -> Values[Audio]:
        """See `Log.audio`."""
        return self._log.audio(self.name, tag)

    def text(self, tag: str) -> Values[NDArray[np.object_]]:
        """See `Log.text`."""
        return self._log.text(self.name, tag)

    def histograms(self, tag: str) -> Values[Histogram]:
        """See `Log.histograms`."""
        return self._log.histograms(self.name, tag)

    def pr_curves(self, tag: str) -> Values[PRCurve]:
        """See `Log.pr_curves`."""
        return self._log.pr_curves(self.name, tag)

    def meshes(self, tag: str) -> Values[Mesh]:
        """See `Log.meshes`."""
        return self._log.meshes(self.name, tag)

    def graph(self, tag: str | None = None) -> Graph:
        """See `Log.graph`."""
        return self._log.graph(self.name, tag)

    def profile(self, session: str | None = None, host: str | None = None) -> ProfileData:
        """See `Log.profile`."""
        return self._log.profile(self.name, session, host)

    def tensors(self, tag: str) -> Values[NDArray[Any]]:
        """See `Log.tensors`."""
        return self._log.tensors(self.name, tag)


def _suggest_method(info: TagInfo) -> str:
    if info.plugin == "hparams":
        return "read it with log.hparams()"
    from tracklight.analysis.graphs.parsers import GRAPH_PARSERS

    method = "graph" if info.plugin in GRAPH_PARSERS else _PLUGIN_METHODS.get(info.plugin)
    method = method or _METHODS.get(info.kind, "tensors")
    return f"read it with log.{method}(run, tag)"


def _freeze(series: Series) -> Series:
    """Return the series with read-only arrays, because they may belong to the index."""
    columns = [
        getattr(series, name).view() for name in ("step", "wall_time", "value", "overwritten")
    ]
    for column in columns:
        column.flags.writeable = False
    return Series(series.run, series.tag, *columns)
