"""A live chart widget for notebooks."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

from tracklight.dashboards.scalars.charts import ChartBuilder, LiveCharts
from tracklight.dashboards.scalars.schemas import ChartRequest, ChartsRequest
from tracklight.errors import (
    MissingDependencyError,
    RunNotFoundError,
    TagNotFoundError,
    TracklightError,
    UsageError,
)
from tracklight.index.series_query import Smoothing
from tracklight.plugin import Context
from tracklight.reader import Log
from tracklight.reader import open as open_log
from tracklight.server import responses
from tracklight.server.routing import PAGE_DIR
from tracklight.server.source import LogOverview

#: Longer series are downsampled to this width; cells are rarely wider.
_WIDTH_PX = 1000


def chart(
    log: Log | str | os.PathLike[str],
    tag: str,
    *,
    runs: Sequence[str] | None = None,
    x: str = "step",
    smoothing: float = 0.0,
    height: int = 300,
    interval_s: float = 2.0,
) -> Any:
    """Return a live chart of a scalar tag, as a widget that notebooks display.

    A tag or run that is not in the log yet is reported above the chart, and drawn as soon as it is
    logged.

    Args:
        log: A log directory, or the result of `tracklight.open`.
        tag: The scalar tag.
        runs: The runs to draw; by default all runs that have the tag.
        x: ``"step"``, ``"relative"``, ``"wall"`` or ``"metric:TAG"``.
        smoothing: Weight of the moving average, from 0 to 1.
        height: Height in pixels.
        interval_s: Seconds between updates. They end when the widget is closed.

    Returns:
        An anywidget.

    Raises:
        UsageError: An argument is invalid.
        MissingDependencyError: The ``notebook`` extra is not installed.
        TracklightError: The page is not built.

    Example:
        >>> tracklight.notebook.chart("logs", tag="loss", smoothing=0.6)
    """
    updater = ChartUpdater(log if isinstance(log, Log) else open_log(log), tag)
    updater.request.x = x
    updater.request.runs = None if runs is None else list(runs)
    updater.request.smoothing = _parse_smoothing(smoothing)
    answer = updater.render()
    widget = _create_widget(
        title=tag, axis=x, height=height, answer=answer, problem=updater.describe_problem()
    )
    updater.start(widget, interval_s)
    return widget


def _parse_smoothing(weight: float) -> Smoothing | None:
    try:
        return Smoothing("ema", weight) if weight else None
    except ValueError as error:
        raise UsageError(str(error)) from error


class ChartUpdater:
    """Renders a chart, and updates its widget in a background thread when the log changes."""

    def __init__(self, log: Log, tag: str) -> None:
        self._catalog = log.catalog
        self._overview = LogOverview(self._catalog)
        self._context = Context(
            self._catalog,
            self._overview.scalar_tags,
            self._overview.runs_with_scalar,
            str,
            responses.describe_error,
        )
        self._tag = tag
        self.request = ChartsRequest(charts=[ChartRequest("", [tag])], width=_WIDTH_PX)
        self._stopped = threading.Event()

    def render(self) -> bytes:
        """Return the current chart, encoded for the page."""
        charts = ChartBuilder(self._context, self.request, LiveCharts(self._context))
        (chart,) = charts.build()
        if chart.error is not None:
            raise UsageError(chart.error.message)
        return responses.encode_columns(chart)

    def describe_problem(self) -> str:
        """Return which tag or run is missing in the log; empty if all can be drawn."""
        runs_with_tag = frozenset(self._overview.runs_with_scalar(self._tag))
        if not runs_with_tag:
            return self._describe_missing_tag()
        missing = [run for run in self.request.runs or () if run not in runs_with_tag]
        if not missing:
            return ""
        known = self._overview.runs()
        if missing[0] not in known:
            return _make_sentence(RunNotFoundError(missing[0], known))
        return _make_sentence(TagNotFoundError(missing[0], self._tag))

    def _describe_missing_tag(self) -> str:
        known = self._overview.scalar_tags()
        if not known:
            return "The log has no scalars yet."
        reason = _make_sentence(TagNotFoundError(None, self._tag, known))
        return f"{reason} The chart is drawn as soon as the tag is logged."

    def start(self, widget: Any, interval_s: float) -> None:
        """Update the widget until it is closed."""
        widget.on_close = self._stopped.set
        threading.Thread(
            target=self._update, args=(widget, interval_s), name="tracklight-chart", daemon=True
        ).start()

    def _update(self, widget: Any, interval_s: float) -> None:
        while not self._stopped.wait(interval_s):
            try:
                delta = self._catalog.refresh()
                if delta.added or delta.removed or delta.changed:
                    widget.answer = self.render()
                widget.problem = self.describe_problem()
            except TracklightError as error:
                widget.problem = f"{error}."


def _make_sentence(error: TracklightError) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith((".", "?")) else ".")


def _create_widget(**state: Any) -> Any:
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise MissingDependencyError("a notebook chart", "notebook") from error
    assets = PAGE_DIR / "notebook"
    if not (assets / "chart.js").is_file():
        raise TracklightError("the web page of tracklight is not built; run `tracklight doctor`")

    class Chart(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = assets / "chart.js"
        _css = assets / "chart.css"
        title = traitlets.Unicode().tag(sync=True)
        axis = traitlets.Unicode().tag(sync=True)
        height = traitlets.Int().tag(sync=True)
        answer = traitlets.Bytes().tag(sync=True)
        problem = traitlets.Unicode().tag(sync=True)

        on_close = staticmethod(lambda: None)

        def close(self) -> None:
            self.on_close()
            super().close()

    return Chart(**state)
