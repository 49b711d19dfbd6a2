"""The tables that `evaluate` returns: metrics per slice, and differences to a baseline."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tracklight.analysis.evaluation.report import (
    PLUGIN_NAME,
    StoredEvaluation,
    encode_evaluation,
    format_report,
)
from tracklight.analysis.evaluation.resampling import Correction
from tracklight.analysis.evaluation.results import Difference, EvaluationResult
from tracklight.analysis.evaluation.slices import format_slice
from tracklight.errors import UsageError
from tracklight.util.frames import CategoryColumn, Column, Frame

if TYPE_CHECKING:
    from tracklight.formats.proto import Message
    from tracklight.writer.event_writer import EventWriter


class FairnessResult(Frame):
    """Metrics per slice: ``slice``, ``metric``, ``threshold``, ``value``, ``lower``, ``upper``,
    ``count``, and ``output`` (class or average) for multi-class models.

    Convert it with ``to_pandas()``, ``to_polars()`` or ``to_arrow()``.
    """

    _noun = "value"

    def __init__(self, stored: StoredEvaluation) -> None:
        self._stored = stored
        result = stored.result
        super().__init__(
            {
                **_make_key_columns(result),
                "value": result.value.ravel(),
                "lower": result.lower.ravel(),
                "upper": result.upper.ravel(),
                "count": np.repeat(result.counts, len(result.columns)),
            }
        )

    @property
    def evaluation(self) -> EvaluationResult:
        """The values as a matrix of slices and metrics."""
        return self._stored.result

    @property
    def stored(self) -> StoredEvaluation:
        """The result with the data of its plots, in the form in which it is written."""
        return self._stored

    @property
    def slices(self) -> list[str]:
        """The names of the slices."""
        return self._stored.result.slice_names

    @property
    def omitted(self) -> list[str]:
        """The names of slices that have fewer rows than ``min_slice_size``."""
        return [format_slice(key) for key in self._stored.result.omitted]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out, one sentence each."""
        return tuple(str(message) for message in self._stored.result.warnings)

    def get(
        self,
        metric: str,
        slice: str = "Overall",
        *,
        threshold: float | None = None,
        output: str | None = None,
    ) -> float:
        """Return one value.

        Args:
            metric: Name of the metric.
            slice: Name of the slice, such as ``"sex:F"``.
            threshold: Needed if the metric was computed at several thresholds.
            output: Class or average of a multi-class model.

        Raises:
            UsageError: There is no such value.
        """
        return self._stored.result.get_value(metric, slice, threshold, output)

    def difference(
        self, baseline: str = "Overall", correction: Correction = "holm"
    ) -> DifferenceTable:
        """Compare every slice with a baseline slice.

        Args:
            baseline: Name of the baseline slice.
            correction: Adjustment of p-values for the number of comparisons: ``holm``,
                ``bonferroni``, ``benjamini-hochberg`` or ``none``.

        Returns:
            A table with absolute and relative differences, their intervals and p-values.

        Raises:
            UsageError: There is no such slice.

        Example:
            >>> result.difference(baseline="sex:M").to_pandas().query("significant")
        """
        return DifferenceTable(self._stored.result.difference(baseline, correction))

    def to_markdown(
        self,
        baseline: str = "Overall",
        metrics: Sequence[str] | None = None,
        *,
        threshold: float | None = None,
    ) -> str:
        """Return a section for a model card.

        Args:
            baseline: Name of the baseline slice.
            metrics: Metrics to show; by default the most common ones.
            threshold: The threshold to show; by default the middle one.
        """
        return format_report(self._stored, baseline, metrics, threshold)

    def write(
        self,
        logdir: str | os.PathLike[str] | EventWriter,
        step: int = 0,
        *,
        tag: str = "fairness",
        data_path: str | os.PathLike[str] | None = None,
    ) -> None:
        """Write the result to a run, where the Fairness dashboard shows it.

        Args:
            logdir: The directory of the run, which gets a new event file, or an open writer such as
                that of `tracklight.summary.create_file_writer`.
            step: The step or epoch of the model.
            tag: Name of the evaluation. Use several to tell data sets apart.
            data_path: The file with the rows that were evaluated (Parquet, CSV, JSON lines or
                TFRecord, or a pattern with ``*``), so that the dashboard can open the rows of a
                slice in What-If. By default the Parquet file that was evaluated. The dashboard
                looks for a relative path that does not exist here below the log directory.

        Example:
            >>> result.write("logs/run1", step=epoch)
        """
        from tracklight.writer.event_writer import EventWriter

        value = self.to_summary(tag, data_path)
        if isinstance(logdir, EventWriter):
            logdir.add([value], int(step))
            return
        with EventWriter(logdir) as writer:
            writer.add([value], int(step))

    def to_summary(
        self, tag: str = "fairness", data_path: str | os.PathLike[str] | None = None
    ) -> Message:
        """Return the ``Summary.Value`` message that `write` logs."""
        from tracklight.formats import summary

        if not tag:
            raise UsageError("the tag must not be empty")
        stored = self._stored
        if data_path is not None:
            path = os.path.expanduser(os.fspath(data_path))
            if os.path.exists(path) or glob.has_magic(path):
                path = os.path.abspath(path)
            stored = replace(stored, data_path=path)
        parts = np.array(encode_evaluation(stored), object)
        return summary.tensor(tag, parts, summary.make_metadata(PLUGIN_NAME))


class DifferenceTable(Frame):
    """Differences of slices to a baseline.

    ``difference`` is value minus baseline, ``relative`` is value / baseline - 1; both have
    intervals. ``adjusted_p_value`` takes the number of comparisons into account, and
    ``significant`` tells whether it is below 1 - confidence.
    """

    _noun = "difference"

    def __init__(self, difference: Difference) -> None:
        self._difference = difference
        result = difference.result
        baseline = np.broadcast_to(result.value[difference.baseline], result.value.shape)
        super().__init__(
            {
                **_make_key_columns(result),
                "value": result.value.ravel(),
                "baseline": baseline.ravel(),
                "difference": difference.absolute.ravel(),
                "lower": difference.lower.ravel(),
                "upper": difference.upper.ravel(),
                "relative": difference.relative.ravel(),
                "relative_lower": difference.relative_lower.ravel(),
                "relative_upper": difference.relative_upper.ravel(),
                "p_value": difference.p_value.ravel(),
                "adjusted_p_value": difference.adjusted_p_value.ravel(),
                "significant": difference.is_significant.ravel(),
                "count": np.repeat(result.counts, len(result.columns)),
            }
        )

    @property
    def differences(self) -> Difference:
        """The differences as matrices of slices and metrics."""
        return self._difference


def _make_key_columns(result: EvaluationResult) -> dict[str, Column]:
    """Return the columns that say which value a row is."""
    width, height = len(result.columns), len(result.slices)
    names = list(dict.fromkeys(column.metric for column in result.columns))
    metric_codes = np.array([names.index(column.metric) for column in result.columns], np.int32)
    thresholds = [
        np.nan if column.threshold is None else column.threshold for column in result.columns
    ]
    columns: dict[str, Column] = {
        "slice": CategoryColumn(
            result.slice_names, np.repeat(np.arange(height, dtype=np.int32), width)
        ),
        "metric": CategoryColumn(names, np.tile(metric_codes, height)),
        "threshold": np.tile(np.array(thresholds, np.float64), height),
    }
    outputs = [column.output or "" for column in result.columns]
    if any(outputs):
        names = list(dict.fromkeys(outputs))
        codes = np.array([names.index(output) for output in outputs], np.int32)
        columns["output"] = CategoryColumn(names, np.tile(codes, height))
    return columns
