"""Reads what was logged of one part of a mesh."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from tracklight.errors import FormatError
from tracklight.formats import proto, tensor
from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.media.shelf import Shelf
from tracklight.media.steps import make_marks
from tracklight.plugin import Context
from tracklight.types import Located

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


class PartReader:
    """The last parts read, within a bound; may be asked from any thread."""

    def __init__(self, context: Context) -> None:
        self._log = context.log
        self._parts: Shelf[tuple[str, str, int, int], Logged] = Shelf(_KEPT_BYTES)

    def read(self, located: Located, index: int) -> Logged:
        key = (located.run, located.tag, index, int(make_marks(located)[index]))
        found = self._parts.find(key)
        if found is None:
            found = self._decode(located, index)
            self._parts.keep(key, found, found.array.nbytes + len(found.config))
        return found

    def _decode(self, located: Located, index: int) -> Logged:
        value = proto.parse("Value", self._log.read(located, index))
        if not value.HasField("tensor"):
            raise FormatError(f'the value of "{located.tag}" is no tensor')
        own = _parse_about(value.metadata.plugin_data.content)
        # A later value may go without metadata: the settings of the first one then hold for it, but
        # which parts belong to it is then not said.
        first = _parse_about(self._log.plugin_data(located.tag).get(located.run, b""))
        return Logged(
            step=int(located.step[index]),
            array=tensor.decode(value.tensor, max_bytes=_MOST_BYTES),
            config=decode_text(own.json_config or first.json_config),
            components=own.components,
        )


def _parse_about(content: bytes) -> Message:
    try:
        return proto.parse("MeshPluginData", content)
    except FormatError:
        return proto.MeshPluginData()
