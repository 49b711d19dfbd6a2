"""The order a person expects of names with numbers in them: run2 before run10."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")

Part = tuple[str | tuple[int, str], ...]


def natural_key(name: str) -> tuple[tuple[Part, ...], str]:
    """Sort key for run names: part by part of the path, numbers by size, case aside.

    Going part by part keeps a run and the runs below it together: ``a``, ``a/eval``, ``a-2``.
    """
    return tuple(_part_key(part) for part in name.casefold().split("/")), name


def _part_key(part: str) -> Part:
    # re.split with a group alternates text and digits, so equal places hold equal types.
    pieces = _DIGITS.split(part)
    return tuple(_number_key(piece) if i % 2 else piece for i, piece in enumerate(pieces))


def _number_key(digits: str) -> tuple[int, str]:
    # Not int(): Python refuses to convert thousands of digits, and a name may hold them.
    significant = digits.lstrip("0")
    return len(significant), significant
