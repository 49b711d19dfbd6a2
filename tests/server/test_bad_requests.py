"""Whatever is asked, the answer is data or a sentence: never a fault of the server's own."""

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
from tests.server.test_http_api import ASKS
from tests.server.waiting import wait_until
from tracklight.logdir.watch import Watcher
from tracklight.server.app import create_app
from tracklight.server.auth import create_policy
from tracklight.server.responses import COLUMNS_MEDIA_TYPE

BODILESS = ("GET", "DELETE")
WITH_BODY = sorted(name for name in ASKS if not name.startswith(BODILESS))
WITH_QUERY = sorted(name for name in ASKS if name.startswith(BODILESS))

#: Words that mean something somewhere, beside those that mean nothing.
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
#: Asks for scalars that are right in form, with all that could be odd in content.
SMOOTHING = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(["ema", "time_ema", "mean", "median", "gaussian"]),
        "amount": NUMBERS | st.floats(allow_nan=False),
    }
)
RUNS = st.none() | st.lists(WORDS, max_size=3)
LOOKS = st.fixed_dictionaries(
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


def check(answer: Any) -> None:
    """Data, or a problem in the one shape."""
    assert answer.status_code < 500, answer.text
    if answer.status_code >= 400:
        problem = answer.json()["error"]
        assert problem["what"].endswith((".", "?", "!")) and problem["next"]


def spoil(ask: Any, value: Any, data: st.DataObject) -> Any:
    """``ask`` with something in it replaced by ``value``."""
    if not isinstance(ask, dict | list) or not ask or data.draw(st.integers(0, 4)) == 0:
        return value
    keys = sorted(ask) if isinstance(ask, dict) else range(len(ask))
    at = data.draw(st.sampled_from(list(keys)))
    copy: Any = ask.copy()
    copy[at] = spoil(ask[at], value, data)
    return copy


def to_json(value: Any) -> bytes:
    # Half a surrogate pair is text to Python and to JSON's escapes, though not to Unicode.
    return json.dumps(value).encode()


@often
@given(name=st.sampled_from(WITH_BODY), value=JSON, data=st.data())
def test_bodies_that_are_nearly_right(
    client: TestClient, name: str, value: Any, data: st.DataObject
) -> None:
    method, path = name.split()
    ask = ASKS[name]
    if isinstance(ask, dict):
        ask = {**ask, **data.draw(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=2))}
    accept = {"accept": data.draw(st.sampled_from([COLUMNS_MEDIA_TYPE, "application/json"]))}
    body = to_json(spoil(ask, value, data))
    check(client.request(method, f"/{path}", content=body, headers=accept))


@often
@given(look=LOOKS, groups=RUNS, width=st.integers(1, 500), at=NUMBERS, binary=st.booleans())
def test_scalars_looked_at_in_every_way(
    client: TestClient, look: dict[str, Any], groups: Any, width: int, at: Any, binary: bool
) -> None:
    accept = {"accept": COLUMNS_MEDIA_TYPE if binary else "application/json"}
    rest = {name: value for name, value in look.items() if name not in ("tags", "start", "stop")}
    chart = {"id": "a", **{name: look[name] for name in ("tags", "start", "stop") if name in look}}
    query: dict[str, Any] = {**rest, "charts": [chart], "width": width}
    if groups is not None:
        query["groups"] = [{"key": "g", "runs": groups}]
    own = {name: value for name, value in look.items() if name != "overwritten"}
    single = {name: value for name, value in own.items() if name not in ("start", "stop")}
    whole = {name: value for name, value in look.items() if name not in ("start", "stop")}
    for path, ask in {
        "query": query,
        "at": {**single, "at": at},
        "range": own,
        "table": whole,
    }.items():
        body = to_json(ask)
        check(client.post(f"/api/v1/scalars/{path}", content=body, headers=accept))


@often
@given(name=st.sampled_from(WITH_BODY), body=st.binary(max_size=60))
def test_bodies_that_are_anything(client: TestClient, name: str, body: bytes) -> None:
    method, path = name.split()
    check(client.request(method, f"/{path}", content=body))


@often
@given(
    name=st.sampled_from(WITH_QUERY),
    part=st.text(max_size=8),
    query=st.dictionaries(
        st.sampled_from(["run", "tag", "index", "part", "start", "limit", "since", "heard"])
        | st.sampled_from(["ask", "damaged", "tags", "runs", "format", "smoothing", "x"]),
        st.one_of(WORDS, st.text(max_size=8), NUMBERS.map(str), JSON.map(json.dumps)),
        max_size=4,
    ),
    keep=st.booleans(),
)
def test_queries(
    client: TestClient, name: str, part: str, query: dict[str, str], keep: bool
) -> None:
    method, path = name.split()
    path = path.format(fingerprint=quote(part, safe=""), id=quote(part, safe=""))
    asked = {**(ASKS[name] if keep else {}), **query}  # type: ignore[dict-item]
    pairs = [f"{key}={_quote(value)}" for key, value in asked.items()]
    check(client.request(method, f"/{path}?{'&'.join(pairs)}"))


def _quote(value: Any) -> str:
    return quote(str(value).encode("utf-8", "surrogatepass"), safe="")


@often
@given(path=st.text(max_size=20), method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]))
def test_paths_that_lead_nowhere(client: TestClient, path: str, method: str) -> None:
    answer = client.request(method, "/api/v1/" + quote(path.encode("utf-8", "surrogatepass")))
    if method != "HEAD":
        check(answer)
    assert answer.status_code < 500


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
