"""Run models from files in a separate process, with limits on time and memory.

Only used when the server was started with ``--allow-model-execution``, or by a program that calls
`load_model_file`: a model file may contain code. Pickles are never loaded.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

from tracklight.analysis.predictors.base import Predictions, Predictor, Task
from tracklight.analysis.predictors.model_worker import (
    ModelOptions,
    Problem,
    WorkerResponse,
    check_model_path,
    decode_array,
    encode_table,
    read_message,
    write_message,
)
from tracklight.analysis.predictors.python_models import Output
from tracklight.analysis.tables.table import DataTable
from tracklight.errors import Message, ModelError
from tracklight.util.memory import format_bytes

DEFAULT_CALL_S = 60.0
#: Importing a framework takes several seconds, and minutes on an overloaded machine.
_MAX_START_S = 300.0
DEFAULT_MEMORY_BYTES = 8 << 30

#: Suffixes of files that `list_model_files` offers; SavedModel folders are found by their content.
MODEL_SUFFIXES = (".onnx", ".keras", ".pt2", ".skops", ".ubj")


class ModelFilePredictor(Predictor):
    """A model file that runs in a process of its own, which is started on first use.

    A process that exceeds a limit is killed, and a new one is started for the next call.

    Args:
        path: A ``.onnx``, ``.keras``, ``.pt2`` (or ``.pt`` with an exported program) or ``.skops``
            file, an XGBoost model as ``.json`` or ``.ubj``, or a SavedModel folder.
        timeout_s: Limit on the time of a call.
        max_memory_bytes: Limit on the memory of the process.

    Raises:
        ModelError: The file is a pickle, or not a model.
    """

    def __init__(
        self,
        name: str,
        path: str,
        task: Task | None = None,
        *,
        output: Output = "probabilities",
        features: Sequence[str] | None = None,
        timeout_s: float = DEFAULT_CALL_S,
        max_memory_bytes: int = DEFAULT_MEMORY_BYTES,
        **options: Any,
    ) -> None:
        check_model_path(path)
        super().__init__(name, task or "classification", features=features, **options)
        self._timeout_s = timeout_s
        names = None if features is None else list(features)
        self._options = ModelOptions(path, name, task, output, names, max_memory_bytes)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        with self._lock:
            self._start()

    def call(self, table: DataTable) -> Any:
        with self._lock:
            if self._process is None:
                self._start()
            response = self._exchange(
                encode_table(table if self.features is None else table.select(self.features)),
                self._timeout_s,
            )
        if response.problem is not None:
            if response.problem.code:  # names the model itself
                raise _make_error(response.problem)
            raise ModelError(
                "models.failed",
                'the model "{model}" failed: {problem}',
                model=self.name,
                problem=response.problem.text,
            )
        if response.scores is None:
            raise ModelError(
                "models.no_scores", 'the model "{model}" returned no scores', model=self.name
            )
        self._apply(response)
        return Predictions(
            decode_array(response.scores),
            {key: decode_array(array) for key, array in response.attributions.items()},
        )

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tracklight.analysis.predictors.model_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        response = self._exchange(self._options, _MAX_START_S)
        if response.problem is not None:
            self._stop()
            raise ModelError(
                "models.cannot_load",
                'cannot load "{path}": {problem}',
                path=self._options.path,
                problem=_make_error(response.problem),
            )
        self._apply(response)

    def _apply(self, response: WorkerResponse) -> None:
        self.task = "regression" if response.task == "regression" else "classification"
        if response.features is not None:
            self.features = tuple(response.features)
        if response.class_names is not None:
            self.class_names = tuple(response.class_names)

    def _exchange(self, message: Any, timeout_s: float) -> WorkerResponse:
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        is_late = threading.Event()

        def kill() -> None:
            is_late.set()
            process.kill()

        timer = threading.Timer(timeout_s, kill)
        timer.daemon = True
        timer.start()
        response: WorkerResponse | None = None
        try:
            write_message(process.stdin, message)  # type: ignore[arg-type]
            response = read_message(process.stdout, WorkerResponse)  # type: ignore[arg-type]
        except OSError:
            pass  # the process has ended
        finally:
            timer.cancel()
        if response is None:
            self._stop()
            if is_late.is_set():
                raise ModelError(
                    "models.not_finished",
                    'the model "{model}" did not finish within {seconds:g} seconds',
                    model=self.name,
                    seconds=timeout_s,
                )
            limit = format_bytes(self._options.max_memory_bytes)
            raise ModelError(
                "models.process_ended",
                'the process of the model "{model}" ended; it may need more than the {limit} of '
                "memory that it is allowed",
                model=self.name,
                limit=limit,
            )
        return response

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def _make_error(problem: Problem) -> ModelError:
    message = Message(problem.code, problem.text, dict(problem.args))
    return ModelError(message)


def load_model_file(path: str | os.PathLike[str], name: str = "", **options: Any) -> Predictor:
    """Start a process that runs a model file.

    Args:
        path: The file or SavedModel folder.
        name: The name of the model; by default the name of the file.
        options: See `ModelFilePredictor`.

    Returns:
        The model, for `tracklight.what_if.Session`.

    Raises:
        ModelError: The file cannot be loaded.

    Example:
        >>> model = tracklight.what_if.load_model("models/income.onnx")
        >>> session = tracklight.what_if.Session(frame, model=model, label="income")
    """
    path = os.fspath(path)
    stem = os.path.splitext(os.path.basename(os.path.normpath(path)))[0]
    return ModelFilePredictor(name or stem or "model", path, **options)
