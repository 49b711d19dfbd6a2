"""Arguments of the Keras callback; does not need Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tracklight.errors import UsageError, UsageWarning
from tracklight.keras.model import (
    BatchRange,
    as_embeddings_metadata,
    as_epoch_interval,
    as_update_freq,
    parse_profile_batch,
)


@pytest.mark.parametrize(
    ("value", "interval"), [("epoch", None), ("batch", 1), (1, 1), (500, 500), (np.int64(3), 3)]
)
def test_update_freq(value: Any, interval: int | None) -> None:
    assert as_update_freq(value) == interval


@pytest.mark.parametrize("value", ["often", 0, -1, 2.5, None])
def test_invalid_update_freq_warns(value: Any) -> None:
    with pytest.warns(UsageWarning, match="`update_freq` must be 'epoch'") as caught:
        assert as_update_freq(value) is None
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("value", "batches"),
    [
        (0, None),
        (None, None),
        ("0", None),
        ((0, 0), None),
        (5, (5, 5)),
        ("5", (5, 5)),
        ([10, 20], (10, 20)),
        ((0, 2), (0, 2)),
        ("10,20", (10, 20)),
        (100000000, (100000000, 100000000)),
    ],
)
def test_profile_batch(value: Any, batches: tuple[int, int] | None) -> None:
    assert parse_profile_batch(value) == (None if batches is None else BatchRange(*batches))


@pytest.mark.parametrize("value", [-1, (20, 10), (1, 2, 3), [], "a,b", 1.5, ("x", 2)])
def test_invalid_profile_batch_warns(value: Any) -> None:
    with pytest.warns(UsageWarning, match="`profile_batch` must be a batch number"):
        assert parse_profile_batch(value) is None


def test_epoch_interval() -> None:
    assert (
        as_epoch_interval(0, "histogram_freq"),
        as_epoch_interval(None, "x"),
        as_epoch_interval(3, "x"),
    ) == (0, 0, 3)
    assert (as_epoch_interval(True, "x"), as_epoch_interval(False, "x")) == (1, 0)
    with pytest.warns(UsageWarning, match="`histogram_freq` must be a number of epochs"):
        assert as_epoch_interval("often", "histogram_freq") == 0


def test_embeddings_metadata() -> None:
    assert as_embeddings_metadata(None) == {}
    assert as_embeddings_metadata("labels.tsv") == "labels.tsv"
    assert as_embeddings_metadata({"words": "labels.tsv"}) == {"words": "labels.tsv"}
    with pytest.raises(UsageError, match="`embeddings_metadata` must be a file name"):
        as_embeddings_metadata(["a", "b"])
