"""What-If analysis of models: edits, counterfactuals, partial dependence, thresholds, statistics.

`workspace` holds the data, the models and the edits. `distances` and `counterfactuals` compare
rows, `feature_effects` varies features, `performance` and `thresholds` evaluate decisions per
slice, and `feature_statistics` describes the data. This module matches the values of the label
column with the classes of a model. Everything returns arrays or plain values;
`tracklight.what_if` turns them into tables, the dashboard into responses.

No HTTP. May import `tracklight.analysis.tables`, `predictors` and `evaluation`. Start reading at
`workspace.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracklight.analysis.tables.columns import DataColumn
from tracklight.errors import Message, UsageError
from tracklight.types import Bool, Float64, Int64

_MAX_LISTED = 5
_BOOLEANS = {"false": 0.0, "true": 1.0}


def match_labels(column: DataColumn, names: Sequence[Sequence[str]]) -> Int64:
    """Return the class of each row; -1 where the label is missing or not a class.

    Numbers are compared with names that are numbers, and otherwise are the numbers of classes.
    Strings that are no names are numbered in alphabetical order if there are as many as classes.

    Args:
        column: The labels.
        names: The names of the classes, and other names that they had; those that fit most rows
            are used, the first of equal ones.

    Raises:
        UsageError: No label is a class.
    """
    options = _match_numbers(column, names) if column.is_numeric else _match_texts(column, names)
    codes = max(options, key=lambda item: int(np.count_nonzero(item >= 0)))
    is_missing = column.select_missing()
    if not (codes >= 0).any() and not is_missing.all():
        raise UsageError(
            "what_if.unknown_label",
            'the label "{label}" is not a class of the model; its classes are {known}',
            label=format_label(column, int(np.flatnonzero(~is_missing)[0])),
            known=", ".join(names[0][:10]),
        )
    return codes


def _match_numbers(column: DataColumn, names: Sequence[Sequence[str]]) -> list[Int64]:
    numbers = column.to_float64()
    options = [_locate(numbers, [_parse_number(text) for text in name]) for name in names]
    return [*options, _locate(numbers, range(len(names[0])))]


def _locate(numbers: Float64, classes: Sequence[float]) -> Int64:
    """Return the position of each number among some, -1 for others."""
    known = np.array(classes, np.float64)
    order = np.argsort(known)
    places = np.minimum(np.searchsorted(known[order], numbers), len(known) - 1)
    found: Int64 = order[places]
    return np.where(known[found] == numbers, found, -1)


def _parse_number(text: str) -> float:
    if text.lower() in _BOOLEANS:
        return _BOOLEANS[text.lower()]
    try:
        return float(text)
    except ValueError:
        return np.nan


def _match_texts(column: DataColumn, names: Sequence[Sequence[str]]) -> list[Int64]:
    categories = list(column.categories)
    options = [list(name) for name in names]
    options += [texts for texts in _list_vocabularies(column) if len(texts) == len(names[0])]
    results = []
    for option in options:
        places = {text: at for at, text in enumerate(option)}
        table = np.array([*(places.get(text, -1) for text in categories), -1], np.int64)
        results.append(table[column.values])
    return results


def _list_vocabularies(column: DataColumn) -> list[list[str]]:
    """Return the texts of a column, all and those in use, in the order of encoders."""
    categories = list(column.categories)
    used = np.unique(column.values[column.values >= 0])
    return [sorted(categories), sorted(categories[code] for code in used.tolist())]


def find_class_names(column: DataColumn, count: int) -> list[str] | None:
    """Return the labels as names for the classes of a model that only numbers them.

    Args:
        column: The labels.
        count: The number of classes.

    Returns:
        None if the labels are not strings, or not as many as classes.
    """
    if column.type != "string" or column.is_list:
        return None
    return next((texts for texts in _list_vocabularies(column) if len(texts) == count), None)


def describe_unknown_labels(
    column: DataColumn, codes: Int64, is_active: Bool, model: str
) -> Message | None:
    """Say how many rows are left out because their labels are not classes, and which labels.

    Args:
        column: The labels.
        codes: The class of each row from `match_labels`.
        is_active: The rows that are not deleted.
        model: The name of the model.
    """
    rows = np.flatnonzero((codes < 0) & is_active & ~column.select_missing())
    if not len(rows):
        return None
    _, first, counts = np.unique(column.values[rows], return_index=True, return_counts=True)
    shown = np.argsort(-counts, kind="stable")[:_MAX_LISTED]
    texts = [format_label(column, int(rows[first[at]])) for at in shown.tolist()]
    return Message.format(
        "what_if.unknown_labels",
        '{count:,} of {total:,} rows are left out, because their labels are not classes of "{model}'
        '": {labels}',
        count=len(rows),
        total=int(is_active.sum()),
        model=model,
        labels=", ".join([*texts, *(["…"] if len(counts) > _MAX_LISTED else [])]),
    )


def format_label(column: DataColumn, row: int) -> str:
    """Return a label as the name of a class."""
    value = column.get_value(row)
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return str(int(value))
    return str(value)
