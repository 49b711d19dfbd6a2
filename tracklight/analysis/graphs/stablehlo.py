"""Parts of a line of StableHLO: the types of its results, its settings, and where it comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracklight.analysis.graphs.graphdef import ARGUMENT, RESULT
from tracklight.analysis.graphs.model import (
    INPUT,
    OUTPUT,
    EdgeBuilder,
    Graph,
    NodeDetails,
    Shape,
    TensorSpec,
    UniqueNames,
)
from tracklight.errors import FormatError
from tracklight.util.stack_trace import format_source_line

_TENSOR = re.compile(r"tensor<((?:(?:\d{1,19}|\?|\*)x){0,100})(complex<\w+>|\w+)")

_TYPES = {
    "i1": "bool",
    "bf16": "bfloat16",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}

_NUMBER = re.compile(r"(u?)(?:s?)([if])(\d{1,3})")

_OPERAND = re.compile(r"%[\w.$#-]+")

_OPERANDS = re.compile(r"\([^()%]{0,200}%[^()]{0,2000}\)")

_AROUND = " ,(){}<>="

_MAX_ATTRIBUTES_LENGTH = 500

_LOCATION = re.compile(r"loc\((#loc\d*|\"(?:[^\"\\]|\\.)*\"|unknown)[^()]*\)\s*$")

_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\((#loc\d*)\))?$')

_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d{1,9}):\d')

_CALLSITE = re.compile(r"callsite\((#loc\d*) at ")

_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)

_MAX_LOCATION_STEPS = 20


def parse_types(text: str) -> tuple[TensorSpec, ...]:
    """What a line gives: after its arrow, or after its last colon where all types are the same."""
    _, arrow, after = text.rpartition("->")
    told = after if arrow else text.rpartition(" : ")[2] if " : " in text else text
    return tuple(
        TensorSpec(_name_type(kind), _read_shape(sizes)) for sizes, kind in _TENSOR.findall(told)
    )


def extract_attributes(text: str) -> str:
    """What stands beside the operands and before the types, cut where it is long."""
    plain = text.rpartition(" : ")[0] if " : " in text else text
    plain = _OPERAND.sub("", _OPERANDS.sub("", plain)).strip(_AROUND)
    plain = re.sub(r"(?:\s*,\s*){2,}", ", ", plain).removeprefix("dense<")
    return plain if len(plain) <= _MAX_ATTRIBUTES_LENGTH else f"{plain[:_MAX_ATTRIBUTES_LENGTH]}…"


def _read_shape(sizes: str) -> Shape:
    if "*" in sizes:
        return None
    return tuple(int(size) if size.isdecimal() else None for size in sizes.split("x") if size)


def _name_type(kind: str) -> str:
    """``f32`` and ``ui8`` in the words of NumPy."""
    number = _NUMBER.fullmatch(kind)
    if kind in _TYPES or number is None:
        return _TYPES.get(kind, kind)
    unsigned, family, width = number.groups()
    return f"{unsigned}{'int' if family == 'i' else 'float'}{width}"


class Locations:
    """Where operations come from, which a text defines apart from them."""

    def __init__(self, text: str) -> None:
        self._defined = dict(_DEFINED.findall(text))

    def split_location(self, line: str) -> tuple[str, str]:
        """A line without its location, and the location."""
        found = _LOCATION.search(line[-2000:])
        return (line[: len(line) - len(found[0])].rstrip(), found[1]) if found else (line, "")

    def get_argument_name(self, told: str) -> str:
        """What an argument is called, if its location says so."""
        _, location = self.split_location(told.rstrip(", )") + ")") if "loc(" in told else ("", "")
        return location.strip('"').replace("/", ".") if location.startswith('"') else ""

    def get_scope(self, location: str) -> str:
        """The named scopes around an operation."""
        found = _NAMED.match(self._defined.get(location, ""))
        parts = found[1].split("/")[:-1] if found else []
        return "/".join(re.sub(r"^jit\((.*)\)$", r"\1", part) for part in parts if part)

    def get_source_line(self, location: str) -> str:
        function = ""
        for _ in range(_MAX_LOCATION_STEPS):
            told = self._defined.get(location, "")
            file, called, named = _FILE.match(told), _CALLSITE.match(told), _NAMED.match(told)
            if file:
                return format_source_line(file[1], file[2], function)
            if called:
                location = called[1]
            elif named and named[2]:
                function, location = named[1], named[2]
            else:
                return ""
        return ""


# One function of a StableHLO text, read line by line.

_OPERATION = re.compile(r'(?:%([\w.$-]+)(?::\d+)? = )?"?([a-z_][\w$.]*)"?(.*)$')

_ARGUMENT = re.compile(r"%([\w.$-]+): ([^%]*)")

_VALUE = re.compile(r"%([\w.$-]+)(?:#(\d+))?")

_LOOPED = re.compile(r"%([\w.$-]+) = %([\w.$-]+)(?:#(\d+))?")

_CALLEE = re.compile(r"@([\w.$-]+)")

_REGION = re.compile(r"(?:\}\)?\s*)?,?\s*(\w*)\s*(?:\([^)]*\)\s*)?\{$")

_MAX_REGION_DEPTH = 100

#: How much of a line's end may say what the next part is called.
_LABEL_LENGTH = 300


@dataclass(slots=True)
class _Node:
    name: str
    op: str
    reads: list[_ValueRef] = field(default_factory=list)
    outputs: tuple[TensorSpec, ...] = ()
    settings: str = ""
    calls: tuple[str, ...] = ()
    source: str = ""


class _ValueRef(NamedTuple):
    """Which output of which node; of a value that nothing gives, its name."""

    source: _Node | str
    output: str


@dataclass(slots=True)
class _Region:
    """What is between braces, and whose it is."""

    owner: _Node | None
    label: str = ""


class FunctionParser:
    """One function, line by line."""

    def __init__(self, is_entry: bool, locations: Locations) -> None:
        self._locations, self._is_entry = locations, is_entry
        self._nodes: list[_Node] = []
        self._names = UniqueNames()
        self._values: dict[str, _ValueRef] = {}
        self._regions: list[_Region] = []

    def parse_signature(self, signature: str) -> None:
        for name, told in _ARGUMENT.findall(signature.partition(" -> ")[0]):
            own = self._locations.get_argument_name(told) or name
            self._add_value(name, own, INPUT if self._is_entry else ARGUMENT, told)
        self._regions = [_Region(None)]

    def parse_line(self, line: str) -> None:
        if not self._regions:
            return
        if line.startswith("}"):
            self._close(line)
        elif line.startswith("^"):
            self._name_inputs(line)
        elif line.endswith("{") and not line.startswith(("%", '"', "stablehlo")):
            self._enter(line)
        else:
            self._read_operation(line)

    def build_graph(self, functions: dict[str, Graph]) -> Graph:
        nodes = self._nodes
        wiring = EdgeBuilder([node.name for node in nodes])
        for place, node in enumerate(nodes):
            for position, (source, output) in enumerate(node.reads):
                if isinstance(source, str):
                    wiring.add_missing(source)
                else:
                    wiring.add(place, position, source.name, output, False)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            wiring.build(),
            lambda place: _describe(nodes[place]),
            functions,
            wiring.list_problems(),
        )

    def _read_operation(self, line: str) -> None:
        found = _OPERATION.match(line)
        if found is None:
            return
        op = found[2].removeprefix("stablehlo.").removeprefix("func.")
        rest, told = self._locations.split_location(found[3])
        reads = list(self._find_reads(rest))
        if op == "return":
            self._return(reads, rest)
            return
        node = self._add(op, op, reads, parse_types(rest), told)
        node.settings = "" if op == "call" else extract_attributes(rest)
        node.calls = tuple(_CALLEE.findall(rest)) if op == "call" else ()
        for inside, value, output in _LOOPED.findall(rest):
            self._values[inside] = self._find(value, output)
        if found[1]:
            self._values[found[1]] = _ValueRef(node, "0")
        if op == "while" or rest.endswith("{"):
            self._regions.append(_Region(node, op if op == "while" else "0"))

    def _enter(self, line: str) -> None:
        """Another part of the operation that was opened last: a condition, or what is done."""
        last, label = self._regions[-1], _REGION.search(line[-_LABEL_LENGTH:])
        following = str(int(last.label) + 1) if last.label.isdecimal() else "0"
        last.label = label[1] if label and label[1] else following
        self._name_inputs(line)

    def _close(self, line: str) -> None:
        if line.endswith("{"):  # and opens the next part
            self._enter(line)
            return
        owner = self._regions.pop().owner
        if owner is None:
            return
        # Only here it is told what the whole gives, and where it comes from.
        rest, told = self._locations.split_location(line)
        owner.outputs = owner.outputs or parse_types(rest)
        owner.source = self._locations.get_source_line(told)
        scope = self._locations.get_scope(told) if self._is_entry else ""
        if scope:
            owner.name = self._names.make_unique(f"{scope}/{owner.op}")

    def _name_inputs(self, line: str) -> None:
        for name, told in _ARGUMENT.findall(line):
            self._add_value(name, name, ARGUMENT, told)

    def _return(self, reads: list[_ValueRef], rest: str) -> None:
        owner = self._regions[-1].owner
        if owner is not None:
            owner.reads += reads
            return
        op = OUTPUT if self._is_entry else RESULT
        types = parse_types(rest)
        for number, source in enumerate(reads):
            self._add(f"result_{number}", op, [source], types[number : number + 1], "")

    def _add_value(self, value: str, name: str, op: str, told: str) -> None:
        node = self._add(name, op, [], parse_types(told), "")
        self._values[value] = _ValueRef(node, "0")

    def _add(
        self,
        name: str,
        op: str,
        reads: list[_ValueRef],
        outputs: tuple[TensorSpec, ...],
        told: str,
    ) -> _Node:
        scope = self._locations.get_scope(told) if self._is_entry else ""
        path = self._names.make_unique("/".join([scope or self._find_region(), name]).strip("/"))
        node = _Node(path, op, reads, outputs, source=self._locations.get_source_line(told))
        self._nodes.append(node)
        return node

    def _find_region(self) -> str:
        if len(self._regions) > _MAX_REGION_DEPTH:
            raise FormatError(f"regions are nested more than {_MAX_REGION_DEPTH} deep")
        last = self._regions[-1] if self._regions else _Region(None)
        return f"{last.owner.name}/{last.label}" if last.owner else ""

    def _find_reads(self, rest: str) -> Iterator[_ValueRef]:
        looped = {inside for inside, _, _ in _LOOPED.findall(rest)}
        for value, output in _VALUE.findall(rest):
            if value not in looped:
                yield self._find(value, output)

    def _find(self, value: str, output: str) -> _ValueRef:
        found = self._values.get(value) or _ValueRef(f"%{value}", "0")
        return found._replace(output=output) if output else found


def _describe(node: _Node) -> NodeDetails:
    key = "value" if node.op == "constant" else "settings"
    shown = {key: node.settings} if node.settings else {}
    return NodeDetails(node.outputs, shown, functions=node.calls, source=node.source)


# Reads StableHLO as text, which ``jax.jit(f).lower(x).as_text()`` gives: one operation a line.
#
# The function ``main`` is the graph, the others are functions that it calls. Operations inside of a
# loop or a choice stand in a scope below it; what they return, the loop or the choice reads. With
# ``debug_info=True`` the text also tells named scopes and lines of the program.

_FUNCTION = re.compile(r"func\.func\b[^@]*@([\w.$-]+|\"[^\"]*\")\((.*)$")

_ENTRY = "main"


def is_stablehlo(text: str) -> bool:
    return "stablehlo." in text and "func.func" in text


def parse_stablehlo(text: str) -> Graph:
    locations = Locations(text)
    bodies: dict[str, FunctionParser] = {}
    body: FunctionParser | None = None
    for line in map(str.strip, text.splitlines()):
        opening = _FUNCTION.match(line)
        if opening:
            name = opening[1].strip('"')
            body = bodies[name] = FunctionParser(name == _ENTRY, locations)
            body.parse_signature(opening[2])
        elif body is not None:
            body.parse_line(line)
    if not bodies:
        raise FormatError("the text holds no function")
    entry = bodies.pop(_ENTRY if _ENTRY in bodies else next(iter(bodies)))
    return entry.build_graph({name: body.build_graph({}) for name, body in bodies.items()})
