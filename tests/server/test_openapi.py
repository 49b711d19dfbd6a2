from __future__ import annotations

from starlette.testclient import TestClient

from tools.write_http_api import collect_routes


def test_all_routes_are_described(client: TestClient) -> None:
    description = client.get("/api/v1/openapi.json").json()
    described = {
        f"{method.upper()} {path.removeprefix('/api/v1/')}"
        for path, operations in description["paths"].items()
        for method in operations
    }
    assert described == {f"{route.method} {route.path}" for route in collect_routes()}


def test_parameters_and_bodies_are_described(client: TestClient) -> None:
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    places = {
        it["name"]: it["in"] for it in paths["/api/v1/blobs/{fingerprint}"]["get"]["parameters"]
    }
    assert places["fingerprint"] == "path" and places["run"] == "query"
    assert paths["/api/v1/tags"]["post"]["requestBody"]["required"]
    assert "requestBody" not in paths["/api/v1/tags"]["get"]
