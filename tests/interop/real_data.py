"""Real data sets that come with scikit-learn, and models of them, for comparisons of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from tracklight.what_if import Session


@dataclass(frozen=True)
class ModelledData:
    """A data set with a fitted model.

    Besides the features and ``label`` the frame has columns to slice by: ``group`` (three values),
    ``half`` (two values, some missing) and ``size``, a number.
    """

    frame: pandas.DataFrame
    features: list[str]
    model: Any

    @property
    def inputs(self) -> pandas.DataFrame:
        return self.frame[self.features]

    @property
    def label(self) -> NDArray[Any]:
        values: NDArray[Any] = self.frame["label"].to_numpy()
        return values

    @property
    def scores(self) -> NDArray[Any]:
        """The probability of each class."""
        found: NDArray[Any] = self.model.predict_proba(self.inputs)
        return found

    def make_session(self, **options: Any) -> Session:
        return Session(self.frame, self.model, "label", features=self.features, **options)


def read_frame(name: str) -> tuple[pandas.DataFrame, list[str]]:
    """Return a data set of scikit-learn and the names of its features; the label is ``label``."""
    from sklearn import datasets

    loaded = getattr(datasets, f"load_{name}")(as_frame=True)
    frame = loaded.data.copy()
    target = loaded.target
    frame["label"] = target.iloc[:, 0] if isinstance(target, pandas.DataFrame) else target
    return frame, list(loaded.data.columns)


def _add_groups(frame: pandas.DataFrame, by: str) -> pandas.DataFrame:
    ranks = frame[by].rank(method="first", pct=True)
    half = np.where(frame.index % 3 == 0, "odd", "even").astype(object)
    half[frame.index % 7 == 3] = None
    return frame.assign(
        group=np.select([ranks < 0.3, ranks < 0.75], ["low", "middle"], "high"),
        half=half,
        size=frame[by],
    )


def _is_positive(name: str, frame: pandas.DataFrame) -> Any:
    if name == "diabetes":
        return frame["label"] > 140
    return frame["label"] >= {"breast_cancer": 1, "wine": 1, "iris": 2, "digits": 5}[name]


BINARY = ["breast_cancer", "wine", "iris", "digits", "diabetes"]


@cache
def load_binary(name: str) -> ModelledData:
    """Return a data set with two classes. Scores are not separated well, and some are equal."""
    from sklearn.naive_bayes import GaussianNB

    frame, _ = read_frame(name)
    used = {
        "breast_cancer": ["mean texture", "mean smoothness"],
        "wine": ["ash", "alcohol"],
        "iris": ["sepal width (cm)", "sepal length (cm)"],
        "digits": ["pixel_2_4", "pixel_5_2", "pixel_3_3"],
        "diabetes": ["age", "bmi", "s3"],
    }[name]
    frame["label"] = _is_positive(name, frame).astype(int)
    model = GaussianNB().fit(frame[used][::2], frame["label"][::2])
    return ModelledData(_add_groups(frame, used[0]), used, model)


MULTICLASS = ["iris", "wine", "digits", "diabetes"]


@cache
def load_multiclass(name: str) -> ModelledData:
    """Return a data set with three or more classes."""
    from sklearn.naive_bayes import GaussianNB

    frame, features = read_frame(name)
    used = features[:4] if name != "digits" else ["pixel_2_4", "pixel_5_2", "pixel_3_3"]
    if name == "diabetes":
        frame["label"] = pandas.qcut(frame["label"], 4, labels=False)
    model = GaussianNB().fit(frame[used][::2], frame["label"][::2])
    return ModelledData(_add_groups(frame, used[0]), used, model)


REGRESSION = ["diabetes", "linnerud", "iris", "wine", "breast_cancer"]


@cache
def load_regression(name: str) -> ModelledData:
    """Return a data set with a numeric target."""
    from sklearn.linear_model import LinearRegression

    frame, features = read_frame(name)
    if name in ("iris", "wine", "breast_cancer"):
        frame["label"] = frame[features[-1]]
        features = features[:4] if name != "iris" else features[:-1]
    model = LinearRegression().fit(frame[features][::2], frame["label"][::2])
    return ModelledData(_add_groups(frame, features[0]), features, model)


def list_slices(frame: pandas.DataFrame) -> dict[str, NDArray[np.bool_]]:
    """Return the rows of all slices by ``group``, by ``half``, and by both, computed by pandas."""
    half = frame["half"].fillna("missing")
    slices = {"Overall": np.ones(len(frame), np.bool_)}
    for name, rows in frame.groupby("group").indices.items():
        slices[f"group:{name}"] = np.isin(np.arange(len(frame)), rows)
    for name, rows in frame.groupby(half).indices.items():
        slices[f"half:{name}"] = np.isin(np.arange(len(frame)), rows)
    for (one, two), rows in frame.groupby(["group", half]).indices.items():
        slices[f"group_X_half:{one}_X_{two}"] = np.isin(np.arange(len(frame)), rows)
    return slices


#: Slices that equal those of `list_slices`.
SLICE_BY: list[Any] = ["group", "half", ("group", "half")]


def or_nan(compute: Callable[[], Any]) -> float:
    """Return a metric, or NaN where scikit-learn raises because it is undefined."""
    try:
        return float(compute())
    except (ValueError, ZeroDivisionError):
        return float("nan")
