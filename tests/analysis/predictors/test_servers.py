"""Models behind servers: JSON endpoints, KServe, and TensorFlow Serving over REST and gRPC."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.serving_process import compute_expected, start_serving
from tracklight.analysis.predictors.server_models import (
    AllowedHosts,
    JsonEndpointPredictor,
    KservePredictor,
    ServingGrpcPredictor,
    ServingRestPredictor,
    extract_path,
    parse_path,
)
from tracklight.analysis.tables.objects import to_table
from tracklight.errors import ModelError, UsageError
from tracklight.formats import proto
from tracklight.formats.tensor import encode_tensor

RANDOM = np.random.default_rng(0)
A, B = RANDOM.normal(size=50), RANDOM.normal(size=50)
TABLE = to_table({"a": A, "b": B, "name": ["x"] * 50})


class Handler(BaseHTTPRequestHandler):
    """Responds with the sum of the features, in the format that the path says."""

    received: ClassVar[list[tuple[str, Any]]] = []
    responses: ClassVar[dict[str, tuple[int, Any]]] = {}
    """Responses to other paths, with their status."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.received.append((self.path, body))
        status, response = self._respond(body)
        data = response if isinstance(response, bytes) else json.dumps(response).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _respond(self, body: Any) -> tuple[int, Any]:
        if self.path in self.responses:
            return self.responses[self.path]
        if self.path == "/error":
            return 400, {"error": "Input tensor has wrong rank"}
        if self.path == "/text":
            return 200, b"<html>"
        if self.path == "/custom":
            rows = body["data"]["rows"]
            return 200, {"out": [{"p": row["a"] * 0 + 0.25} for row in rows]}
        if self.path.startswith("/v2/"):
            columns = {each["name"]: each for each in body["inputs"]}
            assert columns["a"]["datatype"] == "FP64" and columns["name"]["datatype"] == "BYTES"
            count = columns["a"]["shape"][0]
            data = [0.5] * (2 * count)
            return 200, {"outputs": [{"name": "scores", "shape": [count, 2], "data": data}]}
        if self.path.endswith(":classify"):
            results = [[["dog", 0.3], ["cat", 0.7]] for _ in body["examples"]]
            return 200, {"results": results}
        if self.path.endswith(":regress"):
            return 200, {"results": [row["a"] for row in body["examples"]]}
        return 200, {"predictions": [{"probabilities": [0.1, 0.9]} for _ in body["instances"]]}

    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def http_address() -> Iterator[str]:
    server = ThreadingHTTPServer(("localhost", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"localhost:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_json_endpoint_with_template_and_path(http_address: str) -> None:
    predictor = JsonEndpointPredictor(
        "m",
        f"http://{http_address}/custom",
        template='{"data": {"rows": "$rows"}, "version": 3}',
        scores_path="out[*].p",
        batch_rows=20,
    )
    Handler.received.clear()
    assert predictor.predict(TABLE).scores[:, 1].tolist() == [0.25] * 50
    assert [len(body["data"]["rows"]) for _, body in Handler.received] == [20, 20, 10]
    assert Handler.received[0][1]["version"] == 3


def test_kserve(http_address: str) -> None:
    predictor = KservePredictor("m", http_address, "census", version="2")
    Handler.received.clear()
    assert predictor.predict(TABLE).scores.tolist() == [[0.5, 0.5]] * 50
    assert Handler.received[0][0] == "/v2/models/census/versions/2/infer"


def test_tensorflow_serving_rest(http_address: str) -> None:
    predict = ServingRestPredictor("m", http_address, "a b", version=7)
    Handler.received.clear()
    assert predict.predict(TABLE).scores.tolist() == [[0.1, 0.9]] * 50
    assert Handler.received[0][0] == "/v1/models/a%20b/versions/7:predict"
    classify = ServingRestPredictor("m", http_address, "m", method="classify")
    assert classify.predict(TABLE).scores.tolist() == [[0.7, 0.3]] * 50
    assert classify.class_names == ("cat", "dog")
    regress = ServingRestPredictor("m", http_address, "m", "regression", method="regress")
    assert np.allclose(regress.predict(TABLE).scores, A)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/error", "responded with status 400: Input tensor has wrong rank"),
        ("/text", "did not respond with JSON"),
        ("/custom2", r'has no "wrong" \(it has predictions\)'),
    ],
)
def test_errors_of_servers_are_sentences(http_address: str, path: str, message: str) -> None:
    predictor = JsonEndpointPredictor("m", f"http://{http_address}{path}", scores_path="wrong")
    with pytest.raises(ModelError, match=message):
        predictor.predict(TABLE)


@pytest.mark.parametrize(
    ("status", "body", "message"),
    [
        (500, b"", "responded with status 500$"),
        (500, {"error": ""}, "responded with status 500$"),
        (503, b" warming up\n", "responded with status 503: warming up$"),
        (422, {"detail": "bad row"}, "responded with status 422: bad row$"),
        (400, [1], r"responded with status 400: \[1\]$"),
        (200, {}, 'has no "predictions"$'),
        (200, [1], 'has no "predictions"$'),
        (200, {"predictions": {"p": 1}}, r"has no list where the path has \[\*\]"),
        (200, {"predictions": [[0.5]] * 50}, "has no item 1"),
    ],
)
def test_unusual_responses_are_sentences(
    http_address: str, monkeypatch: pytest.MonkeyPatch, status: int, body: Any, message: str
) -> None:
    monkeypatch.setitem(Handler.responses, "/unusual?a=1", (status, body))
    url = f"http://{http_address}/unusual?a=1"
    predictor = JsonEndpointPredictor("m", url, scores_path="predictions[*][1]")
    with pytest.raises(ModelError, match=message):
        predictor.predict(TABLE)


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('["$rows", 3]', [[{"a": 1.0, "t": "x"}, {"a": 2.0, "t": "y"}], 3]),
        ('{"data": "$columns"}', {"data": {"a": [1.0, 2.0], "t": ["x", "y"]}}),
    ],
)
def test_templates_with_rows_or_columns(
    http_address: str, monkeypatch: pytest.MonkeyPatch, template: str, expected: Any
) -> None:
    monkeypatch.setitem(Handler.responses, "/", (200, [0.25, 0.5]))
    Handler.received.clear()
    predictor = JsonEndpointPredictor("m", f"http://{http_address}", template=template,
                                      scores_path="")  # fmt: skip
    scores = predictor.predict(to_table({"a": [1.0, 2.0], "t": ["x", "y"]})).scores
    assert scores[:, 1].tolist() == [0.25, 0.5]
    assert Handler.received == [("/", expected)]


def test_template_with_a_matrix(http_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(Handler.responses, "/", (200, {"predictions": [3, 4]}))
    Handler.received.clear()
    predictor = JsonEndpointPredictor("m", f"http://{http_address}", "regression",
                                      template='{"x": "$matrix"}')  # fmt: skip
    values = predictor.predict(to_table({"a": [1, 2], "b": [[3, 4], [5, 6]]})).scores
    assert values.tolist() == [3, 4]
    assert Handler.received[0][1] == {"x": [[1, 3, 4], [2, 5, 6]]}


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{", "the request template is not valid JSON: "),
        ('{"a": ["rows"]}', 'the request template must contain "$rows", "$columns" or "$matrix"'),
    ],
)
def test_invalid_templates(template: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        JsonEndpointPredictor("m", "http://localhost", template=template)
    assert str(error.value).startswith(message)


@pytest.mark.parametrize(
    "url", ["ftp://localhost/x", "http:///x", "localhost/x", "http://[::1/x", "http://localhost:x/"]
)
def test_addresses_must_be_http(url: str) -> None:
    with pytest.raises(UsageError, match=f'"{re.escape(url)}" is not an http:// or https://'):
        JsonEndpointPredictor("m", url).predict(TABLE)


def test_rest_requests_have_signature_output_and_encoded_bytes(
    http_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = "/v1/models/m:predict"
    monkeypatch.setitem(Handler.responses, path, (200, {"predictions": [{"x": [0.5], "y": [1]}]}))
    table = to_table({"data": [b"\xff\0"], "n": [1]})
    predictor = ServingRestPredictor("m", http_address, "m", signature="serve", output="x")
    Handler.received.clear()
    assert predictor.predict(table).scores[:, 1].tolist() == [0.5]
    assert Handler.received[0][1] == {
        "instances": [{"data": {"b64": "/wA="}, "n": 1}],
        "signature_name": "serve",
    }
    first = ServingRestPredictor("m", http_address, "m")
    assert first.predict(table).scores[:, 1].tolist() == [0.5]
    wrong = ServingRestPredictor("m", http_address, "m", output="z")
    with pytest.raises(ModelError, match=r'has no "z" \(it has x, y\)'):
        wrong.predict(table)


@pytest.mark.parametrize(
    ("row", "expected", "names"),
    [
        ([["", 0.25], ["", 0.75]], [0.25, 0.75], None),
        ([["2", 0.25], ["0", 0.75]], [0.75, 0, 0.25], None),
        ([["dog", 0.25], ["cat", 0.75]], [0.75, 0.25], ("cat", "dog")),
    ],
)
def test_labels_of_classify_responses(
    http_address: str, monkeypatch: pytest.MonkeyPatch, row: Any, expected: Any, names: Any
) -> None:
    response = (200, {"results": [row, row]})
    monkeypatch.setitem(Handler.responses, "/v1/models/m:classify", response)
    predictor = ServingRestPredictor("m", http_address, "m", method="classify")
    assert predictor.predict(to_table({"a": [1, 2]})).scores.tolist() == [expected] * 2
    assert predictor.class_names == names


def test_labels_that_are_huge_numbers_are_no_classes(
    http_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    response = (200, {"results": [[["999999999", 1.0]]]})
    monkeypatch.setitem(Handler.responses, "/v1/models/m:classify", response)
    predictor = ServingRestPredictor("m", http_address, "m", method="classify")
    with pytest.raises(ModelError, match='"m" returned the class label 999999999'):
        predictor.predict(to_table({"a": [1]}))


def test_kserve_with_one_input(http_address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    output = {"name": "out", "shape": [2, 2], "data": [0.25, 0.75, 0.5, 0.5]}
    monkeypatch.setitem(Handler.responses, "/v2/models/m/infer", (200, {"outputs": [output]}))
    Handler.received.clear()
    predictor = KservePredictor("m", http_address, "m", input="x")
    assert predictor.predict(to_table({"a": [1, 2], "b": [3.5, 4]})).scores.tolist() == [
        [0.25, 0.75], [0.5, 0.5],
    ]  # fmt: skip
    (tensor,) = Handler.received[0][1]["inputs"]
    assert tensor == {
        "name": "x", "shape": [2, 2], "datatype": "FP64", "data": [1.0, 3.5, 2.0, 4.0],
    }  # fmt: skip


@pytest.mark.parametrize("shape", [[3, 2], "wide", [None]])
def test_kserve_output_that_does_not_fit_its_shape(
    http_address: str, monkeypatch: pytest.MonkeyPatch, shape: Any
) -> None:
    output = {"name": "scores", "shape": shape, "data": [0.5, 0.5]}
    monkeypatch.setitem(Handler.responses, "/v2/models/m/infer", (200, {"outputs": [output]}))
    predictor = KservePredictor("m", http_address, "m")
    with pytest.raises(ModelError, match=r'the output "scores" of http://.*/infer does not fit'):
        predictor.predict(to_table({"a": [1]}))


def test_server_that_is_down_or_silent() -> None:
    with socket.create_server(("localhost", 0)) as listener:
        port = listener.getsockname()[1]
        silent = JsonEndpointPredictor("m", f"http://localhost:{port}", timeout_s=0.2)
        with pytest.raises(ModelError, match=r"did not respond within 0\.2 seconds"):
            silent.predict(TABLE)
    with socket.socket() as unused:  # bound and never listening
        unused.bind(("localhost", 0))
        port = unused.getsockname()[1]
        down = JsonEndpointPredictor("m", f"http://localhost:{port}")
        with pytest.raises(ModelError, match=f"cannot reach localhost:{port}"):
            down.predict(TABLE)


def test_server_that_does_not_speak_http() -> None:
    def respond(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"\x00\x00\x18\x04\x00 settings of HTTP/2\r\n")
            connection.recv(1 << 16)

    with socket.create_server(("localhost", 0)) as listener:
        thread = threading.Thread(target=respond, args=[listener])
        thread.start()
        address = f"localhost:{listener.getsockname()[1]}"
        with pytest.raises(ModelError, match=r"did not respond with HTTP; check that the port"):
            ServingRestPredictor("m", address, "m").predict(TABLE)
        thread.join()


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"])
def test_server_that_sends_a_byte_now_and_then(start: bytes) -> None:
    is_over = threading.Event()

    def drip(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(start)
            while not is_over.wait(0.05):
                connection.sendall(b"x")

    with socket.create_server(("localhost", 0)) as listener:
        thread = threading.Thread(target=drip, args=[listener])
        thread.start()
        address = f"http://localhost:{listener.getsockname()[1]}"
        slow = JsonEndpointPredictor("m", address, timeout_s=0.4)
        began = time.monotonic()
        try:
            with pytest.raises(ModelError, match=r"did not respond within 0\.4 seconds"):
                slow.predict(TABLE)
            assert time.monotonic() - began < 60
        finally:
            is_over.set()
            thread.join()


def test_only_allowed_hosts_can_be_reached() -> None:
    hosts = AllowedHosts(["models.example.com", "10.0.0.5:8500"])
    for address in ("localhost:1", "127.0.0.1:80", "http://[::1]:5/", "models.example.com:443",
                    "10.0.0.5:8500"):  # fmt: skip
        hosts.check(address)
    for address in ("10.0.0.5:22", "http://169.254.169.254/latest", "example.com"):
        with pytest.raises(UsageError, match="not allowed; start the server with --model-host"):
            hosts.check(address)
    for address in ("http://", "localhost:port", "http://[::1"):
        with pytest.raises(UsageError, match="not a valid address"):
            hosts.check(address)
    AllowedHosts(["*"]).check("anything.example.org")


def test_paths_into_responses() -> None:
    assert parse_path("a.b[0][*].c") == ["a", "b", 0, "*", "c"]
    assert extract_path({"a": [[1, 2], [3]]}, parse_path("a[*][0]"), "url") == [1, 3]
    assert extract_path([1], parse_path(""), "url") == [1]
    with pytest.raises(UsageError, match="is not a path"):
        parse_path("a[x")


# ---- gRPC


@pytest.fixture(scope="module")
def serving() -> Iterator[str]:
    pytest.importorskip("tensorflow_serving")
    pytest.importorskip("grpc")
    with start_serving() as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("model", ["one", "two"])
def test_grpc_classify_and_predict(serving: str, model: str) -> None:
    options: dict[str, Any] = {"features": ["a", "b"]}
    expected = compute_expected(model, A, B)
    for predictor in (
        ServingGrpcPredictor("m", serving, model, **options),
        ServingGrpcPredictor("m", f"http://{serving}", model, version=1, batch_rows=7, **options),
        ServingGrpcPredictor("m", serving, model, method="predict", input="examples", **options),
        ServingGrpcPredictor("m", serving, model, method="predict", output="probabilities",
                             **options),
    ):  # fmt: skip
        scores = predictor.predict(TABLE).scores
        predictor.close()
        assert scores.shape == (50, 2)
        assert np.allclose(scores[:, 1], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("refusal", "expected"),
    [
        (
            "input size does not match signature: 2!=1 len({a,b}) != len({inputs}). Sent extra: "
            "{a,b}. Missing but required: {inputs}.",
            "inputs",
        ),
        (
            "input tensor alias not found in signature: a. Inputs expected to be in the set {ex}.",
            "ex",
        ),
        ("Missing but required: {c,d}.", None),
        ("Missing but required: {a}.", None),
        ("Feature: b is required", None),
    ],
)
def test_grpc_input_of_examples_is_found(
    monkeypatch: pytest.MonkeyPatch, refusal: str, expected: str | None
) -> None:
    pytest.importorskip("grpc")
    sent: list[list[str]] = []

    def request(self: Any, method: str, message: Any, response: str) -> Any:
        names = [entry.key.decode() for entry in message.inputs]
        sent.append(names)
        if names != [expected]:
            raise ModelError(f"TensorFlow Serving at localhost:1 refused the request: {refusal}")
        found = proto.PredictResponse()
        scores = np.full((len(TABLE), 2), 0.5, np.float32)
        found.outputs.add(key=b"probabilities").value.CopyFrom(encode_tensor(scores))
        return found

    monkeypatch.setattr(ServingGrpcPredictor, "_request", request)
    options: dict[str, Any] = {"method": "predict", "features": ["a", "b"]}
    predictor = ServingGrpcPredictor("m", "localhost:1", "m", **options)
    if expected is None:
        with pytest.raises(ModelError, match="refused the request"):
            predictor.predict(TABLE)
        assert sent == [["a", "b"]]
    else:
        assert predictor.predict(TABLE).scores.shape == (50, 2)
        predictor.predict(TABLE)
        assert sent == [["a", "b"], [expected], [expected]]
    predictor.close()


@pytest.mark.slow
def test_grpc_regress(serving: str) -> None:
    predictor = ServingGrpcPredictor("m", serving, "value", "regression", features=["a", "b"])
    values = predictor.predict(TABLE).scores
    predictor.close()
    assert np.allclose(values, compute_expected("value", A, B), atol=1e-4)


@pytest.mark.slow
def test_grpc_errors(serving: str) -> None:
    def call(model: str, **options: Any) -> None:
        predictor = ServingGrpcPredictor("m", serving, model, **options)
        try:
            predictor.predict(TABLE)
        finally:
            predictor.close()

    with pytest.raises(ModelError, match="refused the request: Servable not found"):
        call("unknown")
    with pytest.raises(ModelError, match="Feature: b is required"):
        call("one", features=["a"])
    with pytest.raises(ModelError, match=r"did not respond within 0\.2 seconds"):
        call("slow", timeout_s=0.2)
    with pytest.raises(ModelError, match='no output "x"; its outputs are probabilities'):
        call("one", method="predict", output="x", features=["a", "b"])


def test_grpc_server_that_is_down() -> None:
    pytest.importorskip("grpc")
    with socket.socket() as unused:  # bound and never listening
        unused.bind(("localhost", 0))
        address = f"localhost:{unused.getsockname()[1]}"
        predictor = ServingGrpcPredictor("m", address, "m")
        with pytest.raises(ModelError, match=f"cannot reach TensorFlow Serving at {address}"):
            predictor.predict(TABLE)
        predictor.close()
