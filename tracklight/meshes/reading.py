"""Reads what was logged of one part of a mesh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto, tensor
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.formats.summary import MeshContent
from tracklight.media.steps import make_marks
from tracklight.meshes.moments import Moment
from tracklight.plugin_base import Context, Source
from tracklight.types import Located
from tracklight.util.lru_cache import LruCache

_KEPT_BYTES = 96 << 20
#: 20 million points of 12 bytes are more than any screen has pixels for.
_MOST_BYTES = 240_000_000


@dataclass(frozen=True, eq=False)
class Logged:
    """The numbers of a part, and what its writer said about the whole mesh."""

    step: int
    array: NDArray[Any]
    config: str
    components: int
    """A bit for each part that the mesh is made of; 0 if the writer did not say."""


def read_part(log: Source, located: Located, index: int) -> Logged:
    """Read and decode one part of a mesh, such as its vertices.

    Raises:
        FormatError: The value is not a tensor, or is too large to be decoded.
    """
    value = proto.parse("Value", log.read(located, index))
    if not value.HasField("tensor"):
        raise FormatError(f'the value of "{located.tag}" is no tensor')
    own = _parse_about(value.metadata.plugin_data.content)
    # Only the first value of a tag must have metadata. Its settings hold for later values too, but
    # which parts belong to a later value is then unknown.
    first = _parse_about(log.plugin_data(located.tag).get(located.run, b""))
    return Logged(
        step=int(located.step[index]),
        array=tensor.decode(value.tensor, max_bytes=_MOST_BYTES),
        config=decode_text(own.json_config or first.json_config),
        components=own.components,
    )


def read_parts(read: Callable[[Located, int], Logged], moment: Moment) -> dict[MeshContent, Logged]:
    """Read all parts of a mesh at one step, without those that its vertices do not list."""
    logged = {part: read(*place) for part, place in moment.places.items()}
    base = logged.get(MeshContent.VERTEX)
    if base is not None and base.components:
        logged = {part: one for part, one in logged.items() if base.components & (1 << part)}
        logged[MeshContent.VERTEX] = base
    return logged


class PartReader:
    """Read parts of meshes through an LRU cache of bounded size. Thread-safe."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._parts: LruCache[tuple[str, str, int, int], Logged] = LruCache(max_bytes=_KEPT_BYTES)

    def read(self, located: Located, index: int) -> Logged:
        key = (located.run, located.tag, index, int(make_marks(located)[index]))
        found = self._parts.find(key)
        if found is None:
            found = read_part(self._log, located, index)
            self._parts.put(key, found, found.array.nbytes + len(found.config))
        return found


def _parse_about(content: bytes) -> Message:
    try:
        return proto.parse("MeshPluginData", content)
    except FormatError:
        return proto.MeshPluginData()
