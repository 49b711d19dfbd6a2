"""The order a person expects of names with numbers in them: run2 before run10."""

from __future__ import annotations

import re
import struct

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?")


def natural_key(name: str) -> tuple[str, str]:
    """Sort key for run names: part by part of the path, numbers by value, case aside.

    Numbers are those of learning rates, so ``lr3e-4`` is before ``lr1e-3`` and ``lr0.15`` before
    ``lr0.2``. Going part by part keeps a run and the runs below it together: ``a``, ``a/eval``,
    ``a-2``.
    """
    by_part = name.casefold().replace("/", "\0")
    return _NUMBER.sub(_write_sortable, by_part), name


def _write_sortable(number: re.Match[str]) -> str:
    # The bytes of floats that are not negative sort as the floats do, and a number of any length
    # is a float. The zero puts it where digits stand among other characters.
    return "0" + struct.pack(">d", float(number[0])).hex()
