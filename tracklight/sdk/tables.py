"""Tab-separated files, as the projector reads them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracklight.sdk.lenient import Misuse

#: Enough digits to get every float32 back.
_DIGITS = "%.9g"
#: A line without anything would be skipped, and all labels after it would be one off.
_EMPTY = "(empty)"


def format_vectors(vectors: NDArray[Any]) -> str:
    return "".join("\t".join(_DIGITS % number for number in row) + "\n" for row in vectors.tolist())


def format_metadata(metadata: Any, count: int) -> str:
    """Labels of points: one column without a name, or several with a row of names above them.

    Takes a list of labels, a dict of columns, a list of dicts, or a data frame.
    """
    columns = _as_columns(metadata)
    for name, cells in columns.items():
        if len(cells) != count:
            raise Misuse("metadata", f'has {len(cells)} rows in "{name}" for {count} vectors')
    rows: list[Iterable[object]] = list(zip(*columns.values(), strict=True))
    if len(columns) > 1:
        rows.insert(0, list(columns))
    return "".join("\t".join(map(_as_cell, row)) + "\n" for row in rows)


def _as_columns(metadata: Any) -> dict[str, Sequence[object]]:
    if hasattr(metadata, "columns") and hasattr(metadata, "to_dict"):
        return {str(name): metadata[name].tolist() for name in metadata.columns}
    if isinstance(metadata, Mapping):
        return {str(name): list(cells) for name, cells in metadata.items()}
    if isinstance(metadata, (str, bytes)):
        raise Misuse("metadata", "must be a list of labels or a dict of columns, not a text")
    items = np.asarray(metadata).tolist() if hasattr(metadata, "dtype") else list(metadata)
    if items and all(isinstance(item, Mapping) for item in items):
        names = dict.fromkeys(name for item in items for name in item)
        return {str(name): [item.get(name, "") for item in items] for name in names}
    return {"label": items}


def _as_cell(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    return re.sub(r"\s+", " ", text).strip() or _EMPTY
