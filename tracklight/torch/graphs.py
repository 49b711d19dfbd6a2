"""Graphs of models: what is computed, from what, and inside of which module."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.sdk.lenient import Misuse

#: What says to readers that a node is a model's input or output.
IO_NODE = "IO Node"

#: As PyTorch writes it; readers take no notice.
_PRODUCER = 22
#: A RunMetadata that only names the CPU: there to be listed, as nothing was measured.
RUN_METADATA = b"\x0a\x11\x0a\x0f\x0a\x0d/device:CPU:0"


@dataclass(frozen=True, slots=True)
class Node:
    """One operation, under its name in full: the modules that it is in, then its own."""

    name: str
    op: str
    inputs: Sequence[str] = ()
    shapes: Sequence[Sequence[int]] = ()
    detail: str = ""
    dtypes: Sequence[str] = ()
    source: str = ""
    """The line of the program that it comes from."""


class Scopes:
    """Names of modules as PyTorch shows them: ``Net/Sequential[encoder]/Linear[0]``."""

    def __init__(self, model: Any) -> None:
        self._modules = {"": model}
        if hasattr(model, "named_modules"):
            self._modules.update(model.named_modules(remove_duplicate=False))

    def name(self, path: str) -> str:
        """The scope of the module under ``path``, such as ``encoder.0``."""
        if not path:
            return _get_class_name(self._modules[path])
        parent, _, last = path.rpartition(".")
        if path not in self._modules:  # something that is called like a module and is none
            return f"{self.name(parent)}/{last}"
        return f"{self.name(parent)}/{_get_class_name(self._modules[path])}[{last}]"

    def find_tensor(self, path: str, name: str) -> Any | None:
        """What the module under ``path`` has as ``name``, if that is a tensor."""
        found = getattr(self._modules.get(path), name, None)
        return found if hasattr(found, "shape") else None


def read_graph(model: Any, inputs: Any, *, is_verbose: bool, is_strict: bool) -> Message:
    """The GraphDef of a model that is called with ``inputs``, by torch.export or by a trace."""
    import torch

    from tracklight.torch.exported import read_exported
    from tracklight.torch.results import plain_results
    from tracklight.torch.traced import read_scripted, read_traced

    if isinstance(model, (torch.jit.ScriptModule, torch.jit.ScriptFunction)):
        return build_graph(read_scripted(model))
    if not isinstance(model, torch.nn.Module):
        raise Misuse("model", f"must be a torch.nn.Module, not a {type(model).__name__}")
    arguments = _as_arguments(inputs)
    with _evaluating(model), plain_results(model), warnings.catch_warnings():
        # They are about exporting a model for use elsewhere, which nobody is doing here.
        warnings.simplefilter("ignore")
        try:
            return build_graph(read_exported(model, arguments, is_verbose=is_verbose))
        except Exception as error:  # whatever the model's own code does when it is looked into
            refusal = error
        try:
            return build_graph(
                read_traced(model, arguments, is_verbose=is_verbose, is_strict=is_strict)
            )
        except Exception as error:
            reasons = f"exported ({_shorten(refusal)}) nor traced ({_shorten(error)})"
            raise Misuse("model", f"could neither be {reasons}") from error


def build_graph(nodes: Sequence[Node]) -> Message:
    return proto.GraphDef(
        node=map(_build_node, nodes), versions=proto.VersionDef(producer=_PRODUCER)
    )


def shape_attribute(shapes: Sequence[Sequence[int]]) -> Message:
    """The attribute from which readers know the shape of what goes along an edge."""
    listed = proto.AttrValue(list=proto.AttrList(shape=[build_shape(sizes) for sizes in shapes]))
    return proto.Attr(key=b"_output_shapes", value=listed)


def build_shape(sizes: Sequence[int]) -> Message:
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _build_node(node: Node) -> Message:
    attributes = [proto.Attr(key=b"attr", value=proto.AttrValue(s=node.detail.encode()))]
    if node.shapes:
        attributes.append(shape_attribute(node.shapes))
    for key, text in {b"dtype": ", ".join(node.dtypes), b"source": node.source}.items():
        if text:
            attributes.append(proto.Attr(key=key, value=proto.AttrValue(s=text.encode())))
    return proto.NodeDef(
        name=node.name.encode(),
        op=node.op.encode(),
        input=[name.encode() for name in node.inputs],
        attr=attributes,
    )


def name_dtype(dtype: Any) -> str:
    """A type in the words of NumPy."""
    return str(dtype).removeprefix("torch.")


def _shorten(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"[:200]


def _as_arguments(inputs: Any) -> tuple[Any, ...]:
    if inputs is None:
        return ()
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _get_class_name(module: Any) -> str:
    return str(getattr(module, "original_name", type(module).__name__))


@contextmanager
def _evaluating(model: Any) -> Iterator[None]:
    """Have dropout and the like switched off; every module gets its own mode back."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
