"""Models behind servers: any JSON endpoint, TensorFlow Serving (REST and gRPC) and KServe v2.

Addresses come from users of the page, so `AllowedHosts` restricts them: without further hosts only
this machine can be reached. Redirects are not followed.

The messages of gRPC are declared in ``formats/schemas/serving.proto``, so that only ``grpcio`` is
needed and no TensorFlow package. Specification: ``tensorflow_serving/apis`` of TensorFlow Serving.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import json
import re
import socket
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import SplitResult, quote, urlsplit

import numpy as np

from tracklight.analysis.predictors import Predictor, Task, choose_inputs
from tracklight.analysis.tables import DataTable
from tracklight.analysis.tables.columns import DataColumn
from tracklight.analysis.tables.examples import encode_examples
from tracklight.errors import ModelError, UsageError, import_optional
from tracklight.formats import proto
from tracklight.formats.proto import Message, decode_text
from tracklight.formats.tensor import decode_tensor, encode_tensor
from tracklight.util.parsing import load_json

DEFAULT_TIMEOUT_S = 30.0
_JSON_BATCH_ROWS = 1000
_GRPC_BATCH_ROWS = 5000
_MAX_MESSAGE_BYTES = 1 << 30
#: How much of what a server says about an error is passed on.
_MAX_DETAIL_CHARS = 300

#: In a request template, replaced by the rows in this form.
_ROWS, _COLUMNS, _MATRIX = "$rows", "$columns", "$matrix"
_PATH_PART = re.compile(r"([^.\[\]]+)|\[(\d+|\*)\]")

_GRPC_SERVICE = "/tensorflow.serving.PredictionService/"
#: What TensorFlow Serving says about requests with other inputs than those of the signature.
_EXPECTED_INPUTS = re.compile(r"(?:Missing but required:|expected to be in the set) \{([^{}]*)\}")

ServingMethod = Literal["classify", "regress", "predict"]


class AllowedHosts:
    """Hosts to which requests may be sent: this machine, and those that were allowed.

    Args:
        hosts: Host names or addresses, optionally with a port; ``*`` allows every host.
    """

    def __init__(self, hosts: Sequence[str] = ()) -> None:
        self._hosts = frozenset(host.lower() for host in hosts)

    def check(self, address: str) -> None:
        """Raise UsageError if the host of an address such as ``host:8500`` is not allowed."""
        try:
            parts = urlsplit(address if "://" in address else f"//{address}")
            host, port = (parts.hostname or "").lower(), parts.port
        except ValueError:
            raise UsageError(
                "models.invalid_address", '"{address}" is not a valid address', address=address
            ) from None
        if not host:
            raise UsageError(
                "models.address_form",
                '"{address}" is not a valid address; write host:port',
                address=address,
            )
        if "*" in self._hosts or _is_loopback(host):
            return
        if host not in self._hosts and f"{host}:{port}" not in self._hosts:
            raise UsageError(
                "models.host_not_allowed",
                'requests to "{host}" are not allowed; start the server with --model-host {host}',
                host=host,
            )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class JsonEndpointPredictor(Predictor):
    """A JSON endpoint with a configurable request and response.

    Args:
        name: Shown to users.
        url: The address, which gets a POST request per batch.
        task: What the scores mean.
        template: The body as JSON. The strings ``"$rows"`` (a list of objects), ``"$columns"`` (an
            object of lists) and ``"$matrix"`` (a list of lists) are replaced by the rows.
        scores_path: Where the scores are in the response, as in ``predictions`` or
            ``outputs[*].probabilities``.
        headers: Additional headers.
        timeout_s: Limit on the time of each request.
        options: Further arguments of `Predictor`.

    Raises:
        UsageError: The template is not JSON, or has no place for the rows.

    Example:
        >>> model = tracklight.what_if.JsonEndpointPredictor(
        ...     "income", "http://localhost:8000/score", template='{"rows": "$rows"}',
        ...     scores_path="scores[*].probability")
    """

    def __init__(
        self,
        name: str,
        url: str,
        task: Task = "classification",
        *,
        template: str = '{"instances": "$rows"}',
        scores_path: str = "predictions",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        **options: Any,
    ) -> None:
        super().__init__(name, task, **{"batch_rows": _JSON_BATCH_ROWS, **options})
        self._url = url
        try:
            self._template = json.loads(template)
        except ValueError as error:
            raise UsageError(
                "models.template_json",
                "the request template is not valid JSON: {error}",
                error=error,
            ) from None
        if not _contains_rows(self._template):
            raise UsageError(
                "models.template_rows",
                'the request template must contain "{rows}", "{columns}" or "{matrix}"',
                rows=_ROWS,
                columns=_COLUMNS,
                matrix=_MATRIX,
            )
        self._path = parse_path(scores_path)
        self._headers = dict(headers or {})
        self._timeout_s = timeout_s

    def call(self, table: DataTable) -> Any:
        inputs = choose_inputs(table, self.features)
        body = _fill_template(self._template, inputs)
        response = post_json(self._url, body, self._timeout_s, self._headers)
        return extract_path(response, self._path, self._url)


class ServingRestPredictor(Predictor):
    """TensorFlow Serving over REST.

    Args:
        name: Shown to users.
        address: ``host:port`` or a URL, without the path of the model.
        model: The name of the model.
        task: What the scores mean.
        version: The version; None for the latest.
        signature: The signature; None for the default one.
        method: ``classify`` and ``regress`` send examples, ``predict`` sends instances.
        output: For ``predict``: the name of the output if there are several.
        timeout_s: Limit on the time of each request.
        options: Further arguments of `Predictor`.

    Example:
        >>> model = tracklight.what_if.ServingRestPredictor("v2", "localhost:8501", "income")
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
        method: ServingMethod = "predict",
        output: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        **options: Any,
    ) -> None:
        super().__init__(name, task, **{"batch_rows": _JSON_BATCH_ROWS, **options})
        self._url = f"{_make_model_url(address, 'v1', model, version)}:{method}"
        self._method: ServingMethod = method
        self._signature = signature
        self._output = output
        self._timeout_s = timeout_s

    def call(self, table: DataTable) -> Any:
        rows = _to_serving_rows(choose_inputs(table, self.features))
        body: dict[str, Any] = {"examples" if self._method != "predict" else "instances": rows}
        if self._signature:
            body["signature_name"] = self._signature
        response = post_json(self._url, body, self._timeout_s)
        results = _get_key(response, "predictions" if self._method == "predict" else "results",
                           self._url)  # fmt: skip
        if self._method == "classify":
            return order_classes(
                [[(str(label), float(score)) for label, score in row] for row in results], self
            )
        if self._method == "predict" and results and isinstance(results[0], dict):
            return [_get_key(row, self._choose_output(row), self._url) for row in results]
        return results

    def _choose_output(self, row: Mapping[str, Any]) -> str:
        if self._output is not None:
            return self._output
        return choose_output_name(row)


class ServingGrpcPredictor(Predictor):
    """TensorFlow Serving over gRPC.

    Args:
        name: Shown to users.
        address: ``host:port``; ``http://`` before it is ignored.
        model: The name of the model.
        task: What the scores mean.
        version: The version; None for the latest.
        signature: The signature; None for the default one.
        method: ``classify`` or ``regress`` send examples; ``predict`` sends tensors.
        input: For ``predict``: the input that gets serialized examples. None sends one tensor per
            feature, unless the server answers that it expects a single other input.
        output: For ``predict``: the output with the scores; None chooses it by name.
        timeout_s: Deadline of each request.
        options: Further arguments of `Predictor`.

    Raises:
        MissingDependencyError: The extra ``serving`` is not installed.

    Example:
        >>> model = tracklight.what_if.ServingGrpcPredictor("v2", "localhost:8500", "income")
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
        super().__init__(name, task, **{"batch_rows": _GRPC_BATCH_ROWS, **options})
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
            [(decode_text(class_.label), class_.score) for class_ in row.classes]
            for row in response.result.classifications
        ]
        return order_classes(rows, self)

    def _predict_tensors(self, inputs: DataTable) -> Any:
        try:
            return self._send_tensors(inputs)
        except ModelError as error:
            expected = None if self._input else _find_expected_input(str(error))
            if expected is None or expected in inputs.names:
                raise
            self._input = expected
            return self._send_tensors(inputs)

    def _send_tensors(self, inputs: DataTable) -> Any:
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
            _GRPC_SERVICE + method,
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
            return _make_timeout_error(self._address, self._timeout_s)
        return ModelError(
            "models.serving_refused",
            "TensorFlow Serving at {address} refused the request: {detail}",
            address=self._address,
            detail=str(error.details() or code).strip()[:_MAX_DETAIL_CHARS],
        )


def _find_expected_input(refusal: str) -> str | None:
    """Return the input that a server says to expect, if it is a single one."""
    match = _EXPECTED_INPUTS.search(refusal)
    return match[1].strip() if match and "," not in match[1] and match[1].strip() else None


def _to_tensor(array: Any) -> Any:
    if array.dtype == object:
        return np.array(
            ["" if item is None else item for item in array.reshape(-1)], object
        ).reshape(array.shape)
    return array.astype(np.float32) if array.dtype == np.float64 else array


class KservePredictor(Predictor):
    """A server of the KServe v2 (open inference) protocol, such as Triton or MLServer.

    Args:
        name: Shown to users.
        address: ``host:port`` or a URL, without the path of the model.
        model: The name of the model.
        task: What the scores mean.
        version: The version; None for the default one.
        input: The name of one input that gets all features as a matrix; None sends one input per
            feature.
        output: The name of the output; None for the first one with scores.
        timeout_s: Limit on the time of each request.
        options: Further arguments of `Predictor`.

    Example:
        >>> model = tracklight.what_if.KservePredictor("triton", "localhost:8000", "income")
    """

    def __init__(
        self,
        name: str,
        address: str,
        model: str,
        task: Task = "classification",
        *,
        version: str | None = None,
        input: str | None = None,
        output: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        **options: Any,
    ) -> None:
        super().__init__(name, task, **{"batch_rows": _JSON_BATCH_ROWS, **options})
        self._url = f"{_make_model_url(address, 'v2', model, version or None)}/infer"
        self._input = input
        self._output = output
        self._timeout_s = timeout_s

    def call(self, table: DataTable) -> Any:
        inputs = choose_inputs(table, self.features)
        if self._input is not None:
            matrix = self.to_matrix(inputs)
            tensors = [_make_tensor(self._input, matrix.astype(np.float64), "FP64")]
        else:
            tensors = [_make_column_tensor(name, c) for name, c in inputs.columns.items()]
        response = post_json(self._url, {"inputs": tensors}, self._timeout_s)
        outputs = {str(_get_key(o, "name", self._url)): o
                   for o in _get_key(response, "outputs", self._url)}  # fmt: skip
        name = self._output or choose_output_name(outputs)
        output = _get_key(outputs, name, self._url)
        data = np.asarray(_get_key(output, "data", self._url), np.float64)
        try:
            return data.reshape(_get_key(output, "shape", self._url))
        except (TypeError, ValueError):
            raise ModelError(
                "models.output_shape",
                'the output "{output}" of {url} does not fit its shape',
                output=name,
                url=self._url,
            ) from None


def _make_model_url(address: str, api: str, model: str, version: int | str | None) -> str:
    base = address if "://" in address else f"http://{address}"
    path = f"/{api}/models/{quote(model, safe='')}"
    path += "" if version is None else f"/versions/{quote(str(version), safe='')}"
    return base.rstrip("/") + path


def _make_timeout_error(address: str, timeout_s: float) -> ModelError:
    return ModelError(
        "models.timeout",
        "{address} did not respond within {seconds:g} seconds",
        address=address,
        seconds=timeout_s,
    )


def choose_output_name(outputs: Mapping[str, Any]) -> str:
    """Return the output that probably has the scores: by name, otherwise the first one."""
    for wanted in ("probabilities", "scores", "predictions", "outputs"):
        if wanted in outputs:
            return wanted
    return next(iter(outputs), "")


def order_classes(rows: Sequence[Sequence[tuple[str, float]]], predictor: Predictor) -> Any:
    """Return the scores of a Classify response, with one column per class.

    Responses list the classes of each row in any order. Labels that are empty or numbers are
    class indexes; others are indexes into the names of the predictor, or are collected as names.
    """
    labels = dict.fromkeys(label for row in rows for label, _ in row)
    width = max((len(row) for row in rows), default=0)
    if all(label == "" for label in labels):
        return [[score for _, score in row] for row in rows]
    if all(label.isdigit() for label in labels):
        index = {label: int(label) for label in labels}
    else:
        names = list(predictor.class_names or sorted(labels))
        names += [label for label in labels if label not in names]
        predictor.class_names = tuple(names)
        index = {label: number for number, label in enumerate(names)}
    width = max(width, max(index.values()) + 1)
    if width > 100_000:
        raise ModelError(
            "models.class_label",
            'the model "{model}" returned the class label {label}',
            model=predictor.name,
            label=width - 1,
        )
    scores = np.zeros((len(rows), width))
    for number, row in enumerate(rows):
        for label, score in row:
            scores[number, index[label]] = score
    return scores


# ---- JSON


def post_json(
    url: str, body: Any, timeout_s: float, headers: Mapping[str, str] | None = None
) -> Any:
    """Send a request and return the decoded response.

    Raises:
        ModelError: The server cannot be reached, is too slow, or responds with an error.
    """
    parts = _split_url(url)
    data = json.dumps(body, default=_encode_item).encode()
    all_headers = {"Content-Type": "application/json", **(headers or {})}
    status, content = _post(parts, data, all_headers, timeout_s)
    if status != 200:
        raise _make_status_error(parts.netloc, status, content)
    try:
        return load_json(content)
    except (ValueError, RecursionError):
        raise ModelError(
            "models.not_json", "{address} did not respond with JSON", address=parts.netloc
        ) from None


def _split_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname)
        _ = parts.port  # raises ValueError if it is not a number
    except ValueError:
        is_http = False
    if not is_http:
        raise UsageError(
            "models.not_http", '"{url}" is not an http:// or https:// address', url=url
        )
    return parts


def _post(
    parts: SplitResult, data: bytes, headers: Mapping[str, str], timeout_s: float
) -> tuple[int, bytes]:
    """Return the status and the body of the response, which must be complete in time."""
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=timeout_s)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    timeout_error = _make_timeout_error(parts.netloc, timeout_s)
    is_late = threading.Event()

    def close_late(open_socket: socket.socket) -> None:
        is_late.set()
        with contextlib.suppress(OSError):
            open_socket.shutdown(socket.SHUT_RDWR)

    timer: threading.Timer | None = None
    try:
        connection.connect()
        # The timeout of a socket applies to each read; a server that sends a byte now and then
        # would never reach it.
        timer = threading.Timer(timeout_s, close_late, [connection.sock])
        timer.daemon = True
        timer.start()
        connection.request("POST", path, data, headers)
        response = connection.getresponse()
        content = response.read(_MAX_MESSAGE_BYTES)
    except TimeoutError:
        raise timeout_error from None
    except (OSError, http.client.HTTPException) as error:
        raise (
            timeout_error if is_late.is_set() else _make_network_error(parts.netloc, error)
        ) from None
    finally:
        if timer is not None:
            timer.cancel()
        connection.close()
    if is_late.is_set():
        raise timeout_error
    return response.status, content


def _make_network_error(address: str, error: OSError | http.client.HTTPException) -> ModelError:
    if isinstance(error, http.client.HTTPException):
        return ModelError(
            "models.no_http_response",
            "{address} did not respond with HTTP; check that the port is the HTTP port",
            address=address,
        )
    reason = error.strerror or str(error) or type(error).__name__
    return ModelError(
        "models.unreachable", "cannot reach {address}: {reason}", address=address, reason=reason
    )


def _make_status_error(address: str, status: int, content: bytes) -> ModelError:
    message = _extract_message(content)
    if message:
        return ModelError(
            "models.status_message",
            "{address} responded with status {status}: {message}",
            address=address,
            status=status,
            message=message,
        )
    return ModelError(
        "models.status",
        "{address} responded with status {status}",
        address=address,
        status=status,
    )


def _extract_message(content: bytes) -> str:
    try:
        decoded = load_json(content)
        text = str(decoded.get("error") or decoded.get("detail") or "")
    except (ValueError, AttributeError, RecursionError):
        text = content.decode("utf-8", "replace").strip()
    return text[:_MAX_DETAIL_CHARS]


def _encode_item(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"b64": base64.b64encode(value).decode()}
    raise TypeError(type(value).__name__)


def _to_serving_rows(inputs: DataTable) -> list[Any]:
    rows = inputs.to_rows()
    present = [{name: value for name, value in row.items() if value is not None} for row in rows]
    # A model with one input takes plain values.
    return (
        [next(iter(row.values()), None) for row in present]
        if len(inputs.names) == 1
        else (list(present))
    )


def _contains_rows(template: Any) -> bool:
    if isinstance(template, dict):
        return any(_contains_rows(value) for value in template.values())
    if isinstance(template, list):
        return any(_contains_rows(value) for value in template)
    return template in (_ROWS, _COLUMNS, _MATRIX)


def _fill_template(template: Any, inputs: DataTable) -> Any:
    if isinstance(template, dict):
        return {key: _fill_template(value, inputs) for key, value in template.items()}
    if isinstance(template, list):
        return [_fill_template(value, inputs) for value in template]
    if template == _ROWS:
        return inputs.to_rows()
    if template == _COLUMNS:
        rows = inputs.to_rows()
        return {name: [row[name] for row in rows] for name in inputs.names}
    if template == _MATRIX:
        return inputs.to_matrix().tolist()
    return template


def parse_path(path: str) -> list[str | int]:
    """Parse a path such as ``outputs[*].scores``; an empty path is the whole response."""
    parts: list[str | int] = []
    position = 0
    while position < len(path):
        match = _PATH_PART.match(path, position)
        if match is None:
            raise UsageError(
                "models.invalid_path",
                '"{path}" is not a path; write predictions or outputs[*].scores',
                path=path,
            )
        name, index = match.groups()
        parts.append(name if name is not None else "*" if index == "*" else int(index))
        position = match.end()
        if path[position : position + 1] == ".":
            position += 1
    return parts


def extract_path(value: Any, path: Sequence[str | int], url: str) -> Any:
    """Return the part of a response that a path leads to."""
    for number, part in enumerate(path):
        if part == "*":
            if not isinstance(value, list):
                raise ModelError(
                    "models.no_list",
                    "the response of {url} has no list where the path has [*]",
                    url=url,
                )
            return [extract_path(item, path[number + 1 :], url) for item in value]
        if isinstance(part, int):
            if not isinstance(value, list) or part >= len(value):
                raise ModelError(
                    "models.no_item", "the response of {url} has no item {item}", url=url, item=part
                )
            value = value[part]
        else:
            value = _get_key(value, part, url)
    return value


def _get_key(value: Any, key: str, url: str) -> Any:
    if not isinstance(value, Mapping) or key not in value:
        known = ", ".join(list(map(str, value))[:5]) if isinstance(value, Mapping) else ""
        if not known:
            raise ModelError(
                "models.no_key", 'the response of {url} has no "{key}"', url=url, key=key
            )
        raise ModelError(
            "models.no_key_known",
            'the response of {url} has no "{key}" (it has {known})',
            url=url,
            key=key,
            known=known,
        )
    return value[key]


def _make_tensor(name: str, array: Any, datatype: str) -> dict[str, Any]:
    return {
        "name": name,
        "shape": list(array.shape),
        "datatype": datatype,
        "data": array.reshape(-1).tolist(),
    }


def _make_column_tensor(name: str, column: DataColumn) -> dict[str, Any]:
    array = column.to_array()
    array = array if array.ndim > 1 else array[:, None]
    datatype = {"integer": "INT64", "float": "FP64", "boolean": "BOOL"}.get(column.type, "BYTES")
    if column.is_numeric and array.dtype == np.float64:
        datatype = "FP64"
    return _make_tensor(name, array, datatype)
