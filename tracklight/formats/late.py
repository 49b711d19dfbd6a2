"""Lists that are read when somebody looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar, overload

Thing = TypeVar("Thing")


class Late(Sequence[Thing]):
    def __init__(self, read: Callable[[], Sequence[Thing]]) -> None:
        self._read = read

    @cached_property
    def _all(self) -> Sequence[Thing]:
        return self._read()

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Thing]:
        return iter(self._all)

    @overload
    def __getitem__(self, at: int) -> Thing: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Thing]: ...
    def __getitem__(self, at: int | slice) -> Thing | Sequence[Thing]:
        return self._all[at]
