"""Names of variables as people know them, and which of them only an optimizer needs.

TensorFlow 2 saves objects that hold objects, and a variable goes by the shortest way that leads
to it. That may be through the optimizer, so what a variable is cannot be told from its key: the
saved graph of objects tells.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field

from tracklight.formats import proto
from tracklight.formats.proto import Message

GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"
_SLOT = "/.OPTIMIZER_SLOT/"

#: What TensorFlow calls a variable that was given no name.
_UNNAMED = re.compile(r"(.*/)?Variable(_\d+)?")
#: What TensorFlow 1 appends to the name of a variable for the state that an optimizer keeps of it.
_V1_STATE = re.compile(
    r"(.+)/(Adam(ax|W|_\d+)?(_\d+)?|Ada(grad|delta|gradDA)(_\d+)?|Momentum(_\d+)?|RMSProp(_\d+)?"
    r"|Ftrl(_\d+)?|ExponentialMovingAverage|LARS\w*|LAMB\w*)"
)
#: Beside the list of its variables, an optimizer has at least one of these.
_OPTIMIZER_MARKS = {b"_learning_rate", b"learning_rate", b"_iterations", b"iterations"}


@dataclass
class Objects:
    """What the graph of objects says of keys; empty where there is none."""

    full_names: dict[str, str] = field(default_factory=dict)
    state: set[str] = field(default_factory=set)


def parse_objects(data: bytes) -> Objects:
    """Take what is worth knowing from a TrackableObjectGraph."""
    nodes = proto.parse("TrackableObjectGraph", data).nodes
    objects = Objects()
    state = set(_iter_state_nodes(nodes))
    for place, node in enumerate(nodes):
        for attribute in node.attributes:
            key = decode_text(attribute.checkpoint_key)
            objects.full_names[key] = decode_text(attribute.full_name)
            if place in state:
                objects.state.add(key)
    return objects


def _iter_state_nodes(nodes: Iterable[Message]) -> Iterator[int]:
    nodes = list(nodes)
    for node in nodes:
        yield from (slot.slot_variable_node_id for slot in node.slot_variables)
        children = {child.local_name: child.node_id for child in node.children}
        if b"_variables" in children and _OPTIMIZER_MARKS & children.keys():
            trained = _list_children(nodes, children.get(b"_trainable_variables", -1))
            yield from set(_list_children(nodes, children[b"_variables"])) - set(trained)


def _list_children(nodes: list[Message], place: int) -> list[int]:
    if not 0 <= place < len(nodes):
        return []
    return [child.node_id for child in nodes[place].children]


def name_all(keys: Collection[str], objects: Objects) -> dict[str, str]:
    """The name to show for every key, each only once."""
    full_names = {key: objects.full_names.get(key, "") for key in keys}
    counts = Counter(full_names.values())
    return {
        key: full if full and counts[full] == 1 and not _UNNAMED.fullmatch(full) else _shorten(key)
        for key, full in full_names.items()
    }


def _shorten(key: str) -> str:
    if not key.endswith(_SUFFIX):
        return key
    return key.removesuffix(_SUFFIX).replace(".S", "/").replace("..", ".")


def is_state(key: str, keys: Collection[str], objects: Objects) -> bool:
    """Whether only an optimizer needs what stands under a key."""
    if key in objects.state or _SLOT in key:
        return True
    owner = _V1_STATE.fullmatch(key)
    return owner is not None and owner[1] in keys


def decode_text(text: bytes) -> str:
    return text.decode("utf-8", "replace")
