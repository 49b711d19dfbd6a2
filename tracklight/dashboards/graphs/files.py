"""A graph as a file that other programs read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from tracklight.dashboards.graphs.asks import FileAsk
from tracklight.dashboards.graphs.finding import get_any
from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.attributes import format_shape
from tracklight.graphs.levels import Level
from tracklight.plugin import Stream

_UNSAFE = re.compile(r"[^\w.-]+")
_TOGETHER = 500


def make_file(atlas: Atlas, ask: FileAsk, title: str) -> Stream:
    """All nodes of a group, without scopes folded, and the edges between them."""
    spot = atlas.locate(ask.group)
    level = get_any(spot, True)
    lines = _iter_json(spot, level) if ask.format == "json" else _iter_dot(spot, level)
    media_type = "application/json" if ask.format == "json" else "text/vnd.graphviz"
    name = _UNSAFE.sub("-", f"{title}-{ask.group}").strip("-.") or "graph"
    return Stream(_join(lines), media_type, f"{name[:100]}.{ask.format}")


def _iter_json(spot: Spot, level: Level) -> Iterator[bytes]:
    yield b'{"nodes":[\n'
    for number, place in enumerate(_list_places(spot, level)):
        yield (b",\n" if number else b"") + msgspec.json.encode(_describe(spot, place))
    yield b"\n]}\n"


def _describe(spot: Spot, place: int) -> dict[str, object]:
    graph, sheet = spot.sheet.graph, spot.sheet
    detail = graph.describe(place)
    rank = int(sheet.hierarchy.rank[place])
    edges = sorted(
        sheet.hierarchy.find_incoming(rank, rank + 1).tolist(),
        key=lambda edge: int(graph.edges.position[edge]),
    )
    return {
        "name": graph.names[place],
        "op": graph.ops[place],
        "inputs": [_name_input(spot, edge) for edge in edges],
        "outputs": [
            {"dtype": output.dtype, "shape": output.shape and list(output.shape)}
            for output in detail.outputs
        ],
        "device": detail.device,
        "parameters": detail.parameters,
        "attributes": dict(detail.attributes),
        "functions": list(detail.calls),
        "source": detail.source,
    }


def _name_input(spot: Spot, edge: int) -> str:
    """As a GraphDef writes it."""
    edges = spot.sheet.graph.edges
    name = spot.sheet.graph.names[edges.source[edge]]
    output = edges.output[edge]
    if edges.control[edge]:
        return f"^{name}"
    return name if output in ("", "0") else f"{name}:{output}"


def _iter_dot(spot: Spot, level: Level) -> Iterator[bytes]:
    """Scopes are clusters, so that Graphviz draws them as boxes."""
    hierarchy, graph = spot.sheet.hierarchy, spot.sheet.graph
    yield b"digraph {\n  rankdir=TB;\n  node [shape=box, style=rounded];\n"
    open_scopes: list[str] = []
    for place in _list_places(spot, level):
        path = hierarchy.paths[place]
        yield from _move(open_scopes, path.split("/")[:-1])
        label = f"{path.rpartition('/')[2]}\n{graph.ops[place]}".strip()
        indent = "  " * (len(open_scopes) + 1)
        yield f"{indent}{_quote(path)} [label={_quote(label)}];\n".encode()
    yield from _move(open_scopes, [])
    for edge in hierarchy.find_incoming(level.first, level.last).tolist():
        yield _draw_edge(spot, level, edge)
    yield b"}\n"


def _move(opened: list[str], wanted: list[str]) -> Iterator[bytes]:
    """Close the scopes that are left and open those that are entered."""
    common = 0
    while common < min(len(opened), len(wanted)) and opened[common] == wanted[common]:
        common += 1
    while len(opened) > common:
        yield f"{'  ' * len(opened)}}}\n".encode()
        opened.pop()
    for name in wanted[common:]:
        opened.append(name)
        indent = "  " * len(opened)
        cluster = _quote("cluster_" + "/".join(opened))
        yield f"{indent}subgraph {cluster} {{\n{indent}  label={_quote(name)};\n".encode()


def _draw_edge(spot: Spot, level: Level, edge: int) -> bytes:
    hierarchy, edges = spot.sheet.hierarchy, spot.sheet.graph.edges
    source, target = int(edges.source[edge]), int(edges.target[edge])
    if not level.first <= hierarchy.rank[source] < level.last:
        return b""
    if edges.control[edge]:
        style = " [style=dashed]"
    else:
        tensor = spot.sheet.tensors.carried(edge)
        shape = "" if tensor is None else format_shape(tensor.shape)
        style = f" [label={_quote(shape)}]" if shape else ""
    ends = f"{_quote(hierarchy.paths[source])} -> {_quote(hierarchy.paths[target])}"
    return f"  {ends}{style};\n".encode()


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def _list_places(spot: Spot, level: Level) -> list[int]:
    places: list[int] = spot.sheet.hierarchy.order[level.first : level.last].tolist()
    return places


def _join(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Fewer, larger pieces."""
    pieces: list[bytes] = []
    for line in lines:
        pieces.append(line)
        if len(pieces) >= _TOGETHER:
            yield b"".join(pieces)
            pieces.clear()
    yield b"".join(pieces)
