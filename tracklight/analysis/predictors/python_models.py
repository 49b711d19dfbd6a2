"""Models that are objects of this program.

`wrap_model` chooses an adapter by the type of the object. A framework is only imported if an
object of it was passed, so its import is free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from tracklight.analysis.predictors import (
    Predictor,
    Task,
    apply_activation,
    choose_inputs,
)
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.tables.examples import make_examples
from tracklight.analysis.tables.objects import TableKind
from tracklight.errors import ModelError, UsageError, import_optional

Output = Literal["probabilities", "logits"]


def wrap_model(
    model: Any,
    name: str = "model",
    *,
    task: Task | None = None,
    input: TableKind | None = None,
    output: Output = "probabilities",
    features: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
) -> Predictor:
    """Adapt an object of this program to the predictor interface.

    Args:
        model: A predictor, a callable, or a model of scikit-learn, XGBoost, PyTorch, Keras or
            ONNX Runtime.
        name: The name of the model.
        task: Found from the model where possible; otherwise classification.
        input: The kind of table that a callable gets: ``"pandas"``, ``"numpy"``, ``"dict"`` (of
            arrays), ``"rows"`` (dictionaries), ``"examples"`` (``tf.Example`` messages) or
            ``"arrow"``.
        output: Whether a classification model returns probabilities or logits.
        features: The columns that the model gets; by default all inputs of the session.
        class_names: The names of the classes.

    Raises:
        UsageError: The object is not a model.
    """
    if isinstance(model, Predictor):
        return model
    options: dict[str, Any] = {"features": features, "class_names": class_names}
    modules = {kind.__module__.partition(".")[0] for kind in type(model).__mro__}
    kind = type(model).__name__
    if "onnxruntime" in modules and kind == "InferenceSession":
        return OnnxPredictor(model, name, task or "classification", output=output, **options)
    if "onnx" in modules and kind == "ModelProto":
        runtime = import_optional("onnxruntime", "an ONNX model", "onnx")
        session = runtime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        return OnnxPredictor(session, name, task or "classification", output=output, **options)
    if "xgboost" in modules and kind == "Booster":
        return XgboostPredictor(model, name, task, output=output, **options)
    if hasattr(model, "predict_proba") or ("sklearn" in modules and hasattr(model, "predict")):
        return SklearnPredictor(model, name, task, **options)
    if "torch" in modules and hasattr(model, "parameters"):
        return TorchPredictor(model, name, task or "classification", output=output, **options)
    if "keras" in modules or hasattr(model, "predict_on_batch"):
        return KerasPredictor(model, name, task or "classification", output=output, **options)
    if callable(model):
        return CallablePredictor(
            model, name, task or "classification", input=input, output=output, **options
        )
    if isinstance(model, (str, bytes)):
        raise UsageError(
            "models.path_is_no_model",
            "a path is not a model; load the model first, or use "
            "tracklight.what_if.load_model(path), which runs it in a separate process",
        )
    raise UsageError(
        "models.unknown_object",
        "{module}.{kind} is neither a known model nor callable",
        module=type(model).__module__,
        kind=kind,
    )


class CallablePredictor(Predictor):
    """A Python function that gets a table and returns scores, or a dictionary."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        name: str,
        task: Task,
        *,
        input: TableKind | None = None,
        output: Output = "probabilities",
        **options: Any,
    ) -> None:
        super().__init__(name, task, **options)
        self._function = function
        self._input: TableKind = input or "dict"
        self._output: Output = output

    def call(self, table: DataTable) -> Any:
        inputs = convert_table(choose_inputs(table, self.features), self._input)
        returned = self._function(inputs)
        if self.task == "regression" or isinstance(returned, dict):
            return returned
        return apply_activation(returned, self._output)


def convert_table(table: DataTable, kind: TableKind) -> Any:
    """Return a table as an object of the given kind."""
    if kind == "pandas":
        return table.to_pandas()
    if kind == "numpy":
        return table.to_matrix()
    if kind == "dict":
        return table.to_arrays()
    if kind == "rows":
        return table.to_rows()
    if kind == "examples":
        return make_tf_examples(table)
    if kind == "arrow":
        pa = import_optional("pyarrow", "an Arrow table", "arrow")
        return pa.Table.from_pylist(table.to_rows())
    if kind == "polars":
        pl = import_optional("polars", "a Polars table", "polars")
        return pl.DataFrame(table.to_rows())
    return table


def make_tf_examples(table: DataTable) -> list[Any]:
    """Return ``tf.train.Example`` messages, or equal messages if TensorFlow is not installed."""
    messages = make_examples(table)
    try:
        from tensorflow.train import Example, SequenceExample
    except ImportError:
        return messages
    is_sequence = any(column.is_sequence for column in table.columns.values())
    message_class = SequenceExample if is_sequence else Example
    return [message_class.FromString(message.SerializeToString()) for message in messages]


class SklearnPredictor(Predictor):
    """An estimator with the interface of scikit-learn, such as those of XGBoost and LightGBM."""

    def __init__(self, model: Any, name: str, task: Task | None, **options: Any) -> None:
        found: Task = "classification" if hasattr(model, "predict_proba") else "regression"
        if hasattr(model, "classes_") and not hasattr(model, "predict_proba"):
            raise UsageError(
                "models.no_predict_proba",
                "{model} has no predict_proba; pass a calibrated classifier, or a function that "
                "returns scores",
                model=type(model).__name__,
            )
        known = getattr(model, "feature_names_in_", None)
        if options.get("features") is None and known is not None:
            options["features"] = [str(feature) for feature in known]
        classes = getattr(model, "classes_", None)
        if options.get("class_names") is None and classes is not None and np.ndim(classes) == 1:
            options["class_names"] = [str(label) for label in classes]
        super().__init__(name, task or found, **options)
        self._model = model
        self._uses_names = known is not None
        booster = model.get_booster() if hasattr(model, "get_booster") else None
        self._booster = booster if "c" in (getattr(booster, "feature_types", None) or ()) else None

    def call(self, table: DataTable) -> Any:
        inputs = choose_inputs(table, self.features)
        rows = inputs.to_pandas() if self._uses_names else self._to_matrix(inputs)
        if self._booster is not None and self._uses_names:
            rows = make_categories(rows, self._booster)
        if self.task == "regression":
            return self._model.predict(rows)
        return self._model.predict_proba(rows)

    def _to_matrix(self, inputs: DataTable) -> Any:
        wanted = getattr(self._model, "n_features_in_", None)
        matrix = self.to_matrix(inputs)
        if wanted is not None and matrix.shape[1] != wanted:
            raise ModelError(
                "models.feature_count",
                'the model "{model}" was trained with {wanted} features and gets {given}; pass '
                "features=[…] with the names of its inputs",
                model=self.name,
                wanted=wanted,
                given=matrix.shape[1],
            )
        return matrix


class XgboostPredictor(Predictor):
    """An XGBoost booster. Its SHAP values become attributions if there are at most two classes."""

    def __init__(
        self,
        model: Any,
        name: str,
        task: Task | None,
        *,
        output: Output = "probabilities",
        **options: Any,
    ) -> None:
        if options.get("features") is None and model.feature_names:
            options["features"] = list(model.feature_names)
        import json

        objective = json.loads(model.save_config())["learner"]["objective"]["name"]
        if task is None:
            is_classifier = objective.startswith(("binary:", "multi:"))
            task = "classification" if is_classifier else "regression"
        super().__init__(name, task, **options)
        self._model = model
        # These objectives predict logits, or the number of a class, instead of probabilities.
        is_raw = task == "classification" and objective in ("binary:logitraw", "multi:softmax")
        self._output: Output = "logits" if is_raw else output
        self._uses_margin = is_raw

    def call(self, table: DataTable) -> Any:
        xgboost = import_optional("xgboost", "an XGBoost model", "xgboost")
        inputs = choose_inputs(table, self.features)
        names = list(self.features or inputs.names)
        if "c" in (self._model.feature_types or ()):
            rows = make_categories(inputs.to_pandas(), self._model)
            matrix = xgboost.DMatrix(rows, enable_categorical=True)
        else:
            matrix = xgboost.DMatrix(
                self.to_matrix(inputs), feature_names=self._model.feature_names
            )
        scores = self._model.predict(matrix, output_margin=self._uses_margin)
        if self.task == "classification":
            scores = apply_activation(scores, self._output)
        contributions = self._model.predict(matrix, pred_contribs=True)
        if contributions.ndim != 2 or contributions.shape[1] != len(names) + 1:
            return scores
        attributions = {feature: contributions[:, i] for i, feature in enumerate(names)}
        return {"predictions": scores, "attributions": attributions}


def make_categories(rows: Any, booster: Any) -> Any:
    """Convert columns of a data frame to the categories with which a booster was trained.

    Raises:
        ModelError: A row has a value that the booster was not trained with.
    """
    pandas = import_optional("pandas", "an XGBoost model with categories", "pandas")
    types = dict(zip(booster.feature_names or (), booster.feature_types or (), strict=False))
    known = {}
    if hasattr(booster, "get_categories"):  # XGBoost 3.1
        known = dict(booster.get_categories(export_to_arrow=True).to_arrow() or ())
    for name in [row for row in rows if types.get(row) == "c"]:
        column = rows[name]
        if known.get(name) is None:
            rows[name] = column.astype("category")
            continue
        categories = known[name].to_pylist()
        unknown = column[column.notna() & ~column.isin(categories)]
        if len(unknown):
            raise ModelError(
                "models.unknown_category",
                'the model does not know the value "{value}" of "{feature}"; it was trained with '
                "{known}",
                value=unknown.iloc[0],
                feature=name,
                known=", ".join(map(str, categories[:10])),
            )
        rows[name] = pandas.Categorical(column, categories=categories)
    return rows


class TorchPredictor(Predictor):
    """A PyTorch module that takes one float tensor, or one tensor per feature by keyword."""

    def __init__(
        self, model: Any, name: str, task: Task, *, output: Output, **options: Any
    ) -> None:
        super().__init__(name, task, **options)
        self._model = model
        self._output: Output = output

    def call(self, table: DataTable) -> Any:
        torch = import_optional("torch", "a PyTorch model", "torch")
        inputs = choose_inputs(table, self.features)
        parameter = next(iter(self._model.parameters()), None)
        dtype = torch.float32 if parameter is None else parameter.dtype
        device = "cpu" if parameter is None else parameter.device
        # Exported programs have no modes.
        is_module = hasattr(self._model, "train") and type(self._model).__name__ != "GraphModule"
        was_training = is_module and self._model.training
        if was_training:
            self._model.eval()
        try:
            with torch.inference_mode():
                rows = torch.as_tensor(self.to_matrix(inputs), dtype=dtype, device=device)
                size = _find_exported_batch(self._model)
                if size is None:
                    returned = self._model(rows)
                else:
                    returned = call_in_batches(self._model, rows, size, torch.cat)
        finally:
            if was_training:
                self._model.train()
        if isinstance(returned, dict):
            return {key: _to_numpy(value) for key, value in returned.items()}
        values = _to_numpy(returned)
        return values if self.task == "regression" else apply_activation(values, self._output)


def call_in_batches(
    model: Callable[[Any], Any], rows: Any, size: int, join: Callable[[list[Any]], Any]
) -> Any:
    """Call a model that takes a fixed number of rows, such as one exported with an example.

    The last batch is filled up by repeating its last row.
    """
    parts = []
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        count = len(part)
        if count < size:
            part = join([part] + [part[-1:]] * (size - count))
        parts.append(model(part)[:count])
    return join(parts)


def _find_exported_batch(model: Any) -> int | None:
    """Return the number of rows for which a program was exported; None for any number."""
    graph = getattr(model, "graph", None)
    for node in getattr(graph, "nodes", ()):
        value = node.meta.get("val") if node.op == "placeholder" else None
        shape: Any = getattr(value, "shape", ())
        if len(shape):
            return shape[0] if isinstance(shape[0], int) else None
    return None


def _to_numpy(value: Any) -> Any:
    return value.detach().cpu().numpy() if hasattr(value, "detach") else value


class KerasPredictor(Predictor):
    """A Keras model with one input, or with one named input per feature."""

    def __init__(
        self, model: Any, name: str, task: Task, *, output: Output, **options: Any
    ) -> None:
        names = [str(tensor.name).partition(":")[0] for tensor in getattr(model, "inputs", ())]
        self._names = names
        self._uses_names = len(names) > 1
        if options.get("features") is None and self._uses_names:
            options["features"] = names
        super().__init__(name, task, **options)
        self._model = model
        self._output: Output = output

    def call(self, table: DataTable) -> Any:
        if self._uses_names:
            inputs = choose_inputs(table, self.features)
            rows: Any = {
                name: array if array.ndim > 1 else array[:, None]
                for name, array in inputs.to_arrays().items()
            }
        else:
            shape = [size for size in self._model.input_shape[1:] if size is not None]
            name = self._names[0] if self._names else ""
            rows = self.to_matrix(self.choose_single_input(table, name, shape))
            if len(shape) > 1 and int(np.prod(shape)) == rows.shape[1]:
                rows = rows.reshape(len(rows), *shape)
        returned = self._model.predict(rows, batch_size=1024, verbose=0)
        return returned if self.task == "regression" else apply_activation(returned, self._output)


class OnnxPredictor(Predictor):
    """An ONNX Runtime session with one input matrix, or with one input per feature."""

    def __init__(
        self, session: Any, name: str, task: Task, *, output: Output, **options: Any
    ) -> None:
        self._inputs = session.get_inputs()
        if options.get("features") is None and len(self._inputs) > 1:
            options["features"] = [tensor.name for tensor in self._inputs]
        super().__init__(name, task, **options)
        self._session = session
        self._output: Output = output
        outputs = [tensor.name for tensor in session.get_outputs()]
        preferred = [item for item in outputs if "prob" in item.lower() or "score" in item.lower()]
        self._output_name = preferred[0] if preferred else outputs[-1]

    def call(self, table: DataTable) -> Any:
        if len(self._inputs) == 1:
            only = self._inputs[0]
            shape = [size for size in only.shape[1:] if isinstance(size, int)]
            matrix = self.to_matrix(self.choose_single_input(table, only.name, shape))
            if len(shape) > 1 and int(np.prod(shape)) == matrix.shape[1]:
                matrix = matrix.reshape(len(matrix), *shape)
            feed = {only.name: _convert_onnx(matrix, only.type)}
        else:
            inputs = choose_inputs(table, self.features)
            feed = {
                tensor.name: _convert_onnx(_as_matrix(inputs.get_column(tensor.name)), tensor.type)
                for tensor in self._inputs
            }
        returned = self._run(feed, len(table))
        if isinstance(returned, list) and returned and isinstance(returned[0], dict):
            keys = list(returned[0])  # the ZipMap operator returns a dictionary per row
            if self.class_names is None:
                self.class_names = tuple(str(key) for key in keys)
            returned = [[row[key] for key in keys] for row in returned]
        return returned if self.task == "regression" else apply_activation(returned, self._output)

    def _run(self, feed: dict[str, Any], row_count: int) -> Any:
        """Return the scores; a model with a fixed batch size is called with batches of it."""
        size = self._inputs[0].shape[0] if self._inputs[0].shape else None
        if not isinstance(size, int) or size < 1:
            return self._session.run([self._output_name], feed)[0]

        def call(rows: Any) -> Any:
            batch = {name: array[rows] for name, array in feed.items()}
            return self._session.run([self._output_name], batch)[0]

        return call_in_batches(call, np.arange(row_count), size, _join)


def _join(parts: list[Any]) -> Any:
    """Join arrays, or the lists of dictionaries that the ZipMap operator returns."""
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    return np.concatenate(parts)


def _as_matrix(column: DataColumn) -> Any:
    array = column.to_array()
    return array if array.ndim > 1 else array[:, None]


def _convert_onnx(array: Any, tensor_type: str) -> Any:
    kinds = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32,
             "bool": np.bool_, "float16": np.float16}  # fmt: skip
    kind = tensor_type.removeprefix("tensor(").removesuffix(")")
    if kind == "string":
        return array.astype(object)
    if kind not in kinds:
        raise ModelError(
            "models.onnx_input",
            "the ONNX model has an input of type {kind}, which is not supported",
            kind=kind,
        )
    return array.astype(kinds[kind])
