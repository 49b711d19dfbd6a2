"""Files that are one thing at several steps, by the numbers at the end of their names."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from tracklight.embeddings.model import Kind
from tracklight.logdir.tensors import TENSOR_SUFFIXES
from tracklight.tensorfiles.place import join

#: ``model-0003.safetensors``, ``ckpt-12.index``, ``keras_embedding.ckpt-0.weights.h5``, …
_FILE = re.compile(
    r"(?P<stem>.+?)(?:[-_.](?P<step>\d{1,18}))?"
    rf"(?P<suffix>{'|'.join(map(re.escape, TENSOR_SUFFIXES))})"
)
_NAME = re.compile(r"(?P<stem>.+):(?P<step>\d{1,18})")


class Member(NamedTuple):
    """A file of a family; of a checkpoint, its prefix."""

    step: int | None
    kind: Kind
    path: str


def find_families(folder: str, names: Iterable[str]) -> dict[str, list[Member]]:
    """Files with tensors in a folder, grouped by what their names have in common."""
    families: dict[str, list[Member]] = {}
    for name in names:
        found = _FILE.fullmatch(name)
        if found is None:
            continue
        step = int(found["step"]) if found["step"] else None
        is_checkpoint = found["suffix"] == ".index"
        path = join(folder, name.removesuffix(".index") if is_checkpoint else name)
        member = Member(step, "checkpoint" if is_checkpoint else "file", path)
        families.setdefault(found["stem"] + found["suffix"], []).append(member)
    for members in families.values():
        members.sort(key=lambda member: -1 if member.step is None else member.step)
    return families


def find_own_name(member: Member) -> str | None:
    """What a file of a single array is called at every step; None for one that names its own."""
    name = posixpath.basename(member.path)
    found = _FILE.fullmatch(name) if name.endswith(".npy") else None
    return None if found is None else found["stem"]


def split_step(name: str) -> tuple[str, int | None]:
    """The name of a tensor and the step at its end, which writers append: ``words:00003``."""
    found = _NAME.fullmatch(name)
    return (found["stem"], int(found["step"])) if found else (name, None)
