"""The callback that logs the training of a Keras model."""

from __future__ import annotations

import os
import time
from typing import Any

import keras

from tracklight.keras import options
from tracklight.keras.metrics import as_logs, find_iterations, find_learning_rates
from tracklight.keras.profile import BatchProfile
from tracklight.keras.runs import TRAIN, VALIDATION, Runs
from tracklight.sdk import lenient
from tracklight.sdk.arrays import as_number
from tracklight.sdk.graphs import build_tagged, encode_graph_event
from tracklight.sdk.names import as_name
from tracklight.tracing.run_metadata import build_graphs
from tracklight.tracing.session import Watch, create_watch

#: Backends that give away the graph of what they run at no cost.
_OPEN_BACKENDS = ("tensorflow", "jax")
#: Shorter than any batch, but no zero to divide by.
_LEAST_S = 1e-9

lenient.pass_over(os.path.dirname(keras.__file__))


class TensorBoard(keras.callbacks.Callback):  # type: ignore[misc]
    """Logs metrics, weights, the model and profiles to ``log_dir``, for any backend of Keras.

    There are two runs: ``train`` and ``validation``. Their tags are ``epoch_*`` for each epoch,
    ``batch_*`` if asked for, and ``evaluation_*_vs_iterations`` for each evaluation.

    Args:
        log_dir: where to log to; a folder, or an address such as ``s3://…``.
        histogram_freq: every how many epochs to log histograms of the weights; 0 for never.
        write_graph: whether to log how the layers of the model are joined, and the operations
            that the model runs.
        write_images: whether to log weights as pictures as well, with their histograms.
        write_steps_per_second: whether to log how fast the training is.
        update_freq: ``"epoch"``, ``"batch"``, or every how many batches to log metrics as well.
            Then this callback's writer is also the default one while a batch is running.
        profile_batch: which batch to profile, or a pair of the first and the last; 0 for none.
            Batches count from 1 over all epochs.
        embeddings_freq: every how many epochs to log embedding layers for the projector.
        embeddings_metadata: a file in ``log_dir`` with a label a line, or a dict of such files
            by the names of layers.
        strict: whether misuse is an exception rather than a warning.
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
        self._strict = lenient.is_strict() if strict is None else strict
        self._profiled: options.Batches | None = None
        with self._guard("__init__"):
            self.histogram_freq = options.as_every(histogram_freq, "histogram_freq")
            self.embeddings_freq = options.as_every(embeddings_freq, "embeddings_freq")
            self.update_freq = options.as_update_freq(update_freq)
            self._profiled = options.find_batches(profile_batch)
            self.embeddings_metadata = options.as_metadata(embeddings_metadata)
        self._runs = Runs(self.log_dir, strict=self._strict)
        self._profile: BatchProfile | None = None
        self._train_batch = self._test_batch = 0
        self._is_training = False
        self._watch: Watch | None = None

    @property
    def async_safe(self) -> bool:
        """Whether Keras need not wait for its batches on our behalf."""
        return not (self.update_freq or self._profiled or self.write_steps_per_second)

    def set_model(self, model: Any) -> None:
        super().set_model(model)
        self._runs.close()
        if self.write_graph:
            with self._guard("write_graph"):
                self._log_model()

    def on_train_begin(self, logs: Any = None) -> None:
        self._train_batch = 0
        self._is_training = True
        self._watch_first_batch()
        self._set_default(TRAIN, 0)
        if self._profiled is not None:
            with self._guard("profile_batch"):
                backend = keras.backend.backend()
                self._profile = BatchProfile(self._runs.folder(TRAIN), backend, self._profiled)

    def on_train_end(self, logs: Any = None) -> None:
        self._runs.drop_default(TRAIN)
        self._is_training = False
        self._stop_profile()
        self._runs.close()

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        if self.write_steps_per_second:
            self._epoch_start = time.perf_counter()
            self._epoch_iterations = self._find_iterations()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self._pause_profile()
        with self._guard("epoch"):
            self._log_epoch(epoch, as_logs(logs))
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            with self._guard("histogram_freq"):
                from tracklight.keras.weights import log_weights

                writer = self._runs.writer(TRAIN)
                log_weights(writer, self.model, epoch, with_images=self.write_images)
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            with self._guard("embeddings_freq"):
                self._log_embeddings(epoch)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.async_safe:
            return
        self._train_batch += 1
        self._set_default(TRAIN, self._train_batch)
        self._batch_start = time.perf_counter()
        if self._profile is not None:
            with self._guard("profile_batch"):
                self._profile.begin_batch(self._train_batch)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._log_first_batch()
        if self.async_safe:
            return
        elapsed_s = time.perf_counter() - self._batch_start
        if self._profile is not None:
            with self._guard("profile_batch"):
                self._profile.end_batch(self._train_batch)
            if self._profile.is_over:
                self._log_profiled_graphs()
        if self.update_freq and self._train_batch % self.update_freq == 0:
            values = as_logs(logs)
            if self.write_steps_per_second:
                values = {"steps_per_second": 1 / max(elapsed_s, _LEAST_S), **values}
            self._log_scalars(TRAIN, "batch_{}", values, self._train_batch)

    def on_test_begin(self, logs: Any = None) -> None:
        self._pause_profile()
        self._set_default(VALIDATION, self._test_batch)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        if self.update_freq:
            self._test_batch += 1
            self._set_default(VALIDATION, self._test_batch)

    def on_test_end(self, logs: Any = None) -> None:
        self._runs.drop_default(VALIDATION)
        iterations = self._find_iterations()
        if iterations is not None:
            form = "evaluation_{}_vs_iterations"
            self._log_scalars(VALIDATION, form, as_logs(logs), iterations)
        if not self._is_training:  # whose end would flush
            self._runs.flush()

    def _log_epoch(self, epoch: int, logs: dict[str, Any]) -> None:
        if not logs:
            return
        train = {name: value for name, value in logs.items() if not name.startswith("val_")}
        validation = {name[4:]: logs[name] for name in logs if name.startswith("val_")}
        train.update(find_learning_rates(getattr(self.model, "optimizer", None)))
        if self.write_steps_per_second:
            train["steps_per_second"] = self._measure_speed()
        self._log_scalars(TRAIN, "epoch_{}", train, epoch)
        if validation:
            self._log_scalars(VALIDATION, "epoch_{}", validation, epoch)

    def _log_scalars(self, run: str, form: str, values: dict[str, Any], step: int) -> None:
        writer = self._runs.writer(run)
        for name, value in values.items():
            tag = as_name(form.format(name))
            with self._guard(tag):
                writer.scalar(tag, as_number(value, name), step)

    def _log_model(self) -> None:
        from tracklight.keras.conceptual import describe_model

        text = describe_model(self.model).encode()
        self._runs.writer(TRAIN).add([build_tagged("keras", "graph_keras_model", text)], 0)

    def _watch_first_batch(self) -> None:
        if self._watch is not None:  # of a training whose first batch failed
            self._watch.stop()
        if self.write_graph and keras.backend.backend() in _OPEN_BACKENDS:
            with self._guard("write_graph"):
                self._watch = create_watch(keras.backend.backend())
                self._watch.start()

    def _log_first_batch(self) -> None:
        """Log the operations of a step as the graph of the run."""
        watch, self._watch = self._watch, None
        if watch is None:
            return
        with self._guard("write_graph"):
            graphs = watch.stop()
            if graphs:
                # Beside the step there may be small functions that make random numbers.
                self._runs.writer(TRAIN).add_event(encode_graph_event(max(graphs, key=len), 0))

    def _log_embeddings(self, epoch: int) -> None:
        from tracklight.keras.embeddings import EmbeddingLog

        if not hasattr(self, "_embeddings"):
            folder = self._runs.folder(TRAIN)
            self._embeddings = EmbeddingLog(folder, self.log_dir, self.embeddings_metadata)
            self._embeddings.check(self.model)
        self._embeddings.log(self.model, epoch)

    def _pause_profile(self) -> None:
        if self._profile is not None:
            with self._guard("profile_batch"):
                self._profile.pause()

    def _stop_profile(self) -> None:
        if self._profile is not None:
            with self._guard("profile_batch"):
                self._profile.stop()
            self._log_profiled_graphs()

    def _log_profiled_graphs(self) -> None:
        assert self._profile is not None
        profile, self._profile = self._profile, None
        if profile.graphs:
            value = build_graphs(profile.title, profile.graphs)
            self._runs.writer(TRAIN).add([value], self._train_batch)

    def _measure_speed(self) -> float:
        iterations = self._find_iterations() or 0
        elapsed_s = time.perf_counter() - self._epoch_start
        return (iterations - (self._epoch_iterations or 0)) / max(elapsed_s, _LEAST_S)

    def _find_iterations(self) -> int | None:
        with self._guard("iterations"):
            return find_iterations(getattr(self.model, "optimizer", None))
        return None

    def _set_default(self, run: str, step: int) -> None:
        if self.update_freq:
            self._runs.set_default(run, step, every=self.update_freq)

    def _guard(self, what: str) -> lenient.guard:
        return lenient.guard(f"keras.TensorBoard ({what})", strict=self._strict)
