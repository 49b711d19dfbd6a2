"""The values at which features are varied, compared with pandas."""

from __future__ import annotations

from typing import Any

import pandas
import pytest

from tracklight.errors import UsageError
from tracklight.what_if import Session

FRAME = pandas.DataFrame(
    {
        "x": [1.0, 2.0, 3.0, 4.0, 5.0, 100.0],
        "job": ["a", "a", "b", "b", "c", "d"],
        "id": ["p", "q", "r", "s", "t", None],
    }
)


def predict(frame: Any) -> Any:
    return frame["x"].to_numpy() / 200


def make_session() -> Session:
    return Session(FRAME, predict)


def list_values(session: Session, feature: str, **options: Any) -> list[Any]:
    frame = session.partial_dependence(feature, **options).to_pandas()
    return frame["value"].unique().tolist()


def test_categories_that_occur_once_are_not_varied() -> None:
    counts = FRAME["job"].value_counts()
    assert set(list_values(make_session(), "job")) == set(counts[counts > 1].index)


def test_features_whose_values_occur_once_are_varied_only_by_name() -> None:
    session = make_session()
    varied = session.partial_dependence().to_pandas()["feature"]
    assert set(varied) == {"x", "job"}
    assert list_values(session, "id") == ["p", "q", "r", "s", "t"]


def test_deleted_rows_do_not_extend_the_varied_values() -> None:
    session = make_session()
    session.delete(5)
    session.delete(0)
    values = list_values(session, "x", points=4)
    left = FRAME["x"].drop([0, 5])
    assert (min(values), max(values)) == (left.min(), left.max())
    assert list_values(session, "job") == ["b"]


def test_features_without_values_are_left_out() -> None:
    session = Session(FRAME.assign(empty=float("nan"), nothing=None), predict)
    varied = session.partial_dependence().to_pandas()["feature"]
    assert set(varied) == {"x", "job"}
    for feature in ("empty", "nothing", ("x", "empty"), ["empty"]):
        assert len(session.partial_dependence(feature)) == 0
    assert len(session.partial_dependence("empty", kind="individual")) == 0


@pytest.mark.parametrize(
    ("feature", "options", "message"),
    [
        (("x", "job", "id"), {}, "a joint effect needs two features"),
        (("x", "job"), {"kind": "individual"}, "individual curves need a single feature"),
        (["x", "job"], {"values": [1]}, "values and value_range need a single feature"),
        (None, {"value_range": (0, 1)}, "values and value_range need a single feature"),
    ],
)
def test_impossible_combinations(feature: Any, options: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_session().partial_dependence(feature, **options)


def test_dependence_of_some_features_in_a_sample() -> None:
    frame = make_session().partial_dependence(["job", "x"], sample=2, points=2).to_pandas()
    assert set(frame["feature"]) == {"x", "job"}
    with pytest.raises(UsageError, match="the sample must have at least one row"):
        make_session().partial_dependence("x", sample=0)
