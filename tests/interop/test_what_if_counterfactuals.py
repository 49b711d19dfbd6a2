"""Nearest rows with another prediction, compared with a direct computation by pandas."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray

from tests.interop.real_data import (
    BINARY,
    MULTICLASS,
    REGRESSION,
    ModelledData,
    load_binary,
    load_multiclass,
    load_regression,
)
from tracklight.what_if import Session

pytestmark = pytest.mark.slow

pytest.importorskip("sklearn")

ROWS = [0, 1, 5, 11, -1]


def add_gaps(data: ModelledData) -> pandas.DataFrame:
    """Return inputs, categories and numbers of which some are missing or infinite."""
    random = np.random.default_rng(4)
    frame = data.frame[[*data.features, "group", "half", "size"]].copy()
    size = frame["size"].astype(float)
    size[random.uniform(size=len(frame)) < 0.1] = np.nan
    size[random.uniform(size=len(frame)) < 0.05] = np.inf
    frame["size"] = size
    return frame.assign(id=[f"row {number}" for number in range(len(frame))])


def compute_distance(
    frame: pandas.DataFrame, row: int, power: int, weights: dict[str, float] | None = None
) -> NDArray[np.float64]:
    """Return the distance of all rows to one row, feature by feature."""
    total = np.zeros(len(frame))
    for name in frame.columns:
        values, value = frame[name], frame[name].iloc[row]
        if pandas.api.types.is_numeric_dtype(values):
            values = values.astype(float).replace([np.inf, -np.inf], np.nan)
            value = values.iloc[row]
            spread = values.std(ddof=1)
            distance = (values - value).abs() / spread if spread else values * 0.0
        else:
            if values.nunique() == values.count():
                continue  # ids
            agreement = (values.value_counts(normalize=True) ** 2).sum()
            distance = (values != value) * agreement
        distance = np.where(values.isna() | pandas.isna(value), 1.0, distance)
        total += (weights or {}).get(name, 1.0) * distance**power
    return total


def list_nearest(distance: Any, candidates: Any, count: int) -> list[int]:
    rows = np.flatnonzero(candidates)
    return rows[np.argsort(distance[rows], kind="stable")][:count].tolist()


def check_nearest(
    found: pandas.DataFrame, distance: NDArray[np.float64], candidates: NDArray[np.bool_], k: int
) -> None:
    """Check the rows; those whose distances differ by rounding may be exchanged."""
    expected = list_nearest(distance, candidates, k)
    assert len(found) == len(expected)
    assert found["distance"].to_numpy() == pytest.approx(distance[expected])
    assert distance[found["row"]] == pytest.approx(distance[expected])
    assert candidates[found["row"]].all()


def make_session(data: ModelledData, **options: Any) -> tuple[pandas.DataFrame, Session]:
    frame = add_gaps(data)

    def predict(table: pandas.DataFrame) -> Any:
        found = getattr(data.model, "predict_proba", data.model.predict)(table[data.features])
        return found

    return frame, Session(frame, predict, **options)


@pytest.mark.parametrize(("metric", "power"), [("l1", 1), ("l2", 2)])
@pytest.mark.parametrize("name", BINARY)
def test_two_classes(name: str, metric: Any, power: int) -> None:
    data = load_binary(name)
    frame, session = make_session(data)
    weights = {data.features[0]: 3.0, "group": 0.0, "half": 0.5}
    for threshold in (0.5, 0.3):
        decided = data.scores[:, 1] >= threshold
        for row in [each % len(frame) for each in ROWS]:
            candidates = decided != decided[row]
            distance = compute_distance(frame, row, power)
            options: dict[str, Any] = {"k": 7, "distance": metric, "threshold": threshold}
            found = session.counterfactuals(row, **options).to_pandas()
            check_nearest(found, distance, candidates, 7)
            weighted = session.counterfactuals(row, weights=weights, **options).to_pandas()
            check_nearest(weighted, compute_distance(frame, row, power, weights), candidates, 7)
            same = frame["half"].fillna("") == pandas.Series(frame["half"]).fillna("")[row]
            locked = session.counterfactuals(row, locked=["half"], **options).to_pandas()
            check_nearest(locked, distance, candidates & same.to_numpy(), 7)
            assert np.allclose(session.distances(row, metric)["distance"], distance)


@pytest.mark.parametrize("name", MULTICLASS)
def test_more_classes(name: str) -> None:
    data = load_multiclass(name)
    frame, session = make_session(data)
    decided = data.scores.argmax(axis=1)
    for row in [each % len(frame) for each in ROWS]:
        distance = compute_distance(frame, row, 1)
        found = session.counterfactuals(row, k=5).to_pandas()
        check_nearest(found, distance, decided != decided[row], 5)
        assert found["predicted"].tolist() == [str(decided[each]) for each in found["row"]]


@pytest.mark.parametrize("name", REGRESSION)
def test_values(name: str) -> None:
    data = load_regression(name)
    frame, session = make_session(data, task="regression")
    values = data.model.predict(data.inputs)
    spread = np.std(values, ddof=1)
    for row in [each % len(frame) for each in ROWS]:
        distance = compute_distance(frame, row, 1)
        for threshold in (None, 0.25 * spread):
            limit = spread if threshold is None else threshold
            found = session.counterfactuals(row, k=5, threshold=threshold).to_pandas()
            check_nearest(found, distance, np.abs(values - values[row]) >= limit, 5)


@pytest.mark.parametrize("name", BINARY)
def test_deleted_and_edited_rows(name: str) -> None:
    data = load_binary(name)
    frame, session = make_session(data)
    for row in (2, 3, 7, 20):
        session.delete(row)
    session.edit(4, group="low")
    frame.loc[4, "group"] = "low"
    kept = np.ones(len(frame), np.bool_)
    kept[[2, 3, 7, 20]] = False
    left = frame[kept].reset_index(drop=True)
    numbers = np.flatnonzero(kept)
    decided = data.scores[kept, 1] >= 0.5
    for row in (0, 6, 30):
        at = int(np.flatnonzero(numbers == row)[0])
        distance = compute_distance(left, at, 1)
        found = session.counterfactuals(row, k=5).to_pandas()
        found["row"] = np.searchsorted(numbers, found["row"])
        check_nearest(found, distance, decided != decided[at], 5)


@pytest.mark.parametrize("name", BINARY)
def test_cosine_distance_of_standardized_numbers(name: str) -> None:
    cosine = pytest.importorskip("scipy.spatial.distance").cosine
    data = load_binary(name)
    session = data.make_session()
    inputs = data.inputs.astype(float)
    standard = (inputs - inputs.mean()) / inputs.std(ddof=1)
    found = session.distances(3, "cosine")["distance"]
    expected = [cosine(standard.iloc[3], standard.iloc[row]) for row in range(len(inputs))]
    assert np.allclose(found, expected)


def search_edits(
    frame: pandas.DataFrame, row: int, sources: Sequence[int], has_flipped: Any, size: int
) -> set[tuple[int, tuple[str, ...]]]:
    """Return all sets of a size of features that flip the prediction if copied from a source."""
    found = set()
    for source in sources:
        for names in combinations(frame.columns, size):
            edited = frame.iloc[[row]].copy()
            edited[list(names)] = frame.iloc[[source]][list(names)].to_numpy()
            if has_flipped(edited):
                found.add((source, names))
    return found


@pytest.mark.parametrize("name", BINARY)
def test_minimal_edits_flip_and_are_as_few_as_possible(name: str) -> None:
    data = load_binary(name)
    session = Session(data.frame, data.model, "label", features=data.features)
    inputs = data.inputs.astype(float)
    decided = data.scores[:, 1] >= 0.5
    for row in [each % len(inputs) for each in ROWS]:

        def has_flipped(edited: pandas.DataFrame, row: int = row) -> bool:
            return bool((data.model.predict_proba(edited)[0, 1] >= 0.5) != decided[row])

        sources = session.counterfactuals(row, k=20)["row"].tolist()
        smallest = next(
            size
            for size in range(1, len(data.features) + 1)
            if search_edits(inputs, row, sources, has_flipped, size)
        )
        table = session.minimal_edits(row, k=3).to_pandas()
        assert len(table)
        for _, option in table.groupby("option"):
            assert len(option) == smallest
            edited = inputs.iloc[[row]].copy()
            for feature, value in zip(option["feature"], option["after"], strict=True):
                edited[feature] = float(value)
            assert has_flipped(edited)
