"""`WitConfigBuilder` and `WitWidget` with the interface of the ``witwidget`` package.

Notebooks for the What-If Tool work after this change:

    from tracklight.what_if import WitConfigBuilder, WitWidget    # instead of witwidget.notebook…

Functions get what they get there: examples with all features, lists with all values except a target
at their end, and dictionaries without the target. Cloud AI Platform was discontinued; use
``set_custom_predict_fn`` with a function that calls the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np

from tracklight.analysis.predictors import Predictor, Task
from tracklight.analysis.predictors.python_models import CallablePredictor, convert_table
from tracklight.analysis.predictors.server_models import ServingGrpcPredictor
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.objects import TableKind, detect_table_kind
from tracklight.analysis.what_if.distances import DistanceFunction
from tracklight.errors import UsageError, import_optional
from tracklight.what_if.session import Session

_NO_AI_PLATFORM = (
    "Cloud AI Platform was discontinued; use set_custom_predict_fn with a function that calls the "
    "endpoint of the model, such as aiplatform.Endpoint(…).predict(instances).predictions"
)
_SPEC_BATCH_ROWS = 64


@dataclass
class _Model:
    """The settings of one of the two models."""

    name: str = ""
    address: str = ""
    version: str | None = None
    signature: str | None = None
    function: Callable[[Any], Any] | None = None
    estimator: Any = None
    feature_spec: Any = None
    has_predict_api: bool = False
    input_tensor: str = "examples"
    output_tensor: str | None = None


class WitConfigBuilder:
    """Collects data and models for a `WitWidget`. All setters return the builder.

    Args:
        examples: ``tf.Example`` messages, dictionaries, or lists of values.
        feature_names: The names of the features, if the examples are lists.

    Example:
        >>> builder = tracklight.what_if.WitConfigBuilder([[25, 0.1], [61, 0.9]], ["age", "income"])
        >>> builder = builder.set_custom_predict_fn(lambda rows: [row[1] for row in rows])
    """

    def __init__(self, examples: Sequence[Any], feature_names: Sequence[str] | None = None) -> None:
        self._set_examples(examples, feature_names)
        self._task: Task = "classification"
        self._target: str | int | None = None
        self._vocabulary: list[str] | None = None
        self._first, self._second = _Model(), _Model()
        self._distance: Callable[..., Any] | None = None

    def _set_examples(
        self, examples: Sequence[Any], feature_names: Sequence[str] | None = None
    ) -> None:
        self._examples = list(examples)
        self._feature_names = None if feature_names is None else [str(n) for n in feature_names]
        if self._is_list:
            # Values without a name are numbered, as in the What-If Tool.
            names = self._feature_names or []
            width = max(len(example) for example in self._examples)
            self._feature_names = [*names[:width], *map(str, range(len(names), width))]

    def set_examples(
        self, examples: Sequence[Any], feature_names: Sequence[str] | None = None
    ) -> WitConfigBuilder:
        """Set other examples."""
        self._set_examples(examples, feature_names)
        return self

    def build(self) -> dict[str, Any]:
        """Return the settings as a dictionary."""
        return {
            "model_type": self._task,
            "target_feature": self._target,
            "label_vocab": self._vocabulary,
            "model_name": self._first.name,
            "are_sequence_examples": type(self._examples[0]).__name__ == "SequenceExample"
            if self._examples
            else False,
        }

    def make_session(self) -> Session:
        """Return a session with the data and models.

        Raises:
            UsageError: The examples or a model are invalid.
        """
        kind = detect_table_kind(self._examples)
        label = self._target
        if isinstance(label, int) and self._feature_names is not None:
            label = self._feature_names[label]
        session = Session(
            self._examples,
            label=None if label is None else str(label),
            class_names=self._vocabulary,
            task=self._task,
            names=self._feature_names,
        )
        names = session.workspace.table.names
        if kind == "rows" and (not self._is_list or names[-1:] == (label,)):
            names = tuple(name for name in names if name != label)
        shown_names = self._list_model_names()
        for settings, shown_name in zip((self._first, self._second), shown_names, strict=True):
            predictor = self._make_predictor(settings, kind, names, shown_name)
            if predictor is not None:
                session.workspace.add_model(predictor)
        if self._distance is not None:
            session.workspace.distance = self._make_distance(self._distance, kind)
        return session

    @property
    def feature_names(self) -> list[str] | None:
        """The names of the values of examples that are lists."""
        return self._feature_names

    @property
    def _is_list(self) -> bool:
        """Whether examples are lists of values."""
        return bool(self._examples) and isinstance(self._examples[0], (list, tuple, np.ndarray))

    def _make_distance(self, distance: Callable[..., Any], kind: TableKind) -> DistanceFunction:
        """Return a function that passes examples of the kind that the builder got."""
        convert: Callable[[DataTable], Any] = partial(convert_table, kind=kind)
        if self._is_list:
            convert = _convert_to_lists

        def compare(table: DataTable, row: int) -> Any:
            examples = convert(table)
            return distance(examples[row], examples, {})

        return compare

    def _list_model_names(self) -> tuple[str, str]:
        """Return the shown names of the models: with the version or number if they are equal."""
        first, second = self._first, self._second
        names = first.name or "model 1", second.name or "model 2"
        has_second = second.function or second.estimator is not None or second.address
        if names[0] != names[1] or not has_second:
            return names
        versions = first.version, second.version
        if None not in versions and versions[0] != versions[1]:
            first_label, second_label = (f"v{v}" if v.isdecimal() else v for v in versions if v)
            return f"{names[0]} {first_label}", f"{names[1]} {second_label}"
        return f"{names[0]} 1", f"{names[1]} 2"

    def _make_predictor(
        self, settings: _Model, kind: TableKind, features: Sequence[str], name: str
    ) -> Predictor | None:
        if settings.estimator is not None:
            estimate = partial(_predict_with_spec, settings.estimator, settings.feature_spec)
            return CallablePredictor(
                estimate, name, self._task, input="examples", features=features
            )
        if settings.function is not None:
            function = _pass_lists(settings.function) if self._is_list else settings.function
            return CallablePredictor(function, name, self._task, input=kind, features=features)
        if not settings.address:
            return None
        version = _parse_version(settings.version)
        if settings.has_predict_api:
            return ServingGrpcPredictor(
                name,
                settings.address,
                settings.name,
                self._task,
                version=version,
                signature=settings.signature,
                method="predict",
                input=settings.input_tensor,
                output=settings.output_tensor,
            )
        return ServingGrpcPredictor(
            name,
            settings.address,
            settings.name,
            self._task,
            version=version,
            signature=settings.signature,
        )

    def set_model_type(self, model: Literal["classification", "regression"]) -> WitConfigBuilder:
        """Set the task of the models.

        Raises:
            UsageError: It is neither ``"classification"`` nor ``"regression"``.
        """
        if model not in ("classification", "regression"):
            raise UsageError(f'"{model}" is not a model type; use classification or regression')
        self._task = model
        return self

    def set_target_feature(self, target: str | int) -> WitConfigBuilder:
        """Set the feature with the true label, by name or by its place in lists."""
        self._target = target
        return self

    def set_label_vocab(self, vocab: Sequence[str]) -> WitConfigBuilder:
        """Set the names of the classes."""
        self._vocabulary = [str(name) for name in vocab]
        return self

    def set_custom_predict_fn(self, predict_fn: Callable[[Any], Any]) -> WitConfigBuilder:
        """Set a function from a list of examples to scores, or to a dictionary with them."""
        self._first.function, self._first.estimator = predict_fn, None
        return self

    def set_compare_custom_predict_fn(self, predict_fn: Callable[[Any], Any]) -> WitConfigBuilder:
        """Set the function of the second model."""
        self._second.function, self._second.estimator = predict_fn, None
        return self

    def set_inference_address(self, address: str) -> WitConfigBuilder:
        """Set the gRPC address of TensorFlow Serving."""
        self._first.address = address
        return self

    def set_model_name(self, name: str) -> WitConfigBuilder:
        """Set the name of the model."""
        self._first.name = name
        return self

    def has_model_name(self) -> bool:
        """Return whether the model has a name."""
        return bool(self._first.name)

    def has_compare_model_name(self) -> bool:
        """Return whether the second model has a name."""
        return bool(self._second.name)

    def set_model_version(self, version: int | str) -> WitConfigBuilder:
        """Set the version of the model: a number for TensorFlow Serving, or any text to show."""
        self._first.version = str(version)
        return self

    def set_model_signature(self, signature: str) -> WitConfigBuilder:
        """Set the signature of the model."""
        self._first.signature = signature
        return self

    def set_compare_inference_address(self, address: str) -> WitConfigBuilder:
        """Set the gRPC address of the second model."""
        self._second.address = address
        return self

    def set_compare_model_name(self, name: str) -> WitConfigBuilder:
        """Set the name of the second model."""
        self._second.name = name
        return self

    def set_compare_model_version(self, version: int | str) -> WitConfigBuilder:
        """Set the version of the second model."""
        self._second.version = str(version)
        return self

    def set_compare_model_signature(self, signature: str) -> WitConfigBuilder:
        """Set the signature of the second model."""
        self._second.signature = signature
        return self

    def set_uses_predict_api(self, predict: bool) -> WitConfigBuilder:
        """Choose the Predict method of TensorFlow Serving."""
        self._first.has_predict_api = self._second.has_predict_api = predict
        return self

    def set_predict_input_tensor(self, tensor: str) -> WitConfigBuilder:
        """Set the input tensor of Predict, ``examples`` by default."""
        self._first.input_tensor = self._second.input_tensor = tensor
        return self

    def set_predict_output_tensor(self, tensor: str) -> WitConfigBuilder:
        """Set the output tensor of Predict; by default the one with the name of scores."""
        self._first.output_tensor = self._second.output_tensor = tensor
        return self

    def set_multi_class(self, multiclass: bool) -> WitConfigBuilder:
        """Accepted for compatibility; the number of classes is found from the scores."""
        return self

    def set_max_classes_to_display(self, max_classes: int) -> WitConfigBuilder:
        """Accepted for compatibility; the page shows five classes, and all on request."""
        return self

    def set_custom_distance_fn(self, distance_fn: Callable[..., Any]) -> WitConfigBuilder:
        """Set the function that compares examples, offered as *Custom* in the page.

        Args:
            distance_fn: Called with an example, a list of examples and a dictionary; returns the
                distance to each of them.
        """
        self._distance = distance_fn
        return self

    def set_estimator_and_feature_spec(self, estimator: Any, feature_spec: Any) -> WitConfigBuilder:
        """Set a model that gets parsed examples.

        Args:
            estimator: An object with ``predict(input_fn)``, as TF estimators have it, or a Keras
                model with one input per feature.
            feature_spec: How TensorFlow parses the examples, as for ``tf.io.parse_example``.
        """
        self._first.estimator, self._first.feature_spec = estimator, feature_spec
        return self

    def set_compare_estimator_and_feature_spec(
        self, estimator: Any, feature_spec: Any
    ) -> WitConfigBuilder:
        """Set the second model that gets parsed examples."""
        self._second.estimator, self._second.feature_spec = estimator, feature_spec
        return self

    def set_ai_platform_model(self, *arguments: Any, **options: Any) -> WitConfigBuilder:
        """Not supported: the service was discontinued.

        Raises:
            UsageError: Always.
        """
        raise UsageError(_NO_AI_PLATFORM)

    def set_compare_ai_platform_model(self, *arguments: Any, **options: Any) -> WitConfigBuilder:
        """Not supported: the service was discontinued.

        Raises:
            UsageError: Always.
        """
        raise UsageError(_NO_AI_PLATFORM)


class WitWidget:
    """Shows the page for a configuration below the cell.

    Args:
        config_builder: The data and models.
        height: Height in pixels.
        delay_rendering: Show nothing before `render` is called.

    Attributes:
        session: The `Session` behind the page.

    Example:
        >>> config = tracklight.what_if.WitConfigBuilder(examples, ["age", "income"])
        >>> widget = tracklight.what_if.WitWidget(config.set_custom_predict_fn(predict))
    """

    def __init__(
        self, config_builder: WitConfigBuilder, height: int = 1000, delay_rendering: bool = False
    ) -> None:
        self._builder = config_builder
        self.session = config_builder.make_session()
        self._height = height
        if not delay_rendering:
            self.render()

    def set_examples(self, examples: Sequence[Any]) -> None:
        """Show other examples; the models are called with them."""
        self._builder.set_examples(examples, self._builder.feature_names)
        self.session = self._builder.make_session()
        self.render()

    def render(self) -> None:
        """Show the page."""
        import tracklight

        tracklight.notebook.show_session(self.session.workspace, self._height)


def _parse_version(text: str | None) -> int | None:
    """Return the version to request from TensorFlow Serving; None for the latest one."""
    if not text:
        return None
    if not text.isdecimal():
        raise UsageError(f'"{text}" is not a version of a served model; versions are numbers')
    return int(text)


def _predict_with_spec(model: Any, feature_spec: Any, examples: Sequence[Any]) -> Any:
    """Parse examples with TensorFlow, and return the scores of an estimator or a Keras model."""
    tf = import_optional("tensorflow", "a feature spec", "tensorflow")
    serialized = [example.SerializeToString() for example in examples]

    def read() -> Any:
        batches = tf.data.Dataset.from_tensor_slices(serialized).batch(_SPEC_BATCH_ROWS)
        return batches.map(lambda batch: tf.io.parse_example(batch, feature_spec))

    if hasattr(model, "predict_on_batch"):
        inputs = {str(tensor.name).partition(":")[0] for tensor in model.inputs}
        parts = []
        for parsed in read():
            rows = {
                name: values if values.ndim > 1 else values[:, None]
                for name, values in parsed.items()
                if name in inputs
            }
            parts.append(np.asarray(model.predict_on_batch(rows)))
        return np.concatenate(parts)
    found = []
    for prediction in model.predict(read):
        keys = list(prediction)
        key = keys[0] if len(keys) == 1 else "probabilities"
        found.append(prediction[key if key in prediction else "predictions"])
    return np.array(found)


def _pass_lists(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(rows: Sequence[dict[str, Any]]) -> Any:
        return function([list(row.values()) for row in rows])

    return call


def _convert_to_lists(table: DataTable) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_rows()]
