"""The process that runs a model from a file: ``python -m …model_worker PATH OPTIONS``.

Requests and responses are msgpack messages with a length in front, on standard input and output.
Only arrays, strings and numbers are exchanged: the parent never unpickles what a model returns.
"""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import numpy as np

from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.tables.table import DataTable
from tracklight.errors import (
    Message,
    ModelError,
    TracklightError,
    get_message,
    import_optional,
)

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
        from tracklight.analysis.predictors.http_models import choose_output_name

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


if __name__ == "__main__":
    main()
