"""Labels that are not classes of the model, and the order in which labels are classes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from tests.dashboards.what_if.board import start_board
from tracklight.analysis.source import DataAccess
from tracklight.errors import UsageError
from tracklight.what_if import Session

SCORES = [0.1, 0.4, 0.6, 0.9, 0.7, 0.2]


def make_session(labels: Any, class_names: Any = None, scores: Any = SCORES) -> Session:
    frame = pandas.DataFrame({"label": labels, "group": list("aabbab")})
    return Session(
        frame.assign(p=range(6)),
        lambda table: np.asarray(scores)[table["p"].to_numpy()],
        "label",
        features=["p"],
        class_names=class_names,
    )


@pytest.mark.parametrize(
    ("labels", "unknown"),
    [
        ([0, 1, 1, 1, 0, 9], "9"),
        ([0, 1, 1, 1, 0, 0.5], "0.5"),
        ([0, 1, 1, 1, 0, -1], "-1"),
        ([0, 1, 1, 1, 0, np.inf], "inf"),
    ],
)
def test_rows_with_an_unknown_label_are_left_out(labels: Any, unknown: str) -> None:
    session = make_session(labels)
    expected = (
        f'1 of 6 rows are left out, because their labels are not classes of "model": {unknown}'
    )
    with pytest.warns(UserWarning, match=expected) as caught:
        table = session.performance("group", metrics=["accuracy"], intervals="none").to_pandas()
    assert caught[0].filename == __file__
    hits = (np.array(SCORES[:5]) >= 0.5) == np.array(labels[:5])
    values = dict(zip(table["slice"], table["value"], strict=True))
    assert values == pytest.approx(
        {"Overall": hits.mean(), "group:a": hits[[0, 1, 4]].mean(), "group:b": hits[2:4].mean()}
    )
    with pytest.warns(UserWarning, match="left out"):
        assert session.confusion()["count"].sum() == 5
    with pytest.warns(UserWarning, match="left out"):
        assert session.optimize("group", "group")["count"].sum() == 5
    assert session.problems == (expected,)
    correct = session.predictions()["correct"]
    assert correct[5] is None and correct[0] == "correct"


def test_unknown_texts_are_named_the_most_frequent_first() -> None:
    session = make_session(["no", "yes", "?", "?", "n/a", "no"], ["no", "yes"])
    with pytest.warns(UserWarning, match=r"^3 of 6 rows .* classes of \"model\": \?, n/a$"):
        table = session.performance(metrics=["accuracy"], intervals="none")
    assert table["count"].tolist() == [3]


def test_many_unknown_labels_are_shortened() -> None:
    session = make_session([1, 11, 12, 13, 14, 15], scores=np.full(6, 0.5))
    session.predictions()
    (problem,) = session.problems
    assert problem.endswith(": 11, 12, 13, 14, 15")
    session.edit(0, label=1)
    session.workspace.add({"label": 16, "p": 0})
    session.predictions()
    assert session.problems[0].endswith(": 11, 12, 13, 14, 15, …")


def test_deleted_rows_are_not_counted() -> None:
    session = make_session([0, 1, 1, 1, 0, 9])
    session.predictions()
    session.delete(5)
    assert session.problems == ()


def test_labels_none_of_which_is_a_class_are_an_error() -> None:
    session = make_session([0.5, 3, 4, 5, 6, 7])
    with pytest.raises(UsageError, match=r'the label "0\.5" is not a class of the model'):
        session.performance()


@pytest.mark.parametrize("labels", [[1, 2, 1, 2, 1, 2], ["1", "2", "1", "2", "1", "2"]])
def test_labels_are_names_before_they_are_numbers(labels: Any) -> None:
    """With classes 1, 2 and 3, the label 1 is the first class even if no row has the label 3."""
    scores = np.eye(3)[[0, 1, 0, 1, 0, 1]]
    session = make_session(labels, ["1", "2", "3"], scores)
    assert session.performance(metrics=["accuracy"], intervals="none")["value"][0] == 1.0


@pytest.mark.parametrize("names", [["0.5", "1.5"], ["False", "True"], ["no", "yes"]])
def test_numbers_and_booleans_fit_names_of_classes(names: list[str]) -> None:
    values = {"0.5": [0.5, 1.5], "False": [False, True], "no": [0, 1]}[names[0]]
    labels = [values[score >= 0.5] for score in SCORES]
    session = make_session(labels, names)
    assert session.performance(metrics=["accuracy"], intervals="none")["value"].tolist() == [1.0]


def test_the_page_says_which_labels_are_left_out(tmp_path: Path) -> None:
    session = make_session([0, 1, 1, 1, 0, 9])
    session.predictions()
    access = DataAccess(workspaces={"data": session.workspace})
    with start_board(tmp_path, access) as board:
        response = board.post("performance", session="data", intervals="none")
    assert response["counts"] == [5]
    (warning,) = response["warnings"]
    assert warning["text"].startswith("1 of 6 rows are left out")


def test_labels_name_the_classes_of_a_model_that_numbers_them() -> None:
    session = make_session(["no", "no", "yes", "yes", "yes", "no"])
    assert session.predictions()["predicted"].tolist() == ["no", "no", "yes", "yes", "yes", "no"]
    assert set(session.predictions()["correct"]) == {"correct"}
    session.workspace.edit(0, {"label": "?"})  # no class of the model
    assert session.workspace.get_class_names() == ["no", "yes"]
