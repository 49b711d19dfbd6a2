"""Turns what JAX traces of a function, a jaxpr, into a GraphDef."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from tracklight.formats import proto
from tracklight.formats.proto import Message
from tracklight.util.stack_trace import extract_jax_line

#: Primitives that run a function of their own just once, and so need no node for themselves.
_CALL_PRIMITIVES = frozenset(
    {
        "closed_call",
        "core_call",
        "custom_jvp_call",
        "custom_lin",
        "custom_vjp_call",
        "custom_vjp_call_jaxpr",
        "jit",
        "pjit",
        "remote",
        "remat",
        "checkpoint",
        "xla_call",
    }
)
_MAX_PARAMETER_CHARS = 200


def build_jaxpr_graph(jaxpr: Any, name: str) -> Message:
    """The graph of a function; calls of functions and named scopes become scopes in it."""
    drawing = _GraphBuilder()
    inner = jaxpr.jaxpr
    arguments = getattr(inner.debug_info, "arg_names", None) or ()
    names: dict[Any, str] = {}
    for number, variable in enumerate(inner.invars):
        label = arguments[number] if number < len(arguments) else None
        node = drawing.add(f"{name}/{_sanitize_name(label or f'input_{number}')}", "Placeholder")
        drawing.describe(node, [variable.aval], {})
        names[variable] = node.name.decode()
    results = drawing.add_jaxpr(inner, names, name)
    for number, (variable, result) in enumerate(zip(inner.outvars, results, strict=True)):
        node = drawing.add(f"{name}/output_{number}", "Identity", [result])
        drawing.describe(node, [variable.aval], {})
    return proto.GraphDef(node=drawing.nodes, versions=proto.VersionDef(producer=1))


class _GraphBuilder:
    """The nodes so far, each under a name that no other has."""

    def __init__(self) -> None:
        self.nodes: list[Message] = []
        self._name_counts: dict[str, int] = {}

    def add_jaxpr(self, jaxpr: Any, names: dict[Any, str], scope: str) -> list[str]:
        """Add the equations of a jaxpr whose inputs have ``names``; return its outputs' names."""
        for number, variable in enumerate(jaxpr.constvars):
            if variable not in names:
                node = self.add(f"{scope}/constant_{number}", "Const")
                self.describe(node, [variable.aval], {})
                names[variable] = node.name.decode()
        for equation in jaxpr.eqns:
            stack = str(equation.source_info.name_stack).split("/")
            inside = "/".join([scope, *(_sanitize_name(part) for part in stack if part)])
            sources = [self._get_source_name(item, names, inside) for item in equation.invars]
            outputs = self._add_equation(equation, sources, inside)
            names.update(zip(equation.outvars, outputs, strict=True))
        return [self._get_source_name(item, names, scope) for item in jaxpr.outvars]

    def add(self, name: str, op: str, inputs: Sequence[str] = ()) -> Message:
        name = self._make_unique(name)
        sources = [source.encode() for source in inputs]
        node = proto.NodeDef(name=name.encode(), op=op.encode(), input=sources)
        self.nodes.append(node)
        return node

    def describe(self, node: Message, avals: Sequence[Any], parameters: dict[str, Any]) -> None:
        """Say of what shape a node's results are, and what else there is to know of it."""
        shapes = [_build_shape(getattr(aval, "shape", ())) for aval in avals]
        listed = proto.AttrValue(list=proto.AttrList(shape=shapes))
        node.attr.append(proto.Attr(key=b"_output_shapes", value=listed))
        types = ", ".join(str(getattr(aval, "dtype", aval)) for aval in avals)
        for key, value in {"dtype": types, **parameters}.items():
            text = str(value)[:_MAX_PARAMETER_CHARS].encode()
            node.attr.append(proto.Attr(key=key.encode(), value=proto.AttrValue(s=text)))

    def _add_equation(self, equation: Any, sources: list[str], scope: str) -> list[str]:
        primitive = equation.primitive.name
        inner = _collect_jaxprs(equation.params)
        if primitive in _CALL_PRIMITIVES and len(inner) == 1:
            (called,) = inner.values()
            title = self._make_unique(
                f"{scope}/{_sanitize_name(equation.params.get('name') or primitive)}"
            )
            return self.add_jaxpr(called, dict(zip(called.invars, sources, strict=False)), title)
        if not inner:
            return self._add_primitive(equation, sources, f"{scope}/{primitive}")
        # A loop or a choice: its functions get a scope each, and a node at their end joins them.
        title = self._make_unique(f"{scope}/{primitive}")
        results = []
        for key, body in inner.items():
            operands = _get_operands(equation, key, sources)[-len(body.invars) :]
            names = dict(zip(body.invars, operands, strict=False))
            results += self.add_jaxpr(body, names, f"{title}/{key}")
        return self._add_primitive(equation, sources + results, f"{title}/{primitive}")

    def _add_primitive(self, equation: Any, sources: list[str], name: str) -> list[str]:
        node = self.add(name, equation.primitive.name, sources)
        plain = {key: item for key, item in equation.params.items() if not _list_jaxprs(item)}
        plain["source"] = _get_source_line(equation)
        self.describe(node, [variable.aval for variable in equation.outvars], plain)
        name = node.name.decode()
        return [f"{name}:{index}" if index else name for index in range(len(equation.outvars))]

    def _get_source_name(self, item: Any, names: dict[Any, str], scope: str) -> str:
        if not hasattr(item, "val"):
            return names[item] if item in names else self._add_unbound_input(item, names, scope)
        node = self.add(f"{scope}/constant", "Const")
        self.describe(node, [item.aval], {"value": item.val})
        return str(node.name.decode())

    def _add_unbound_input(self, item: Any, names: dict[Any, str], scope: str) -> str:
        """An input of an inner function that stands for nothing outside of it."""
        node = self.add(f"{scope}/input", "Placeholder")
        self.describe(node, [item.aval], {})
        names[item] = node.name.decode()
        return names[item]

    def _make_unique(self, name: str) -> str:
        count = self._name_counts.get(name, 0)
        self._name_counts[name] = count + 1
        return self._make_unique(f"{name}_{count}") if count else name


def _collect_jaxprs(parameters: dict[str, Any]) -> dict[str, Any]:
    """The functions among the parameters of a primitive, by the names of those."""
    found = {}
    for key, value in parameters.items():
        jaxprs = _list_jaxprs(value)
        for number, jaxpr in enumerate(jaxprs):
            found[f"{key}_{number}" if len(jaxprs) > 1 else key] = jaxpr
    return found


def _list_jaxprs(value: Any) -> list[Any]:
    items = value if isinstance(value, (tuple, list)) else [value]
    jaxprs = [getattr(item, "jaxpr", item) for item in items]
    return [jaxpr for jaxpr in jaxprs if hasattr(jaxpr, "eqns")]


def _get_operands(equation: Any, key: str, sources: list[str]) -> list[str]:
    """What a function of a primitive is called with."""
    if equation.primitive.name != "while":
        return sources
    # Constants of the condition, constants of the body, and what goes around in the loop.
    condition = equation.params["cond_nconsts"]
    carried = condition + equation.params["body_nconsts"]
    constants = sources[:condition] if key == "cond_jaxpr" else sources[condition:carried]
    return constants + sources[carried:]


def _get_source_line(equation: Any) -> str:
    """The user's line, for which JAX has no public way to ask."""
    module = sys.modules.get("jax._src.source_info_util")
    summarize = getattr(module, "summarize", None)
    return "" if summarize is None else extract_jax_line(str(summarize(equation.source_info)))


def _build_shape(shape: Sequence[Any]) -> Message:
    # A size that is not known until the function runs is a symbol.
    sizes = [size if isinstance(size, int) else -1 for size in shape]
    return proto.TensorShapeProto(dim=[proto.Dim(size=size) for size in sizes])


def _sanitize_name(label: str) -> str:
    """A part of a node's name: readers split names at slashes, and at colons for outputs."""
    for sign in "/:^":
        label = label.replace(sign, ".")
    return label.strip() or "unnamed"
