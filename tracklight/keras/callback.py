"""The callbacks: `TensorBoard` logs the training and profiles a range of batches, `Fairness`
evaluates the model per slice after each epoch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from tracklight.keras.model import (
    BatchRange,
    as_embeddings_metadata,
    as_epoch_interval,
    as_update_freq,
    parse_profile_batch,
    read_number,
)
from tracklight.profiler import StepMarker, create_profiler
from tracklight.profiler.tracing import GraphCapture, build_function_graphs, create_graph_capture
from tracklight.summary import FileWriter, create_file_writer
from tracklight.writer import as_number, as_tag, event_writer, warnings
from tracklight.writer.values import build_graph_value, encode_graph_event
from tracklight.writer.warnings import ArgumentError

if TYPE_CHECKING:
    from tracklight.fairness import FairnessResult

# ---- profiling


class BatchProfiler:
    """Records a range of batches, each marked as a step.

    A step lasts until the next one begins, so that it includes the time spent waiting for data.

    Args:
        run_dir: Directory of the run.
        backend: The backend of Keras.
        batches: The batches to record.

    Attributes:
        graphs: Serialized graphs of the functions that ran, once the range has ended.
    """

    def __init__(self, run_dir: str, backend: str, batches: BatchRange) -> None:
        self._run_dir = run_dir
        self._profiler = create_profiler(backend)
        self._step_marker = StepMarker(self._profiler)
        self._graph_capture = create_graph_capture(backend)
        self._batches = batches
        self.graphs: list[bytes] = []
        self.is_running = False
        self.has_finished = False

    @property
    def title(self) -> str:
        return f"batch_{self._batches.last}"

    def begin_batch(self, batch: int) -> None:
        """Handle the start of a batch, counted from 1 over all epochs."""
        if batch > self._batches.last:
            self.stop()
        elif batch >= self._batches.first and not self.has_finished:
            if not self.is_running:
                self._start()
            self._step_marker.begin(batch)

    def end_batch(self, batch: int) -> None:
        if batch >= self._batches.last:
            self.stop()

    def pause(self) -> None:
        """End the current step, so that it does not include an evaluation."""
        self._step_marker.end()

    def stop(self) -> None:
        if not self.is_running:
            return
        self.is_running, self.has_finished = False, True
        self._step_marker.end()
        try:
            self._profiler.stop()
        finally:
            self.graphs = self._graph_capture.stop()

    def _start(self) -> None:
        # Not retried after a failure: another part of the program may be profiling.
        self.has_finished = True
        self._profiler.start(self._run_dir)
        with suppress(ArgumentError):  # record the profile without graphs
            self._graph_capture.start()
        self.is_running, self.has_finished = True, False


# ---- the callback

TRAIN_RUN = "train"
VALIDATION_RUN = "validation"

#: Backends whose graphs can be captured at no cost.
_GRAPH_BACKENDS = ("tensorflow", "jax")
#: Avoids a division by zero; shorter than any batch.
_MIN_ELAPSED_S = 1e-9

warnings.skip_frames_in(os.path.dirname(keras.__file__))


class TensorBoard(keras.callbacks.Callback):  # type: ignore[misc]
    """Log metrics, weights, the model and profiles, with any backend of Keras.

    There are two runs, ``train`` and ``validation``. Tags are ``epoch_*`` for each epoch,
    ``batch_*`` if ``update_freq`` is set, and ``evaluation_*_vs_iterations`` for each evaluation.

    Args:
        log_dir: The log directory, or a URL such as ``s3://bucket/logs``.
        histogram_freq: Log histograms of the weights every this many epochs; 0 for never.
        write_graph: Log the layers of the model and the graph of a training step.
        write_images: Log images of the weights along with their histograms.
        write_steps_per_second: Log the speed of the training.
        update_freq: ``"epoch"``, ``"batch"``, or a number of batches after which to log metrics. If
            not ``"epoch"``, the callback's writer is the default writer while a batch is running.
        profile_batch: The batch to profile, or a pair of the first and the last; 0 for none.
            Batches are counted from 1 over all epochs.
        embeddings_freq: Log embedding layers for the projector every this many epochs; 0 for never.
        embeddings_metadata: A file in ``log_dir`` with one label per line, or a dict of such files
            by layer name.
        strict: Raise exceptions on misuse instead of warning; by default TRACKLIGHT_STRICT decides.

    Raises:
        UsageError: An argument is invalid, and ``strict`` is set. Otherwise a warning is issued and
            the feature is disabled.

    Example:
        >>> callback = tracklight.keras.TensorBoard("logs/run1", histogram_freq=1)
        >>> model.fit(x, y, validation_data=(x_test, y_test), callbacks=[callback])
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: int | str = "epoch",
        profile_batch: Any = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: Any = None,
        *,
        strict: bool | None = None,
    ) -> None:
        super().__init__()
        self.log_dir = os.path.expanduser(os.fspath(log_dir))
        self.histogram_freq = self.embeddings_freq = 0
        self.write_graph = write_graph
        self.write_images = write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq: int | None = None
        self.embeddings_metadata: str | dict[str, str] = {}
        self._strict = warnings.is_strict() if strict is None else strict
        self._profile_batches: BatchRange | None = None
        with self._catch_errors("__init__"):
            self.histogram_freq = as_epoch_interval(histogram_freq, "histogram_freq")
            self.embeddings_freq = as_epoch_interval(embeddings_freq, "embeddings_freq")
            self.update_freq = as_update_freq(update_freq)
            self._profile_batches = parse_profile_batch(profile_batch)
            self.embeddings_metadata = as_embeddings_metadata(embeddings_metadata)
        self._writers = RunWriters(self.log_dir, strict=self._strict)
        self._profiler: BatchProfiler | None = None
        self._train_batch = self._test_batch = 0
        self._is_training = False
        self._graph_capture: GraphCapture | None = None

    @property
    def async_safe(self) -> bool:
        """Whether Keras may call the callback asynchronously; it then does not wait for batches."""
        return not (self.update_freq or self._profile_batches or self.write_steps_per_second)

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._writers.close()
        if self.write_graph:
            with self._catch_errors("write_graph"):
                self._log_model()

    def on_train_begin(self, logs: Any = None) -> None:
        self._train_batch = 0
        self._is_training = True
        self._start_graph_capture()
        self._set_default(TRAIN_RUN, 0)
        if self._profile_batches is not None:
            with self._catch_errors("profile_batch"):
                backend = keras.backend.backend()
                self._profiler = BatchProfiler(
                    self._writers.get_directory(TRAIN_RUN), backend, self._profile_batches
                )

    def on_train_end(self, logs: Any = None) -> None:
        self._writers.clear_default(TRAIN_RUN)
        self._is_training = False
        self._stop_profile()
        self._writers.close()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.write_steps_per_second:
            self._epoch_start = time.perf_counter()
            self._epoch_iterations = self._find_iterations()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._pause_profile()
        with self._catch_errors("epoch"):
            self._log_epoch(epoch, as_logs(logs))
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            with self._catch_errors("histogram_freq"):
                from tracklight.keras.model import log_weights

                writer = self._writers.get_writer(TRAIN_RUN)
                log_weights(writer, self.model, epoch, with_images=self.write_images)
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            with self._catch_errors("embeddings_freq"):
                self._log_embeddings(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.async_safe:
            return
        self._train_batch += 1
        self._set_default(TRAIN_RUN, self._train_batch)
        self._batch_start = time.perf_counter()
        if self._profiler is not None:
            with self._catch_errors("profile_batch"):
                self._profiler.begin_batch(self._train_batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._log_captured_graph()
        if self.async_safe:
            return
        elapsed_s = time.perf_counter() - self._batch_start
        if self._profiler is not None:
            with self._catch_errors("profile_batch"):
                self._profiler.end_batch(self._train_batch)
            if self._profiler.has_finished:
                self._log_profiled_graphs()
        if self.update_freq and self._train_batch % self.update_freq == 0:
            values = as_logs(logs)
            if self.write_steps_per_second:
                values = {"steps_per_second": 1 / max(elapsed_s, _MIN_ELAPSED_S), **values}
            self._log_scalars(TRAIN_RUN, "batch_{}", values, self._train_batch)

    def on_test_begin(self, logs: Any = None) -> None:
        self._pause_profile()
        self._set_default(VALIDATION_RUN, self._test_batch)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.update_freq:
            self._test_batch += 1
            self._set_default(VALIDATION_RUN, self._test_batch)

    def on_test_end(self, logs: Any = None) -> None:
        self._writers.clear_default(VALIDATION_RUN)
        iterations = self._find_iterations()
        if iterations is not None:
            tag_format = "evaluation_{}_vs_iterations"
            self._log_scalars(VALIDATION_RUN, tag_format, as_logs(logs), iterations)
        if not self._is_training:  # otherwise the end of the training flushes
            self._writers.flush()

    def _log_epoch(self, epoch: int, logs: dict[str, Any]) -> None:
        if not logs:
            return
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        validation = {name[4:]: logs[name] for name in logs if name.startswith("val_")}
        train.update(get_learning_rates(getattr(self.model, "optimizer", None)))
        if self.write_steps_per_second:
            train["steps_per_second"] = self._measure_speed()
        self._log_scalars(TRAIN_RUN, "epoch_{}", train, epoch)
        if validation:
            self._log_scalars(VALIDATION_RUN, "epoch_{}", validation, epoch)

    def _log_scalars(self, run: str, tag_format: str, values: dict[str, Any], step: int) -> None:
        writer = self._writers.get_writer(run)
        for name, value in values.items():
            tag = as_tag(tag_format.format(name))
            with self._catch_errors(tag):
                writer.scalar(tag, as_number(value, name), step)

    def _log_model(self) -> None:
        from tracklight.keras.model import build_model_json

        text = build_model_json(self.model).encode()
        self._writers.get_writer(TRAIN_RUN).add(
            [build_graph_value("keras", "graph_keras_model", text)], 0
        )

    def _start_graph_capture(self) -> None:
        if self._graph_capture is not None:  # left by a training whose first batch failed
            self._graph_capture.stop()
        if self.write_graph and keras.backend.backend() in _GRAPH_BACKENDS:
            with self._catch_errors("write_graph"):
                self._graph_capture = create_graph_capture(keras.backend.backend())
                self._graph_capture.start()

    def _log_captured_graph(self) -> None:
        """Log the operations of the first training step as the graph of the run."""
        capture, self._graph_capture = self._graph_capture, None
        if capture is None:
            return
        with self._catch_errors("write_graph"):
            graphs = capture.stop()
            if graphs:
                # The largest is the training step; others are small, such as random generators.
                self._writers.get_writer(TRAIN_RUN).add_event(
                    encode_graph_event(max(graphs, key=len), 0)
                )

    def _log_embeddings(self, epoch: int) -> None:
        from tracklight.keras.model import EmbeddingLogger

        if not hasattr(self, "_embeddings"):
            directory = self._writers.get_directory(TRAIN_RUN)
            self._embeddings = EmbeddingLogger(directory, self.log_dir, self.embeddings_metadata)
            self._embeddings.check(self.model)
        self._embeddings.log(self.model, epoch)

    def _pause_profile(self) -> None:
        if self._profiler is not None:
            with self._catch_errors("profile_batch"):
                self._profiler.pause()

    def _stop_profile(self) -> None:
        if self._profiler is not None:
            with self._catch_errors("profile_batch"):
                self._profiler.stop()
            self._log_profiled_graphs()

    def _log_profiled_graphs(self) -> None:
        assert self._profiler is not None
        profile, self._profiler = self._profiler, None
        if profile.graphs:
            value = build_function_graphs(profile.title, profile.graphs)
            self._writers.get_writer(TRAIN_RUN).add([value], self._train_batch)

    def _measure_speed(self) -> float:
        iterations = self._find_iterations() or 0
        elapsed_s = time.perf_counter() - self._epoch_start
        return (iterations - (self._epoch_iterations or 0)) / max(elapsed_s, _MIN_ELAPSED_S)

    def _find_iterations(self) -> int | None:
        with self._catch_errors("iterations"):
            return find_iterations(getattr(self.model, "optimizer", None))
        return None

    def _set_default(self, run: str, step: int) -> None:
        if self.update_freq:
            self._writers.set_default(run, step, every=self.update_freq)

    def _catch_errors(self, option: str) -> warnings.catch_errors:
        return warnings.catch_errors(f"keras.TensorBoard ({option})", strict=self._strict)


class RunWriters:
    """The writers of the runs of a callback, created on first use so that no run is empty."""

    def __init__(self, log_dir: str, *, strict: bool) -> None:
        self._log_dir = log_dir
        self._strict = strict
        self._writers: dict[str, FileWriter] = {}
        # An evaluation may run inside of a training; its default writer overrides that of the
        # training meanwhile.
        self._overrides = {TRAIN_RUN: ExitStack(), VALIDATION_RUN: ExitStack()}

    def get_directory(self, run: str) -> str:
        return os.path.join(self._log_dir, run)

    def get_writer(self, run: str) -> FileWriter:
        if run not in self._writers:
            self._writers[run] = create_file_writer(self.get_directory(run), strict=self._strict)
        return self._writers[run]

    def set_default(self, run: str, step: int, *, every: int) -> None:
        """Make a run the default for values that the program logs itself.

        Args:
            run: Name of the run.
            step: The default step.
            every: Only record values at multiples of this step.
        """
        self.clear_default(run)
        overrides = self._overrides[run]
        overrides.enter_context(event_writer.writer.override(self.get_writer(run)))
        overrides.enter_context(event_writer.step.override(step))
        overrides.enter_context(event_writer.condition.override(step % every == 0))

    def clear_default(self, run: str) -> None:
        # An interrupted training leaves an override that belongs to another context.
        with suppress(ValueError):
            self._overrides[run].close()

    def flush(self) -> None:
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
        self._writers = {}


def as_logs(logs: Any) -> dict[str, Any]:
    """Return metrics by name; empty if a custom training step returned something else."""
    return dict(logs) if isinstance(logs, Mapping) else {}


def find_iterations(optimizer: Any) -> int | None:
    """Return the number of batches that an optimizer has processed."""
    iterations = getattr(optimizer, "iterations", None)
    return None if iterations is None else int(read_number(iterations, "iterations"))


def get_learning_rates(optimizer: Any) -> dict[str, float]:
    """Return the learning rate, or one for each of several optimizers."""
    optimizer = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    optimizers = getattr(optimizer, "optimizers", None)
    if optimizers is not None:
        return {f"learning_rate_{inner.name}": _read_rate(inner) for inner in optimizers}
    return {"learning_rate": _read_rate(optimizer)} if hasattr(optimizer, "learning_rate") else {}


def _read_rate(optimizer: Any) -> float:
    return read_number(optimizer.learning_rate, "learning_rate")


# ---- fairness


class Fairness(keras.callbacks.Callback):  # type: ignore[misc]
    """Evaluate the model per slice after each epoch, and log the result.

    A problem with the evaluation is reported once as a warning and does not stop the training.

    Args:
        log_dir: The log directory, as for `TensorBoard`; results are in the run ``validation``.
        x: Inputs of the examples, as for ``model.predict``.
        y: Labels of the examples.
        data: A table with one row per example, with the columns to slice by.
        slices: What to slice by; see `tracklight.fairness.evaluate`.
        freq: Evaluate every this many epochs.
        batch_size: Batch size of the predictions.
        tag: Name of the evaluation.
        strict: Raise exceptions instead of warning; by default TRACKLIGHT_STRICT decides.
        options: Further arguments of `tracklight.fairness.evaluate`, such as ``thresholds``.

    Example:
        >>> callback = tracklight.keras.Fairness("logs/run1", x_test, y_test, people, ["sex"])
        >>> model.fit(x, y, epochs=5, callbacks=[callback])
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        x: Any,
        y: Any,
        data: Any,
        slices: Sequence[Any],
        *,
        freq: int = 1,
        batch_size: int | None = None,
        tag: str = "fairness",
        strict: bool | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.log_dir = os.path.join(os.path.expanduser(os.fspath(log_dir)), VALIDATION_RUN)
        self.last_result: FairnessResult | None = None
        """The result of the last evaluation."""
        self._examples = (x, np.asarray(y).squeeze())
        self._data = data
        self._slices = slices
        self._freq = max(1, int(freq))
        self._batch_size = batch_size
        self._tag = tag
        self._strict = warnings.is_strict() if strict is None else strict
        self._options = options
        self._writer: FileWriter | None = None

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        if epoch % self._freq:
            return
        with warnings.catch_errors("tracklight.keras.Fairness", strict=self._strict):
            # Not needed by the other callback.
            from tracklight.fairness import evaluate

            x, y = self._examples
            scores = np.asarray(self.model.predict(x, batch_size=self._batch_size, verbose=0))
            self.last_result = evaluate(
                self._data, label=y, prediction=scores, slices=self._slices, **self._options
            )
            if self._writer is None:
                self._writer = create_file_writer(self.log_dir)
            self.last_result.write(self._writer, step=epoch, tag=self._tag)

    def on_train_end(self, logs: Any = None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
