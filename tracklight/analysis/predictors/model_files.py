"""Run models from files in a separate process, with limits on time and memory.

Only used when the server was started with ``--allow-model-execution``, or by a program that calls
`load_model_file`: a model file may contain code. Pickles are never loaded.

This module is also the program of that process: ``python -m …model_files`` with the options on
standard input. Requests and responses are msgpack messages with a length in front. Only arrays,
strings and numbers are exchanged: the parent never unpickles what a model returns.
"""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from tracklight.analysis.predictors import Predictions, Predictor, Task
from tracklight.analysis.predictors.python_models import Output
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.errors import (
    Message,
    ModelError,
    TracklightError,
    get_message,
    import_optional,
)
from tracklight.util.memory import format_bytes

_LENGTH = struct.Struct("<Q")
_PICKLE_SUFFIXES = (".pkl", ".pickle", ".joblib", ".dill", ".cloudpickle", ".sav")


class ArrayMessage(msgspec.Struct):
    """An array of numbers."""

    dtype: str
    shape: list[int]
    data: bytes


class ColumnMessage(msgspec.Struct):
    """A column of a table; see `DataColumn`."""

    name: str
    type: str
    values: ArrayMessage | list[bytes | None]
    categories: list[str]
    missing: ArrayMessage | None = None
    offsets: ArrayMessage | None = None
    step_offsets: ArrayMessage | None = None


class ModelOptions(msgspec.Struct):
    """How to load and call a model."""

    path: str
    name: str = "model"
    task: str | None = None
    output: str = "probabilities"
    features: list[str] | None = None
    max_memory_bytes: int = 8 << 30


class Problem(msgspec.Struct):
    """Why a model failed; see `tracklight.errors.Message`."""

    text: str
    code: str = ""
    args: dict[str, str | int | float] = {}


class WorkerResponse(msgspec.Struct):
    """The predictions for a batch, or a message if the model failed."""

    scores: ArrayMessage | None = None
    attributions: dict[str, ArrayMessage] = {}
    task: str = "classification"
    features: list[str] | None = None
    class_names: list[str] | None = None
    problem: Problem | None = None


def write_message(stream: BinaryIO, message: Any) -> None:
    data = msgspec.msgpack.encode(message)
    stream.write(_LENGTH.pack(len(data)) + data)
    stream.flush()


def read_message(stream: BinaryIO, kind: Any, max_bytes: int = 4 << 30) -> Any:
    """Read one message; None at the end of the stream.

    Raises:
        ModelError: The message is too large or has the wrong format.
    """
    header = stream.read(_LENGTH.size)
    if len(header) < _LENGTH.size:
        return None
    length = _LENGTH.unpack(header)[0]
    if length > max_bytes:
        raise ModelError(
            "models.response_too_large", "the model process sent a response that is too large"
        )
    data = stream.read(length)
    if len(data) < length:
        return None
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.DecodeError as error:
        raise ModelError(
            "models.invalid_response",
            "the model process sent an invalid response: {error}",
            error=error,
        ) from None


def encode_array(array: np.ndarray[Any, Any]) -> ArrayMessage:
    return ArrayMessage(array.dtype.str, list(array.shape), np.ascontiguousarray(array).tobytes())


def decode_array(message: ArrayMessage) -> np.ndarray[Any, Any]:
    """Return the array of a message.

    Raises:
        ModelError: The message is not an array of numbers.
    """
    dtype = np.dtype(message.dtype)
    try:
        if dtype.kind not in "biuf":
            raise ValueError("no numbers")
        array: np.ndarray[Any, Any] = np.frombuffer(message.data, dtype).reshape(message.shape)
    except (TypeError, ValueError) as error:
        raise ModelError(
            "models.invalid_array", "the model process sent an invalid array: {error}", error=error
        ) from None
    return np.array(array)


def encode_table(table: DataTable) -> list[ColumnMessage]:
    def encode(array: Any) -> ArrayMessage | None:
        return None if array is None else encode_array(array)

    return [
        ColumnMessage(
            column.name,
            column.type,
            column.values.tolist()
            if column.values.dtype == object
            else encode_array(column.values),
            list(column.categories),
            encode(column.missing),
            encode(column.offsets),
            encode(column.step_offsets),
        )
        for column in table.columns.values()
    ]


def decode_table(messages: list[ColumnMessage]) -> DataTable:
    def decode(message: ArrayMessage | None) -> Any:
        return None if message is None else decode_array(message)

    columns = []
    for message in messages:
        if isinstance(message.values, list):
            values = np.empty(len(message.values), object)
            values[:] = message.values
        else:
            values = decode_array(message.values)
        columns.append(
            DataColumn(
                message.name,
                message.type,  # type: ignore[arg-type]
                values,
                message.categories,
                decode(message.missing),
                decode(message.offsets),
                decode(message.step_offsets),
            )
        )
    return DataTable(columns)


def check_model_path(path: str) -> None:
    """Raise ModelError if a file is not a model that can be loaded without running pickles."""
    name = os.path.basename(path).lower()
    if name.endswith(_PICKLE_SUFFIXES):
        raise ModelError(
            "models.pickle",
            '"{path}" is a pickle, which can run any code when it is loaded; save the model as '
            ".skops, .onnx, .keras, .pt2 or SavedModel instead",
            path=path,
        )
    if os.path.isdir(path):
        if not os.path.isfile(os.path.join(path, "saved_model.pb")):
            raise ModelError(
                "models.no_saved_model", '"{path}" is a folder without saved_model.pb', path=path
            )
    elif not os.path.isfile(path):
        raise ModelError("models.no_file", 'no model file "{path}"', path=path)
    elif not name.endswith((".onnx", ".keras", ".pt", ".pt2", ".skops", ".ubj", ".json")):
        raise ModelError(
            "models.not_a_model_file",
            '"{path}" is not a model file; use .onnx, .keras, a SavedModel folder, .pt2, .skops, '
            "or .json or .ubj of XGBoost",
            path=path,
        )


#: Parts of fitted models that hold numbers, or that are functions of scikit-learn without side
#: effects. skops leaves the decision about them to the program; without the first no tree and no
#: forest can be loaded.
_TRUSTED_TYPES = frozenset(
    (
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neighbors._ball_tree.BallTree",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
        "sklearn.calibration._CalibratedClassifier",
        "sklearn.calibration._SigmoidCalibration",
        "sklearn.utils._bunch.Bunch",
        "sklearn._loss.loss.HalfTweedieLossIdentity",
        "sklearn.gaussian_process._gpc._BinaryGaussianProcessClassifierLaplace",
        "sklearn.gaussian_process.kernels.ConstantKernel",
        "sklearn.gaussian_process.kernels.Product",
        "sklearn.gaussian_process.kernels.RBF",
        "sklearn.gaussian_process.kernels.Sum",
        "sklearn.gaussian_process.kernels.WhiteKernel",
        "sklearn.feature_selection._univariate_selection.chi2",
        "sklearn.feature_selection._univariate_selection.f_classif",
        "sklearn.feature_selection._univariate_selection.f_regression",
        "numpy.dtype",
    )
)


def load_model(path: str) -> Any:
    """Load a model file without running pickles.

    Raises:
        ModelError: The file is not a model, or contains code.
        MissingDependencyError: The framework is not installed.
    """
    check_model_path(path)
    suffix = Path(path).suffix.lower()
    if os.path.isdir(path):
        return _load_saved_model(path)
    if suffix == ".onnx":
        runtime = import_optional("onnxruntime", "an ONNX model", "onnx")
        return runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    if suffix == ".keras":
        keras = import_optional("keras", "a Keras model", "keras")
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    if suffix in (".pt", ".pt2"):
        # torch.export.load reads tensors with torch.load, which must not run pickled code.
        os.environ["TORCH_FORCE_WEIGHTS_ONLY_LOAD"] = "1"
        torch = import_optional("torch", "a PyTorch model", "torch")
        return torch.export.load(path).module()
    if suffix == ".skops":
        skops = import_optional("skops.io", "a skops model", "sklearn")
        found = skops.get_untrusted_types(file=path)
        untrusted = [name for name in found if name not in _TRUSTED_TYPES]
        if untrusted:
            raise ModelError(
                "models.untrusted",
                "it contains types that are not trusted: {type}",
                type=untrusted[0],
            )
        return skops.load(path, trusted=[name for name in found if name in _TRUSTED_TYPES])
    xgboost = import_optional("xgboost", "an XGBoost model", "xgboost")
    booster = xgboost.Booster()
    booster.load_model(path)
    return booster


def _load_saved_model(path: str) -> Any:
    tf = import_optional("tensorflow", "a SavedModel", "tensorflow")
    loaded = tf.saved_model.load(path)
    signature = loaded.signatures.get("serving_default") or next(
        iter(loaded.signatures.values()), None
    )
    if signature is None:
        raise ModelError(
            "models.no_signature", 'the SavedModel "{path}" has no signature', path=path
        )
    specs = signature.structured_input_signature[1]

    def call(columns: dict[str, Any]) -> Any:
        feed = {}
        for name, spec in specs.items():
            if spec.dtype == tf.string and name not in columns:
                raise ModelError(
                    "models.needs_feature", 'the model needs the feature "{feature}"', feature=name
                )
            if len(specs) == 1 and name not in columns:
                matrix = np.stack([np.asarray(array) for array in columns.values()], axis=1)
                feed[name] = tf.constant(matrix, spec.dtype)
                continue
            if name not in columns:
                raise ModelError(
                    "models.feature_lacking",
                    'the model needs the feature "{feature}", which the data lack',
                    feature=name,
                )
            array = columns[name]
            if spec.shape.rank == 2 and array.ndim == 1:
                array = array[:, None]
            feed[name] = tf.constant(array, spec.dtype)
        outputs = signature(**feed)
        from tracklight.analysis.predictors.server_models import choose_output_name

        return outputs[choose_output_name(outputs)].numpy()

    return call


def limit_memory(max_bytes: int) -> None:
    """Limit the memory of this process, where the operating system can do so."""
    try:
        import resource
    except ImportError:  # Windows
        return
    # Frameworks reserve address space that they never use, so RLIMIT_AS would be too strict.
    resource.setrlimit(resource.RLIMIT_DATA, (max_bytes, max_bytes))


def main() -> None:
    from tracklight.analysis.predictors.python_models import wrap_model

    requests = sys.stdin.buffer
    responses = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what frameworks print is no response
    options = read_message(requests, ModelOptions)
    try:
        limit_memory(options.max_memory_bytes)
        predictor = wrap_model(
            load_model(options.path),
            options.name,
            task=options.task,
            output=options.output,
            features=options.features,
        )
    except Exception as error:
        write_message(responses, WorkerResponse(problem=describe_failure(error)))
        return
    features = None if predictor.features is None else list(predictor.features)
    names = None if predictor.class_names is None else list(predictor.class_names)
    write_message(
        responses, WorkerResponse(task=predictor.task, features=features, class_names=names)
    )
    while (messages := read_message(requests, list[ColumnMessage])) is not None:
        try:
            predictions = predictor.predict(decode_table(messages))
            attributions = {k: encode_array(v) for k, v in predictions.attributions.items()}
            names = None if predictor.class_names is None else list(predictor.class_names)
            response = WorkerResponse(
                encode_array(predictions.scores), attributions, predictor.task, features, names
            )
        except Exception as error:
            response = WorkerResponse(problem=describe_failure(error))
        write_message(responses, response)


def describe_failure(error: Exception) -> Problem:
    if isinstance(error, MemoryError):
        return Problem("the model needs more memory than the limit")
    if isinstance(error, TracklightError):
        message = get_message(error)
        args = {name: str(arg) if isinstance(arg, Message) else arg
                for name, arg in message.args.items()}  # fmt: skip
        return Problem(message.text, message.code, args)
    lines = str(error).strip().splitlines()
    name = type(error).__name__
    return Problem(f"{name}: {lines[0][:300]}" if lines else name)


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
        name: Shown to users.
        path: A ``.onnx``, ``.keras``, ``.pt2`` (or ``.pt`` with an exported program) or ``.skops``
            file, an XGBoost model as ``.json`` or ``.ubj``, or a SavedModel folder.
        task: What the scores mean; None lets the model decide.
        output: Whether the model returns probabilities or logits.
        features: The columns that the model gets, in its order; None for all inputs.
        timeout_s: Limit on the time of a call.
        max_memory_bytes: Limit on the memory of the process.
        options: Further arguments of `Predictor`.

    Raises:
        ModelError: The file is a pickle, or not a model.

    Example:
        >>> model = tracklight.what_if.ModelFilePredictor("income", "income.onnx", timeout_s=10)
        >>> session = tracklight.what_if.Session(frame, model=model, label="income")
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
            [sys.executable, "-m", "tracklight.analysis.predictors.model_files"],
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


if __name__ == "__main__":
    main()
