"""In which module an ONNX node was computed, and on which line, where the exporter says so.

PyTorch notes the modules around a node and the stack in the node's properties. Its older exporter
and others put the modules into the node's name, which are scopes as they are.
"""

from __future__ import annotations

import re

from tracklight.formats.event import decode_text
from tracklight.formats.proto import Message
from tracklight.formats.stack_trace import find_line

_SCOPES, _CLASSES = b"pkg.torch.onnx.name_scopes", b"pkg.torch.onnx.class_hierarchy"
_STACK = b"pkg.torch.onnx.stack_trace"
_QUOTED = re.compile(r"'([^']*)'")


def find_scope(node: Message) -> str:
    """As in ``Net/Sequential[blocks]/Block[0]``; empty where nothing is known."""
    properties = _get_properties(node)
    # The last of both is the node itself.
    paths = _QUOTED.findall(properties.get(_SCOPES, ""))[:-1]
    classes = _QUOTED.findall(properties.get(_CLASSES, ""))[:-1]
    parts = []
    for path, module in zip(paths, classes, strict=False):
        kind = module.rpartition(".")[2]
        own = path.rpartition(".")[2]
        parts.append((f"{kind}[{own}]" if own else kind).replace("/", "."))
    return "/".join(parts)


def find_source(node: Message) -> str:
    trace = _get_properties(node).get(_STACK) or decode_text(node.doc_string)
    return find_line(trace)


def join_scopes(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _get_properties(node: Message) -> dict[bytes, str]:
    return {entry.key: decode_text(entry.value) for entry in node.metadata_props}
