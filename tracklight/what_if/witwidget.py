"""`WitConfigBuilder` and `WitWidget` with the interface of the ``witwidget`` package.

Notebooks for the What-If Tool work after this change:

    from tracklight.what_if import WitConfigBuilder, WitWidget    # instead of witwidget.notebook…

Cloud AI Platform and TF Estimators are not supported; both were discontinued. Use
``set_custom_predict_fn`` with a function that calls the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from tracklight.analysis.predictors.base import Predictor, Task
from tracklight.analysis.predictors.grpc_models import ServingGrpcPredictor
from tracklight.analysis.predictors.python_models import CallablePredictor, convert_table
from tracklight.analysis.tables.objects import TableKind, find_table_kind
from tracklight.analysis.tables.table import DataTable
from tracklight.analysis.what_if.distances import DistanceFunction
from tracklight.errors import UsageError
from tracklight.what_if.session import Session


@dataclass
class _Model:
    """The settings of one of the two models."""

    name: str = ""
    address: str = ""
    version: int | None = None
    signature: str | None = None
    function: Callable[[Any], Any] | None = None
    has_predict_api: bool = False
    input_tensor: str = "examples"
    output_tensor: str = "probabilities"


class WitConfigBuilder:
    """Collects data and models for a `WitWidget`. All setters return the builder.

    Args:
        examples: ``tf.Example`` messages, dictionaries, or lists of values.
        feature_names: The names of the features, if the examples are lists.
    """

    def __init__(self, examples: Sequence[Any], feature_names: Sequence[str] | None = None) -> None:
        self._examples = list(examples)
        self._feature_names = feature_names
        self._task: Task = "classification"
        self._target: str | None = None
        self._vocabulary: list[str] | None = None
        self._first, self._second = _Model(), _Model()
        self._distance: Callable[..., Any] | None = None

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
        kind = find_table_kind(self._examples)
        excluded = self._target
        session = Session(
            self._examples,
            label=excluded,
            class_names=self._vocabulary,
            task=self._task,
            names=self._feature_names,
        )
        for number, settings in enumerate((self._first, self._second), 1):
            predictor = self._make_predictor(settings, kind, number)
            if predictor is not None:
                session.workspace.add_model(predictor)
        if self._distance is not None:
            session.workspace.distance = self._make_distance(self._distance, kind)
        return session

    def _make_distance(self, distance: Callable[..., Any], kind: TableKind) -> DistanceFunction:
        """Return a function that passes examples of the kind that the builder got."""
        convert: Callable[[DataTable], Any] = partial(convert_table, kind=kind)
        if kind == "rows" and not isinstance(self._examples[0], dict):
            convert = _convert_to_lists

        def compare(table: DataTable, row: int) -> Any:
            examples = convert(table)
            return distance(examples[row], examples, {})

        return compare

    def _make_predictor(self, settings: _Model, kind: TableKind, number: int) -> Predictor | None:
        name = settings.name or f"model {number}"
        if settings.function is not None:
            function = settings.function
            if kind == "rows" and not isinstance(self._examples[0], dict):
                function = _pass_lists(function)
            return CallablePredictor(function, name, self._task, input=kind)
        if not settings.address:
            return None
        if settings.has_predict_api:
            return ServingGrpcPredictor(
                name,
                settings.address,
                settings.name,
                self._task,
                version=settings.version,
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
            version=settings.version,
            signature=settings.signature,
        )

    def set_model_type(self, model: Literal["classification", "regression"]) -> WitConfigBuilder:
        """Set the task of the models."""
        if model not in ("classification", "regression"):
            raise UsageError(f'"{model}" is not a model type; use classification or regression')
        self._task = model
        return self

    def set_target_feature(self, target: str) -> WitConfigBuilder:
        """Set the feature with the true label."""
        self._target = target
        return self

    def set_label_vocab(self, vocab: Sequence[str]) -> WitConfigBuilder:
        """Set the names of the classes."""
        self._vocabulary = [str(name) for name in vocab]
        return self

    def set_custom_predict_fn(self, predict_fn: Callable[[Any], Any]) -> WitConfigBuilder:
        """Set a function from a list of examples to scores, or to a dictionary with them."""
        self._first.function = predict_fn
        return self

    def set_compare_custom_predict_fn(self, predict_fn: Callable[[Any], Any]) -> WitConfigBuilder:
        """Set the function of the second model."""
        self._second.function = predict_fn
        return self

    def set_inference_address(self, address: str) -> WitConfigBuilder:
        """Set the gRPC address of TensorFlow Serving."""
        self._first.address = address
        return self

    def set_model_name(self, name: str) -> WitConfigBuilder:
        """Set the name of the model."""
        self._first.name = name
        return self

    def set_model_version(self, version: int | str) -> WitConfigBuilder:
        """Set the version of the model."""
        self._first.version = int(version)
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
        self._second.version = int(version)
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
        """Set the input tensor of Predict."""
        self._first.input_tensor = self._second.input_tensor = tensor
        return self

    def set_predict_output_tensor(self, tensor: str) -> WitConfigBuilder:
        """Set the output tensor of Predict."""
        self._first.output_tensor = self._second.output_tensor = tensor
        return self

    def set_multi_class(self, multiclass: bool) -> WitConfigBuilder:
        """Accepted for compatibility; the number of classes is found from the scores."""
        return self

    def set_max_classes_to_display(self, max_classes: int) -> WitConfigBuilder:
        """Accepted for compatibility; the page shows all classes."""
        return self

    def set_custom_distance_fn(self, distance_fn: Callable[..., Any]) -> WitConfigBuilder:
        """Set the function that compares examples, offered as *Custom* in the page.

        Args:
            distance_fn: Called with an example, a list of examples and a dictionary; returns the
                distance to each of them.
        """
        self._distance = distance_fn
        return self

    def set_ai_platform_model(self, *arguments: Any, **options: Any) -> WitConfigBuilder:
        """Not supported: the service was discontinued."""
        raise UsageError("Cloud AI Platform is not supported; use set_custom_predict_fn")

    def set_estimator_and_feature_spec(self, *arguments: Any) -> WitConfigBuilder:
        """Not supported: TensorFlow removed estimators."""
        raise UsageError("TF estimators are not supported; use set_custom_predict_fn")


class WitWidget:
    """Shows the page for a configuration below the cell.

    Args:
        config_builder: The data and models.
        height: Height in pixels.
        delay_rendering: Show nothing before `render` is called.

    Attributes:
        session: The `Session` behind the page.
    """

    def __init__(
        self, config_builder: WitConfigBuilder, height: int = 1000, delay_rendering: bool = False
    ) -> None:
        self.session = config_builder.make_session()
        self._height = height
        if not delay_rendering:
            self.render()

    def render(self) -> None:
        """Show the page."""
        import tracklight

        tracklight.notebook.show_session(self.session.workspace, self._height)


def _pass_lists(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(rows: Sequence[dict[str, Any]]) -> Any:
        return function([list(row.values()) for row in rows])

    return call


def _convert_to_lists(table: DataTable) -> list[list[Any]]:
    return [list(row.values()) for row in table.to_rows()]
