"""Parse StableHLO text, as returned by ``jax.jit(f).lower(x).as_text()``: one operation per line.

The function ``main`` becomes the graph, the others become functions that it calls. Operations in
a region of a loop or branch are in a scope below that operation, which reads what the region
returns. With ``debug_info=True`` the text also has named scopes and source lines; those inside of a
region are below its scope.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracklight.analysis.graphs import (
    ARGUMENT,
    INPUT,
    OUTPUT,
    RESULT,
    EdgeBuilder,
    Graph,
    NodeDetails,
    Shape,
    TensorSpec,
    UniqueNames,
)
from tracklight.errors import FormatError
from tracklight.util.parsing import format_source_line

_ENTRY = "main"
#: Dialects with operations of StableHLO; a small module may have nothing but one of another kind.
_DIALECT = re.compile(r"\b(?:stablehlo|chlo|mhlo)\.")
_FUNCTION = re.compile(r"func\.func\b[^@]*@([\w.$-]+|\"[^\"]*\")\((.*)$")

_OPERATION = re.compile(r'((?:%[\w.$-]+(?::\d{1,9})?(?:, | = )){0,1000})"?([a-z_][\w$.]*)"?(.*)$')
#: A name of one or several results: ``%0``, ``%0:2``.
_RESULT = re.compile(r"%([\w.$-]+)(?::(\d{1,9}))?")
_ARGUMENT = re.compile(r"%([\w.$-]+): ([^%]*)")
_VALUE = re.compile(r"%([\w.$-]+)(?:#(\d+))?")
#: ``%iterArg = %init``: a value inside of a loop and the one outside that it starts with.
_LOOP_VALUE = re.compile(r"%([\w.$-]+) = %([\w.$-]+)(?:#(\d+))?")
_CALLEE = re.compile(r"@([\w.$-]+)")
_REGION = re.compile(r"(?:\}\)?\s*)?,?\s*(\w*)\s*(?:\([^)]*\)\s*)?\{$")
#: What JAX calls the regions of loops and branches.
_REGION_SCOPE = re.compile(r"cond|body|branch_\d+_fun")
_MAX_REGION_DEPTH = 100
#: How much of the end of a line is searched for the label of a region.
_LABEL_LENGTH = 300

_TENSOR = re.compile(r"tensor<((?:(?:\d{1,19}|\?|\*)x){0,100})(complex<\w+>|\w+)")
_TYPES = {
    "i1": "bool",
    "bf16": "bfloat16",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
_NUMBER_TYPE = re.compile(r"(u?)(?:s?)([if])(\d{1,3})")
_OPERAND = re.compile(r"%[\w.$#-]+")
_OPERAND_LIST = re.compile(r"\([^()%]{0,200}%[^()]{0,2000}\)")
_PUNCTUATION = " ,(){}<>="
_MAX_ATTRIBUTES_LENGTH = 500

_LOCATION = re.compile(r"loc\((#loc\d*|\"(?:[^\"\\]|\\.)*\"|unknown)[^()]*\)\s*$")
_LOCATION_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_NAMED_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\((#loc\d*)\))?$')
_FILE_LOCATION = re.compile(r'"((?:[^"\\]|\\.)*)":(\d{1,9}):\d')
_CALLSITE = re.compile(r"callsite\((#loc\d*) at ")
_MAX_LOCATION_LENGTH = 2000
_MAX_LOCATION_STEPS = 20


def is_stablehlo(text: str) -> bool:
    """Return whether a text, or the start of one, looks like StableHLO."""
    return "func.func" in text and _DIALECT.search(text) is not None


def parse_stablehlo(text: str) -> Graph:
    """Parse a StableHLO module.

    Raises:
        FormatError: The text has no function.
    """
    locations = Locations(text)
    functions: dict[str, FunctionParser] = {}
    current: FunctionParser | None = None
    for line in map(str.strip, text.splitlines()):
        header = _FUNCTION.match(line)
        if header:
            name = header[1].strip('"')
            current = functions[name] = FunctionParser(name == _ENTRY, locations)
            current.parse_signature(header[2])
        elif current is not None:
            current.parse_line(line)
    if not functions:
        raise FormatError("graphs.no_function", "the text has no function")
    entry = functions.pop(_ENTRY if _ENTRY in functions else next(iter(functions)))
    return entry.build_graph({name: item.build_graph({}) for name, item in functions.items()})


@dataclass(slots=True)
class _Node:
    name: str
    op: str
    inputs: list[_ValueRef] = field(default_factory=list)
    outputs: tuple[TensorSpec, ...] = ()
    attributes: str = ""
    functions: tuple[str, ...] = ()
    source: str = ""
    owner: _Node | None = None
    """The operation whose region the node is in."""
    label: str = ""
    """The region of the owner."""
    path: tuple[str, ...] = ()
    """The named scopes of its location, and what the location calls the operation itself."""


class _ValueRef(NamedTuple):
    """An output of a node; the name of a value if nothing defines it."""

    source: _Node | str
    output: str


@dataclass(slots=True)
class _Region:
    """A pair of braces and the operation that it belongs to; None for the function itself."""

    owner: _Node | None
    label: str = ""


class FunctionParser:
    """Parse one function line by line.

    Args:
        is_entry: Whether it is the main function, whose arguments are the inputs of the graph.
        locations: The locations of the whole text.
    """

    def __init__(self, is_entry: bool, locations: Locations) -> None:
        self._locations, self._is_entry = locations, is_entry
        self._nodes: list[_Node] = []
        self._names = UniqueNames()
        self._values: dict[str, _ValueRef] = {}
        self._regions: list[_Region] = []

    def parse_signature(self, signature: str) -> None:
        for value, text in _ARGUMENT.findall(signature.partition(" -> ")[0]):
            name = self._locations.get_argument_name(text) or value
            self._add_argument(value, name, INPUT if self._is_entry else ARGUMENT, text)
        self._regions = [_Region(None)]

    def parse_line(self, line: str) -> None:
        if not self._regions:
            return
        if line.startswith("}"):
            self._close_region(line)
        elif line.startswith("^"):
            self._add_block_arguments(line)
        elif line.endswith("{") and not line.startswith(("%", '"', "stablehlo")):
            self._open_region(line)
        else:
            self._parse_operation(line)

    def build_graph(self, functions: dict[str, Graph]) -> Graph:
        nodes = self._nodes
        for node in nodes:  # now that the locations of operations with regions are known
            node.name = self._names.make_unique(self._get_path(node))
        edges = EdgeBuilder([node.name for node in nodes])
        for index, node in enumerate(nodes):
            for position, (source, output) in enumerate(node.inputs):
                if isinstance(source, str):
                    edges.add_missing(source)
                else:
                    edges.add(index, position, source.name, output, False)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            edges.build(),
            lambda index: _describe(nodes[index]),
            functions,
            edges.list_problems(),
        )

    def _parse_operation(self, line: str) -> None:
        match = _OPERATION.match(line)
        if match is None:
            return
        op = match[2].removeprefix("stablehlo.").removeprefix("func.")
        rest, location = self._locations.split_location(match[3])
        is_manual = op == "sdy.manual_computation"
        operands, _, region = rest.partition(" in_shardings=") if is_manual else (rest, "", "")
        inputs = list(self._iter_inputs(operands))
        if op in ("return", "sdy.return"):
            self._add_results(inputs, rest)
            return
        results = [(name, int(count or 1)) for name, count in _RESULT.findall(match[1])]
        # The types of an operation with regions are at the end of these.
        types = () if rest.endswith("{") else parse_types(rest)
        # Some operations have types of operands before those of results, without an arrow.
        outputs = types[-sum(count for _, count in results) :] if results else types
        node = self._add_node(op, op, inputs, outputs, location)
        node.attributes = "" if op == "call" else extract_attributes(rest)
        node.functions = tuple(_CALLEE.findall(rest)) if op == "call" else ()
        for inner, value, output in _LOOP_VALUE.findall(rest):
            self._values[inner] = self._resolve(value, output)
        first = 0
        for result, count in results:
            self._values[result] = _ValueRef(node, str(first))
            first += count
        if is_manual:
            self._regions.append(_Region(node, "0"))
            self._add_block_arguments(region)
        elif op == "while" or rest.endswith("{"):
            self._regions.append(_Region(node, op if op == "while" else "0"))

    def _open_region(self, line: str) -> None:
        """Start the next region of the current operation, such as ``do`` after ``cond``."""
        if line.startswith("reducer"):  # follows its operation, which has no brace
            self._regions.append(_Region(self._nodes[-1], "0"))
            self._add_block_arguments(line)
            return
        region, label = self._regions[-1], _REGION.search(line[-_LABEL_LENGTH:])
        following = str(int(region.label) + 1) if region.label.isdecimal() else "0"
        region.label = label[1] if label and label[1] else following
        self._add_block_arguments(line)

    def _close_region(self, line: str) -> None:
        if line.endswith("{"):  # closes one region and opens the next
            self._open_region(line)
            return
        owner = self._regions.pop().owner
        if owner is None:
            return
        # The types and the location of an operation with regions are at its end.
        rest, location = self._locations.split_location(line)
        owner.outputs = owner.outputs or parse_types(rest)
        self._set_location(owner, location)

    def _add_block_arguments(self, line: str) -> None:
        for name, text in _ARGUMENT.findall(line):
            self._add_argument(name, name, ARGUMENT, text)

    def _add_results(self, inputs: list[_ValueRef], rest: str) -> None:
        owner = self._regions[-1].owner
        if owner is not None:
            # A loop that returns one of its values unchanged has it as an input already.
            known = {(id(source), output) for source, output in owner.inputs}
            owner.inputs += [item for item in inputs if (id(item.source), item.output) not in known]
            return
        op = OUTPUT if self._is_entry else RESULT
        types = parse_types(rest)
        for number, value in enumerate(inputs):
            self._add_node(f"result_{number}", op, [value], types[number : number + 1], "")

    def _add_argument(self, value: str, name: str, op: str, text: str) -> None:
        node = self._add_node(name, op, [], parse_types(text), "")
        self._values[value] = _ValueRef(node, "0")

    def _add_node(
        self,
        name: str,
        op: str,
        inputs: list[_ValueRef],
        outputs: tuple[TensorSpec, ...],
        location: str,
    ) -> _Node:
        if len(self._regions) > _MAX_REGION_DEPTH:
            raise FormatError(
                "graphs.regions_too_deep",
                "regions are nested more than {max_depth} levels deep",
                max_depth=_MAX_REGION_DEPTH,
            )
        region = self._regions[-1] if self._regions else _Region(None)
        node = _Node(name, op, inputs, outputs, owner=region.owner, label=region.label)
        self._set_location(node, location)
        self._nodes.append(node)
        return node

    def _set_location(self, node: _Node, location: str) -> None:
        node.source = self._locations.get_source_line(location)
        node.path = self._locations.get_path(location) if self._is_entry else ()

    def _get_path(self, node: _Node) -> str:
        """Return the name with its scope: the region, and the named scopes inside of it."""
        scopes, owner = node.path[:-1], node.owner
        if owner is None:
            return "/".join([*scopes, node.name])
        depth = len(owner.path)
        inner = scopes[depth:] if owner.path and scopes[:depth] == owner.path else ()
        if inner and _REGION_SCOPE.fullmatch(inner[0]):
            inner = inner[1:]
        return "/".join([owner.name, node.label, *inner, node.name])

    def _iter_inputs(self, rest: str) -> Iterator[_ValueRef]:
        loop_values = {inner for inner, _, _ in _LOOP_VALUE.findall(rest)}
        for value, output in _VALUE.findall(rest):
            if value not in loop_values:
                yield self._resolve(value, output)

    def _resolve(self, value: str, output: str) -> _ValueRef:
        reference = self._values.get(value) or _ValueRef(f"%{value}", "0")
        if not output:
            return reference
        # The second of three results that begin with another name: ``%a, %b:3 = ``, ``%b#1``.
        return reference._replace(output=str(int(reference.output) + int(output)))


def _describe(node: _Node) -> NodeDetails:
    key = "value" if node.op == "constant" else "settings"
    attributes = {key: node.attributes} if node.attributes else {}
    return NodeDetails(node.outputs, attributes, functions=node.functions, source=node.source)


def parse_types(text: str) -> tuple[TensorSpec, ...]:
    """Return the result types of a line: after the arrow, or after the last colon without one."""
    _, arrow, after = text.rpartition("->")
    types = after if arrow else text.rpartition(" : ")[2] if " : " in text else text
    return tuple(
        TensorSpec(_get_dtype(kind), _parse_shape(sizes)) for sizes, kind in _TENSOR.findall(types)
    )


def extract_attributes(text: str) -> str:
    """Return the part of an operation without operands and types, truncated if it is long."""
    plain = text.rpartition(" : ")[0] if " : " in text else text
    plain = _OPERAND.sub("", _OPERAND_LIST.sub("", plain)).strip(_PUNCTUATION)
    plain = re.sub(r"(?:\s*,\s*){2,}", ", ", plain).removeprefix("dense<")
    if len(plain) <= _MAX_ATTRIBUTES_LENGTH:
        return plain
    return f"{plain[:_MAX_ATTRIBUTES_LENGTH]}…"


def _parse_shape(sizes: str) -> Shape:
    if "*" in sizes:
        return None
    return tuple(int(size) if size.isdecimal() else None for size in sizes.split("x") if size)


def _get_dtype(kind: str) -> str:
    """Convert ``f32`` or ``ui8`` to NumPy's name."""
    number = _NUMBER_TYPE.fullmatch(kind)
    if kind in _TYPES or number is None:
        return _TYPES.get(kind, kind)
    unsigned, family, width = number.groups()
    return f"{unsigned}{'int' if family == 'i' else 'float'}{width}"


class Locations:
    """The location definitions (``#loc1 = loc(...)``) of a text."""

    def __init__(self, text: str) -> None:
        self._definitions = dict(_LOCATION_DEFINITION.findall(text))

    def split_location(self, line: str) -> tuple[str, str]:
        """Return a line without its location, and the location."""
        match = _LOCATION.search(line[-_MAX_LOCATION_LENGTH:])
        if match is None:
            return line, ""
        return line[: len(line) - len(match[0])].rstrip(), match[1]

    def get_argument_name(self, text: str) -> str:
        """Return the name that the location of an argument gives it, or ``""``."""
        if "loc(" not in text:
            return ""
        _, location = self.split_location(text.rstrip(", )") + ")")
        return location.strip('"').replace("/", ".") if location.startswith('"') else ""

    def get_path(self, location: str) -> tuple[str, ...]:
        """Return the named scopes around an operation and its own name; empty if unknown."""
        match = _NAMED_LOCATION.match(self._definitions.get(location, ""))
        *scopes, name = match[1].split("/") if match else [""]
        parts = (re.sub(r"^jit\((.*)\)$", r"\1", part) for part in scopes if part)
        return (*parts, name) if match else ()

    def get_source_line(self, location: str) -> str:
        """Follow a location to its file and line; ``""`` if there is none."""
        function = ""
        for _ in range(_MAX_LOCATION_STEPS):
            definition = self._definitions.get(location, "")
            file = _FILE_LOCATION.match(definition)
            callsite = _CALLSITE.match(definition)
            named = _NAMED_LOCATION.match(definition)
            if file:
                return format_source_line(file[1], file[2], function)
            if callsite:
                location = callsite[1]
            elif named and named[2]:
                function, location = named[1], named[2]
            else:
                return ""
        return ""
