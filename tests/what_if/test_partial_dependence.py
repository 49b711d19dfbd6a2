"""The values at which features are varied, compared with pandas."""

from __future__ import annotations

from typing import Any

import pandas

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
