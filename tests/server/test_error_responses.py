from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource
from tracklight import errors
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.analysis.source import Sentence
from tracklight.server.responses import describe_error, find_error_status


def test_returns_404_for_unknown_run_with_suggestion(client: TestClient) -> None:
    response = client.get("/api/v1/tags", params={"run": "conw"})
    assert response.status_code == 404
    error = response.json()["error"]
    assert error["message"] == 'No run "conw"; nearest: "conv".'
    assert "api/v1/runs" in error["hint"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/v1/nothing", 404), ("GET", "/nothing.js", 404), ("DELETE", "/api/v1/runs", 405)],
)
def test_unknown_routes_have_the_common_error_format(
    client: TestClient, method: str, path: str, status: int
) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"message", "hint", "code", "args", "hint_code"}
    assert response.json()["error"]["args"]["path"] == path
    assert path in response.json()["error"]["message"]


@pytest.mark.filterwarnings("ignore")
def test_unexpected_errors_do_not_show_their_message(
    client: TestClient, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: str) -> None:
        raise ZeroDivisionError("the password is 1234")

    monkeypatch.setattr(source, "tags", fail)
    client = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)
    response = client.get("/api/v1/tags", params={"run": "conv"})
    assert response.status_code == 500
    assert "ZeroDivisionError" in response.json()["error"]["message"]
    assert "1234" not in response.text


def test_all_errors_have_a_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    tree = [kind for kind in kinds if issubclass(kind, errors.TracklightError)]
    assert len(tree) > 5
    for kind in tree:
        assert find_error_status(kind.__new__(kind)) is not None


def test_messages_are_sentences() -> None:
    assert describe_error(errors.UsageError("no such thing")).message == "No such thing."
    assert describe_error(errors.UsageError("Is it?")).message == "Is it?"


def test_errors_carry_the_codes_of_their_sentences() -> None:
    problem = describe_error(errors.RunNotFoundError("trian", ["train"]))
    assert problem.message == 'No run "trian"; nearest: "train".'
    assert problem.code == "log.nearest_name"
    assert problem.args["nearest"] == "train"
    assert problem.args["message"] == Sentence("log.no_run", 'no run "trian"', {"run": "trian"})
    assert problem.hint_code == "hints.no_run"


def test_errors_with_plain_text_have_no_code() -> None:
    assert describe_error(errors.UsageError("no such thing")).code == ""


def test_unreadable_files_are_client_errors() -> None:
    error = PermissionError(13, "Permission denied", "/logs/a.pb")
    assert find_error_status(error) == find_error_status(errors.LogError())
    assert describe_error(error).message == '"/logs/a.pb" cannot be read: permission denied.'
    assert (
        describe_error(PermissionError('"/logs/a.pb" leads out')).message
        == '"/logs/a.pb" leads out.'
    )


def test_empty_graph_has_its_own_hint() -> None:
    with pytest.raises(errors.FormatError) as raised:
        parse_logged_graph("graph_run_metadata_graph", b"")
    problem = describe_error(raised.value)
    assert problem.message == "This graph is empty: it was logged without nodes."
    assert "not damaged" in problem.hint
    assert find_error_status(raised.value)[0] == 422
