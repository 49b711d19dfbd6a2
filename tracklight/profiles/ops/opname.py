"""Which op an event is, by its name: one of TensorFlow, tf.data or JAX, a copy, or none."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_TF_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_./>-]*\Z")
_TF_TYPE = re.compile(r"[A-Z_][A-Za-z0-9_]*\Z")
_JAX_TYPE = re.compile(r"[a-z_][a-z0-9_]*(\[.*\])?\Z", re.DOTALL)
_NUMBERED = re.compile(r"(.*)_[+-]?\d+\Z", re.DOTALL)
_COPIES = ("MemcpyHToD", "MemcpyDToH", "MemcpyDToD", "MemcpyHToH")


class Op(NamedTuple):
    name: str
    type: str


@lru_cache(maxsize=65_536)
def find_op(name: str) -> Op | None:
    left, colon, right = name.partition(":")
    if not colon:
        copy = next((each for each in _COPIES if left.lower().startswith(each.lower())), None)
        return Op(name, copy) if copy else None
    if left == "Iterator":
        return Op(name, "Dataset")
    if _TF_NAME.match(left) and _TF_TYPE.match(right):
        return Op(left, right)
    kind = right or _unnumbered(left.rpartition("/")[2])
    if _JAX_TYPE.match(kind):
        return Op(left, kind.partition("[")[0])
    return None if right else Op(left, kind)


def _unnumbered(name: str) -> str:
    numbered = _NUMBERED.match(name)
    return numbered[1] if numbered else name
