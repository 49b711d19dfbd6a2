"""TensorFlow Serving over gRPC: Classify, Regress and Predict.

The messages are declared in ``formats/schemas/serving.proto``, so that only ``grpcio`` is needed
and no TensorFlow package. Specification: ``tensorflow_serving/apis`` of TensorFlow Serving.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracklight.analysis.predictors.base import Predictor, Task, choose_inputs
from tracklight.analysis.predictors.http_models import (
    DEFAULT_TIMEOUT_S,
    ServingMethod,
    choose_output_name,
    order_classes,
)
from tracklight.analysis.tables.examples import encode_examples
from tracklight.analysis.tables.table import DataTable
from tracklight.errors import ModelError, import_optional
from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.formats.tensor import decode_tensor, encode_tensor
from tracklight.formats.wire_format import decode_text

_SERVICE = "/tensorflow.serving.PredictionService/"
_BATCH_ROWS = 5000
_MAX_MESSAGE_BYTES = 1 << 30
_MAX_DETAIL = 300


class ServingGrpcPredictor(Predictor):
    """A model behind TensorFlow Serving.

    Args:
        address: ``host:port``; ``http://`` before it is ignored.
        model: The name of the model.
        version: The version; None for the latest.
        signature: The signature; None for the default one.
        method: ``classify`` or ``regress`` send examples; ``predict`` sends tensors.
        input: For ``predict``: the input that gets serialized examples. None sends one tensor per
            feature instead.
        output: For ``predict``: the output with the scores; None chooses it by name.
        timeout_s: Deadline of each request.
    """

    def __init__(
        self,
        name: str,
        address: str,
        model: str,
        task: Task = "classification",
        *,
        version: int | None = None,
        signature: str | None = None,
        method: ServingMethod | None = None,
        input: str | None = None,
        output: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        **options: Any,
    ) -> None:
        super().__init__(name, task, **{"batch_rows": _BATCH_ROWS, **options})
        self._grpc = import_optional("grpc", "TensorFlow Serving over gRPC", "serving")
        self._address = address.partition("://")[2] or address
        self._method: ServingMethod = method or ("regress" if task == "regression" else "classify")
        self._spec = proto.ServingModelSpec(
            name=model.encode(), signature_name=(signature or "").encode()
        )
        if version is not None:
            self._spec.version.value = version
        self._input = input
        self._output = output
        self._timeout_s = timeout_s
        limits = [
            ("grpc.max_send_message_length", _MAX_MESSAGE_BYTES),
            ("grpc.max_receive_message_length", _MAX_MESSAGE_BYTES),
        ]
        self._channel = self._grpc.insecure_channel(self._address, options=limits)

    def close(self) -> None:
        self._channel.close()

    def call(self, table: DataTable) -> Any:
        inputs = choose_inputs(table, self.features)
        if self._method == "predict":
            return self._predict_tensors(inputs)
        examples = proto.ServingExampleList(examples=encode_examples(inputs))
        if self._method == "regress":
            request = proto.RegressionRequest(model_spec=self._spec)
            request.input.example_list.CopyFrom(examples)
            response = self._request("Regress", request, "RegressionResponse")
            return [regression.value for regression in response.result.regressions]
        request = proto.ClassificationRequest(model_spec=self._spec)
        request.input.example_list.CopyFrom(examples)
        response = self._request("Classify", request, "ClassificationResponse")
        rows = [
            [(decode_text(each.label), each.score) for each in row.classes]
            for row in response.result.classifications
        ]
        return order_classes(rows, self)

    def _predict_tensors(self, inputs: DataTable) -> Any:
        request = proto.PredictRequest(model_spec=self._spec)
        if self._input is not None:
            tensors: dict[str, Any] = {self._input: np.array(encode_examples(inputs), object)}
        else:
            tensors = {name: _to_tensor(array) for name, array in inputs.to_arrays().items()}
        for name, array in tensors.items():
            request.inputs.add(key=name.encode()).value.CopyFrom(encode_tensor(array))
        if self._output is not None:
            request.output_filter.append(self._output.encode())
        response = self._request("Predict", request, "PredictResponse")
        outputs = {decode_text(entry.key): entry.value for entry in response.outputs}
        name = self._output or choose_output_name(outputs)
        if name not in outputs:
            known = ", ".join(sorted(outputs)) or "none"
            raise ModelError(
                "models.no_output",
                'the model "{model}" has no output "{output}"; its outputs are {known}',
                model=self.name,
                output=name,
                known=known,
            )
        return decode_tensor(outputs[name])

    def _request(self, method: str, request: Message, response_name: str) -> Message:
        call = self._channel.unary_unary(
            _SERVICE + method,
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=lambda data: proto.parse(response_name, data),
        )
        try:
            return call(request, timeout=self._timeout_s)
        except self._grpc.RpcError as error:
            raise self._make_error(error) from None

    def _make_error(self, error: Any) -> ModelError:
        code = error.code().name
        if code == "UNAVAILABLE":
            return ModelError(
                "models.serving_unreachable",
                "cannot reach TensorFlow Serving at {address}; check that it is running and that "
                "the port is the gRPC port",
                address=self._address,
            )
        if code == "DEADLINE_EXCEEDED":
            return ModelError(
                "models.timeout",
                "{address} did not respond within {seconds:g} seconds",
                address=self._address,
                seconds=self._timeout_s,
            )
        return ModelError(
            "models.serving_refused",
            "TensorFlow Serving at {address} refused the request: {detail}",
            address=self._address,
            detail=str(error.details() or code).strip()[:_MAX_DETAIL],
        )


def _to_tensor(array: Any) -> Any:
    if array.dtype == object:
        return np.array(
            ["" if item is None else item for item in array.reshape(-1)], object
        ).reshape(array.shape)
    return array.astype(np.float32) if array.dtype == np.float64 else array
