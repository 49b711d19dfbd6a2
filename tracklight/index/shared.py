"""The tags of all runs together: what a page with ten thousand runs asks for first.

Most runs of a log have the same tags with the same metadata: one form, described once. A run in one
file whose steps only rise then adds a few columns to its form; the others are listed tag by tag.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from tracklight.formats.batch import META_GRAPH_TAG
from tracklight.index.block import Block, Head
from tracklight.index.file import EventFile
from tracklight.index.kinds import is_known, kind_of
from tracklight.index.listing import list_tags
from tracklight.index.run import RunIndex, decode_tag
from tracklight.types import Kind, SharedTag, Stamp, TagInfo

_FormKey = tuple[tuple[bytes, ...], tuple[int, ...], tuple[tuple[int, bytes], ...]]


def share_tags(runs: Sequence[RunIndex]) -> tuple[SharedTag, ...]:
    """The tags of some runs, each with the runs that have it, in the order of the runs."""
    forms: dict[_FormKey, _Form] = {}
    others = [run for run in runs if not _add_to_form(run, forms)]
    shares = [share for form in forms.values() for share in form.iter_shares()]
    shares += [share_alone(run.name, info) for run in others for info in list_tags(run)]
    return merge_shares(shares, [run.name for run in runs])


def share_alone(run: str, info: TagInfo) -> SharedTag:
    """One tag of one run, in the form of a tag of many."""
    return SharedTag(
        info.tag, info.plugin, info.kind, (run,), info.count, info.overwritten,
        info.first, info.last, info.display_name, info.description,
    )  # fmt: skip


def merge_shares(shares: Iterable[SharedTag], runs: Sequence[str]) -> tuple[SharedTag, ...]:
    """One row for each tag and kind, with its runs in the order of ``runs``."""
    place = {run: at for at, run in enumerate(runs)}
    groups: dict[tuple[str, Kind], list[SharedTag]] = {}
    for share in shares:
        groups.setdefault((share.tag, share.kind), []).append(share)
    return tuple(_merge(group, place) if group[1:] else group[0] for group in groups.values())


def _merge(group: list[SharedTag], place: dict[str, int]) -> SharedTag:
    names = (run for share in group for run in share.runs)
    return SharedTag(
        tag=group[0].tag,
        plugin=next((share.plugin for share in group if share.plugin), ""),
        kind=group[0].kind,
        runs=tuple(sorted(names, key=place.__getitem__)),
        count=sum(share.count for share in group),
        overwritten=sum(share.overwritten for share in group),
        first=min((s.first for s in group if s.first), key=lambda at: at.step, default=None),
        last=max((s.last for s in group if s.last), key=lambda at: at.step, default=None),
        display_name=next((share.display_name for share in group if share.display_name), ""),
        description=next((share.description for share in group if share.description), ""),
    )


def _add_to_form(run: RunIndex, forms: dict[_FormKey, _Form]) -> bool:
    """False for a run that has to be listed by itself."""
    if len(run.files) != 1:
        return False
    (file,) = run.files
    heads = [block.head for block in _iter_blocks(file)]
    if len(file.sessions) > 1 or not _keep_rising(heads):
        return False
    key = file.tags, file.contents, tuple(file.metadata.items())
    form = forms.get(key)
    if form is None:
        form = forms[key] = _Form(run)
    return form.add(run.name, heads)


def _iter_blocks(file: EventFile) -> Iterator[Block[Any]]:
    for session in file.sessions:
        yield from session.points.blocks
        yield from session.references.blocks


def _keep_rising(heads: list[Head]) -> bool:
    """Within blocks; and blocks that share no series cannot disagree."""
    if not all(head.rises.all() for head in heads):
        return False
    if len(heads) < 2:
        return True
    # Series are numbered without gaps. (`np.unique` would bring along NumPy's masked arrays, 1 MB.)
    shares = np.bincount(np.concatenate([head.series for head in heads]))
    return bool((shares < 2).all())


class _Form:
    """Runs with the same tags, summed up tag by tag."""

    def __init__(self, run: RunIndex) -> None:
        size = len(run.files[0].tags)
        self._tags = run.files[0].tags
        self._told = [run.describe([(0, series)]) for series in range(size)]
        self._is_clear = all(is_known(plugin) for _, plugin in self._told)
        self._runs: list[str] = []
        self._count = np.zeros(size, np.int64)
        self._first_step = np.full(size, np.iinfo(np.int64).max)
        self._first_wall = np.zeros(size)
        self._last_step = np.full(size, np.iinfo(np.int64).min)
        self._last_wall = np.zeros(size)

    def add(self, run: str, heads: Iterable[Head]) -> bool:
        """False where only the values of a run tell what kind of thing a tag holds."""
        if not self._is_clear:
            return False
        self._runs.append(run)
        for head in heads:
            self._add_head(head)
        return True

    def _add_head(self, head: Head) -> None:
        at = head.series
        self._count[at] += np.diff(head.starts)
        earlier = head.first_step < self._first_step[at]
        if earlier.any():
            self._first_step[at[earlier]] = head.first_step[earlier]
            self._first_wall[at[earlier]] = head.first_wall[earlier]
        later = head.last_step > self._last_step[at]
        if later.any():
            self._last_step[at[later]] = head.last_step[later]
            self._last_wall[at[later]] = head.last_wall[later]

    def iter_shares(self) -> Iterator[SharedTag]:
        runs = tuple(self._runs)
        for series, tag in enumerate(self._tags if runs else ()):
            if tag == META_GRAPH_TAG or not self._count[series]:
                continue
            metadata, plugin = self._told[series]
            yield SharedTag(
                tag=decode_tag(tag),
                plugin=plugin,
                kind=kind_of(plugin, has_points=False),
                runs=runs,
                count=int(self._count[series]),
                overwritten=0,
                first=Stamp(int(self._first_step[series]), float(self._first_wall[series])),
                last=Stamp(int(self._last_step[series]), float(self._last_wall[series])),
                display_name=metadata.display_name,
                description=metadata.description,
            )
