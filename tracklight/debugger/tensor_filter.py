"""Select tensors by name, type and dtype."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tracklight.writer.warnings import ArgumentError


class TensorFilter:
    """Matches the tensors to watch.

    Args:
        names: A regular expression that may match anywhere in a name; None for all.
        types: Types of layers or operations, such as ``"Linear"``; None for all.
        dtypes: Names of dtypes, such as ``"float16"``; None for all.
    """

    def __init__(
        self,
        names: str | None = None,
        types: Iterable[str] | None = None,
        dtypes: Iterable[str] | None = None,
    ) -> None:
        try:
            self._names = None if names is None else re.compile(names)
        except re.error as error:
            raise ArgumentError("names", f"is not a regular expression: {error}") from None
        self._types = None if types is None else frozenset(it.lower() for it in types)
        self._dtypes = None if dtypes is None else frozenset(str(it) for it in dtypes)

    def matches(self, name: str, kind: str, dtype: str) -> bool:
        return (
            (self._names is None or self._names.search(name) is not None)
            and (self._types is None or not kind or kind.lower() in self._types)
            and (self._dtypes is None or dtype in self._dtypes)
        )
