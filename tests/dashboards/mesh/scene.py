"""Write meshes to a log, valid or not, and open them in the dashboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import ArrayLike

from tests.dashboards.opening import make_context
from tests.index import logs
from tracklight.dashboards.mesh import Mesh
from tracklight.formats import proto, summary
from tracklight.formats.proto import Message
from tracklight.formats.summary import encode_event
from tracklight.formats.tfrecord import encode_record

#: A tetrahedron.
VERTICES = np.array([[0, 0, 0], [2, 0, 0], [0, 2, 0], [0, 0, 4]], np.float32)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]], np.int32)
COLORS = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255]], np.uint8)

Logged = tuple[int, list[Message]]


def make_part(
    tag: str, array: ArrayLike, *, components: int = 0, config: object = None, bare: bool = False
) -> Message:
    """Return a value of one series of a mesh."""
    config_json = config if isinstance(config, str) else json.dumps(config or {})
    content = proto.MeshPluginData(components=components, json_config=config_json.encode())
    return summary.tensor(tag, array, summary.make_metadata("mesh", None if bare else content))


def write_run(folder: Path, *logged: Logged, run: str = "run") -> None:
    (folder / run).mkdir(parents=True)
    records = [encode_event(1.7e9 + step, step, values) for step, values in logged]
    path = folder / run / "events.out.tfevents.1"
    path.write_bytes(b"".join(map(encode_record, records)))


class Scene:
    """The Mesh dashboard of a log."""

    def __init__(self, folder: Path) -> None:
        self.catalog = logs.open_catalog(folder)
        self.catalog.refresh()
        self.context = make_context(self.catalog)
        self.dashboard = Mesh(self.context)

    def request(self, path: str, **fields: object) -> Any:
        route = next(route for route in self.dashboard.routes() if route.path == path)
        return route.handler(msgspec.convert(fields, route.request_type))

    def steps(self, *names: str) -> dict[tuple[str, str], list[int]]:
        series = self.request("steps", tags=list(names)).series
        return {(entry.run, entry.tag): entry.step.tolist() for entry in series}

    def geometry(self, name: str, index: int = 0, **fields: object) -> Any:
        return self.request("geometry", run="run", tag=name, index=index, **fields)

    def notes(self, name: str, index: int = 0) -> list[str]:
        return [note.text for note in self.geometry(name, index).info.notes]
