from __future__ import annotations

import pytest
from starlette.testclient import TestClient

from tests.server.memory_source import MemorySource
from tracklight import errors
from tracklight.analysis.graphs.parsers import parse_logged_graph
from tracklight.server.responses import describe_error, find_error_status


def test_unknown_run_has_the_one_shape_and_the_nearest_name(client: TestClient) -> None:
    answer = client.get("/api/v1/tags", params={"run": "conw"})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["what"] == 'No run "conw"; nearest: "conv".'
    assert "api/v1/runs" in error["next"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/api/v1/nothing", 404), ("GET", "/nothing.js", 404), ("DELETE", "/api/v1/runs", 405)],
)
def test_wrong_addresses_have_the_one_shape(
    client: TestClient, method: str, path: str, status: int
) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()["error"]) == {"message", "hint"}
    assert path in answer.json()["error"]["message"]


@pytest.mark.filterwarnings("ignore")
def test_a_fault_of_our_own_is_an_answer_without_secrets(
    client: TestClient, source: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(run: str) -> None:
        raise ZeroDivisionError("the password is 1234")

    monkeypatch.setattr(source, "tags", fail)
    client = TestClient(client.app, base_url="http://localhost", raise_server_exceptions=False)
    answer = client.get("/api/v1/tags", params={"run": "conv"})
    assert answer.status_code == 500
    assert "ZeroDivisionError" in answer.json()["error"]["message"]
    assert "1234" not in answer.text


def test_every_error_of_the_tree_has_a_status() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    tree = [kind for kind in kinds if issubclass(kind, errors.TracklightError)]
    assert len(tree) > 5
    for kind in tree:
        assert find_error_status(kind.__new__(kind)) is not None


def test_words_become_a_sentence() -> None:
    assert describe_error(errors.UsageError("no such thing")).message == "No such thing."
    assert describe_error(errors.UsageError("Is it?")).message == "Is it?"


def test_a_file_that_cannot_be_read_is_no_fault() -> None:
    kept = PermissionError(13, "Permission denied", "/logs/a.pb")
    assert find_error_status(kept) == find_error_status(errors.LogError())
    assert describe_error(kept).message == '"/logs/a.pb" cannot be read: permission denied.'
    assert (
        describe_error(PermissionError('"/logs/a.pb" leads out')).message == '"/logs/a.pb" leads out.'
    )


def test_an_empty_graph_is_not_called_damaged() -> None:
    with pytest.raises(errors.FormatError) as raised:
        parse_logged_graph("graph_run_metadata_graph", b"")
    problem = describe_error(raised.value)
    assert problem.message == "This graph is empty: it was logged without any nodes."
    assert "Nothing is damaged" in problem.hint
    assert find_error_status(raised.value)[0] == 422
