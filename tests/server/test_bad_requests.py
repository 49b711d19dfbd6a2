"""Whatever is requested, the response is data or a client error, never a server error."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from tests.index import logs
from tests.server.test_http_api import REQUESTS
from tests.server.waiting import wait_until
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.responses import COLUMNS_MEDIA_TYPE

METHODS_WITHOUT_BODY = ("GET", "DELETE")
WITH_BODY = sorted(name for name in REQUESTS if not name.startswith(METHODS_WITHOUT_BODY))
WITH_QUERY = sorted(name for name in REQUESTS if name.startswith(METHODS_WITHOUT_BODY))

#: Texts that have a meaning in some request.
WORDS = st.sampled_from(
    "conv vit loss picture step relative relative_step wall index metric:loss metric: ema mean "
    "median gaussian time_ema ratio difference csv json parquet hparam:lr last:loss min: : /(/ * "
    "NaN std ci95 minmax stalled nan above \x00 \ud800".split(" ")
)
NUMBERS = st.one_of(
    st.integers(-(2**70), 2**70), st.sampled_from([0, 1, -1, 2**63, 1e308, -1e308, 5e-324])
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, st.floats(allow_nan=False), WORDS, st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=8,
)
FIELDS = ["runs", "x", "smoothing", "baseline", "groups", "start", "stop", "width", "at", "note"]
#: Valid scalar queries with unusual values.
SMOOTHING = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["ema", "time_ema", "mean", "median", "gaussian"]),
        "amount": NUMBERS | st.floats(allow_nan=False),
    }
)
RUNS = st.none() | st.lists(WORDS, max_size=3)
VIEWS = st.fixed_dictionaries(
    {"tags": st.lists(WORDS, max_size=3)},
    optional={
        "runs": RUNS,
        "x": WORDS,
        "smoothing": SMOOTHING,
        "baseline": st.fixed_dictionaries(
            {"run": WORDS, "mode": st.sampled_from(["difference", "ratio"])}
        ),
        "overwritten": st.booleans(),
        "start": NUMBERS | st.none(),
        "stop": NUMBERS | st.none(),
    },
)
often = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("bad")
    nan = logs.point(7, float("nan"))
    logs.write(folder / "logs", "conv", logs.points(range(3)) + logs.picture(1, b"GIF89a") + nan)
    logs.write(folder / "logs", "vit", logs.points([5, 1, 9]) + logs.start(1) + nan)
    catalog = logs.open_catalog(folder / "logs")
    with pytest.MonkeyPatch.context() as patch, Watcher(catalog.roots) as watch:
        patch.setenv("TRACKLIGHT_DATA_DIR", str(folder / "data"))
        app = create_app(catalog, watch, create_policy("localhost"), page_dir=folder)
        with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
            wait_until(lambda: not client.get("/api/v1/status").json()["status"]["loading"])
            yield client
    catalog.close()


def check(response: Any) -> None:
    """Assert that the response is data or an error in the common format."""
    assert response.status_code < 500, response.text
    if response.status_code >= 400:
        problem = response.json()["error"]
        assert problem["message"].endswith((".", "?", "!")) and problem["hint"]


def corrupt(request: Any, value: Any, data: st.DataObject) -> Any:
    """Replace something in a request by ``value``."""
    if not isinstance(request, dict | list) or not request or data.draw(st.integers(0, 4)) == 0:
        return value
    keys = sorted(request) if isinstance(request, dict) else range(len(request))
    key = data.draw(st.sampled_from(list(keys)))
    copy: Any = request.copy()
    copy[key] = corrupt(request[key], value, data)
    return copy


def to_json(value: Any) -> bytes:
    # Lone surrogates are valid in Python and in JSON escapes, but not in UTF-8.
    return json.dumps(value).encode()


@often
@given(name=st.sampled_from(WITH_BODY), value=JSON, data=st.data())
def test_nearly_valid_bodies(
    client: TestClient, name: str, value: Any, data: st.DataObject
) -> None:
    method, path = name.split()
    request = REQUESTS[name]
    if isinstance(request, dict):
        request = {
            **request,
            **data.draw(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2)),
        }
    accept = {"accept": data.draw(st.sampled_from([COLUMNS_MEDIA_TYPE, "application/json"]))}
    body = to_json(corrupt(request, value, data))
    check(client.request(method, f"/{path}", content=body, headers=accept))


@often
@given(view=VIEWS, groups=RUNS, width=st.integers(1, 500), at=NUMBERS, binary=st.booleans())
def test_scalar_queries_of_all_kinds(
    client: TestClient, view: dict[str, Any], groups: Any, width: int, at: Any, binary: bool
) -> None:
    accept = {"accept": COLUMNS_MEDIA_TYPE if binary else "application/json"}
    rest = {name: value for name, value in view.items() if name not in ("tags", "start", "stop")}
    chart = {"id": "a", **{name: view[name] for name in ("tags", "start", "stop") if name in view}}
    query: dict[str, Any] = {**rest, "charts": [chart], "width": width}
    if groups is not None:
        query["groups"] = [{"key": "g", "runs": groups}]
    own = {name: value for name, value in view.items() if name != "overwritten"}
    single = {name: value for name, value in own.items() if name not in ("start", "stop")}
    whole = {name: value for name, value in view.items() if name not in ("start", "stop")}
    for path, request in {
        "query": query,
        "at": {**single, "x_value": at},
        "range": own,
        "table": whole,
    }.items():
        body = to_json(request)
        check(client.post(f"/api/v1/scalars/{path}", content=body, headers=accept))


@often
@given(name=st.sampled_from(WITH_BODY), body=st.binary(max_size=60))
def test_random_bodies(client: TestClient, name: str, body: bytes) -> None:
    method, path = name.split()
    check(client.request(method, f"/{path}", content=body))


@often
@given(
    name=st.sampled_from(WITH_QUERY),
    part=st.text(max_size=8),
    query=st.dictionaries(
        st.sampled_from(["run", "tag", "index", "part", "start", "limit", "since", "last_event"])
        | st.sampled_from(["request", "damaged", "tags", "runs", "format", "smoothing", "x"]),
        st.one_of(WORDS, st.text(max_size=8), NUMBERS.map(str), JSON.map(json.dumps)),
        max_size=4,
    ),
    keep=st.booleans(),
)
def test_random_queries(
    client: TestClient, name: str, part: str, query: dict[str, str], keep: bool
) -> None:
    method, path = name.split()
    path = path.format(fingerprint=quote(part, safe=""), id=quote(part, safe=""))
    params = {**(REQUESTS[name] if keep else {}), **query}  # type: ignore[dict-item]
    pairs = [f"{key}={_quote(value)}" for key, value in params.items()]
    check(client.request(method, f"/{path}?{'&'.join(pairs)}"))


def _quote(value: Any) -> str:
    return quote(str(value).encode("utf-8", "surrogatepass"), safe="")


@often
@given(path=st.text(max_size=20), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]))
def test_random_paths(client: TestClient, path: str, method: str) -> None:
    response = client.request(method, "/api/v1/" + quote(path.encode("utf-8", "surrogatepass")))
    if method != "HEAD":
        check(response)
    assert response.status_code < 500


@pytest.mark.parametrize(
    "headers",
    [
        {"accept": "\xff;q=;,,;"},
        {"accept-encoding": ";;gzip;;"},
        {"if-none-match": '"' * 50},
        {"last-event-id": "x" * 5000},
        {"host": "localhost:99999999"},
        {"cookie": "=;=;"},
        {"content-type": "multipart/form-data"},
        {"authorization": "Bearer \xff"},
    ],
)
def test_odd_headers(client: TestClient, headers: dict[str, str]) -> None:
    raw = {name: value.encode("latin-1") for name, value in headers.items()}
    check(client.get("/api/v1/runs", headers=raw))  # type: ignore[arg-type]
    check(client.post("/api/v1/tags", content=b"{}", headers=raw))  # type: ignore[arg-type]
