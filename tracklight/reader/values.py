"""`Values`: the images, texts, histograms or tensors of one tag, decoded on access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar, overload

import numpy as np

from tracklight.errors import FormatError, LogError, TracklightError
from tracklight.types import Bool, Float64, Int64, Series, ValueLocations
from tracklight.util import html

Item = TypeVar("Item")

_MAX_HTML_VALUES = 3


class ValueRows(Protocol):
    """The steps and times of the values of one tag. The function that reads them knows the rest."""

    @property
    def run(self) -> str: ...
    @property
    def tag(self) -> str: ...
    @property
    def step(self) -> Int64: ...
    @property
    def wall_time(self) -> Float64: ...
    @property
    def overwritten(self) -> Bool: ...
    def write_order(self) -> Int64:
        """Return the row numbers in the order in which they were written."""


class LoggedRows:
    """The rows of one tag: scalar points in the index, then values located in event files."""

    def __init__(self, points: Series, others: ValueLocations) -> None:
        self.points = points
        self.located = others
        self.run, self.tag = others.run, others.tag
        self.step: Int64 = np.concatenate([points.step, others.step])
        self.wall_time: Float64 = np.concatenate([points.wall_time, others.wall_time])
        self.overwritten: Bool = np.concatenate([points.overwritten, others.overwritten])

    def write_order(self) -> Int64:
        """Return the write order. Points and located values are ordered by wall time."""
        if len(self.points) and len(self.located):
            return np.argsort(self.wall_time, kind="stable")
        return np.arange(len(self.step))

    def find_located_index(self, row: int) -> int | None:
        """Return the index of a row among the located values; None for a point."""
        return row - len(self.points) if row >= len(self.points) else None


class Values(Sequence[Item]):
    """The values of one tag of one run, in the order written.

    ``values[3]`` reads and decodes one value; ``values[-5:]`` reads nothing yet.

    Example:
        >>> images = log.images("train", "input")
        >>> images[-1].to_arrays()[0].shape
        (28, 28, 1)
        >>> images.step.tolist()
        [0, 100, 200]
    """

    def __init__(
        self, rows: ValueRows, read: Callable[[int], Item], selected: Int64 | None = None
    ) -> None:
        self._rows = rows
        self._read = read
        self._selected = rows.write_order() if selected is None else selected
        self.run, self.tag = rows.run, rows.tag
        self.step: Int64 = rows.step[self._selected]
        self.wall_time: Float64 = rows.wall_time[self._selected]
        self.overwritten: Bool = rows.overwritten[self._selected]

    def __len__(self) -> int:
        return len(self._selected)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> Values[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | Values[Item]:
        if isinstance(index, slice):
            return Values(self._rows, self._read, self._selected[index])
        row = int(self._selected[index])
        try:
            return self._read(row)
        except FormatError as error:
            step = self._rows.step[row]
            raise FormatError(
                f'"{self.tag}" in run "{self.run}" at step {step}: {error}'
            ) from error

    def __repr__(self) -> str:
        count = html.format_count(len(self), "value")
        return f'<{count} of "{self.tag}" in run "{self.run}">'

    def _repr_html_(self) -> str:
        first = max(0, len(self) - _MAX_HTML_VALUES)
        rows = [
            (int(self.step[at]), html.format_time(float(self.wall_time[at])), self._preview(at))
            for at in range(first, len(self))
        ]
        return html.render_block(
            f"{self.tag} ({self.run}): {html.format_count(len(self), 'value')}",
            html.render_table(("step", "wall time", "value"), rows),
            html.render_note(f"showing the last {len(rows)}") if first else "",
        )

    def _preview(self, at: int) -> str:
        try:
            value = self[at]
        except TracklightError as error:
            return str(error)
        if isinstance(value, np.ndarray) and value.ndim == 0:
            return str(value.item())
        own = getattr(value, "_repr_html_", None)
        return html.Markup(own()) if own is not None else repr(value)

    def without_overwritten(self) -> Values[Item]:
        """Return the values that were not overwritten; their steps increase."""
        return Values(self._rows, self._read, self._selected[~self.overwritten])

    def at(self, step: int) -> Item:
        """Return the last value written for a step.

        Raises:
            LogError: No value was logged at this step.
        """
        matching = np.flatnonzero(self.step == step)
        if not len(matching):
            raise LogError(f'"{self.tag}" in run "{self.run}" has no value at step {step}')
        return self[int(matching[-1])]
