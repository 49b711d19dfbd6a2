"""One function of a StableHLO text, read line by line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracklight.errors import FormatError
from tracklight.graphs.graphdef import ARGUMENT, RESULT
from tracklight.graphs.model import INPUT, OUTPUT, Detail, Graph, Output
from tracklight.graphs.stablehlo_text import Locations, read_types, take_settings
from tracklight.graphs.wiring import Names, Wiring

_OPERATION = re.compile(r'(?:%([\w.$-]+)(?::\d+)? = )?"?([a-z_][\w$.]*)"?(.*)$')
_ARGUMENT = re.compile(r"%([\w.$-]+): ([^%]*)")
_READ = re.compile(r"%([\w.$-]+)(?:#(\d+))?")
_LOOPED = re.compile(r"%([\w.$-]+) = %([\w.$-]+)(?:#(\d+))?")
_CALLED = re.compile(r"@([\w.$-]+)")
_REGION = re.compile(r"(?:\}\)?\s*)?,?\s*(\w*)\s*(?:\([^)]*\)\s*)?\{$")
_DEEPEST = 100
#: How much of a line's end may say what the next part is called.
_LABEL = 300


@dataclass(slots=True)
class _Node:
    name: str
    op: str
    reads: list[_Read] = field(default_factory=list)
    outputs: tuple[Output, ...] = ()
    settings: str = ""
    calls: tuple[str, ...] = ()
    source: str = ""


class _Read(NamedTuple):
    """Which output of which node; of a value that nothing gives, its name."""

    source: _Node | str
    output: str


@dataclass(slots=True)
class _Region:
    """What is between braces, and whose it is."""

    owner: _Node | None
    label: str = ""


class Body:
    """One function, line by line."""

    def __init__(self, is_entry: bool, locations: Locations) -> None:
        self._locations, self._is_entry = locations, is_entry
        self._nodes: list[_Node] = []
        self._names = Names()
        self._values: dict[str, _Read] = {}
        self._regions: list[_Region] = []

    def open(self, signature: str) -> None:
        for name, told in _ARGUMENT.findall(signature.partition(" -> ")[0]):
            own = self._locations.find_name(told) or name
            self._add_value(name, own, INPUT if self._is_entry else ARGUMENT, told)
        self._regions = [_Region(None)]

    def read(self, line: str) -> None:
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

    def graph(self, functions: dict[str, Graph]) -> Graph:
        nodes = self._nodes
        wiring = Wiring([node.name for node in nodes])
        for place, node in enumerate(nodes):
            for position, (source, output) in enumerate(node.reads):
                if isinstance(source, str):
                    wiring.miss(source)
                else:
                    wiring.add(place, position, source.name, output, False)
        return Graph(
            [node.name for node in nodes],
            [node.op for node in nodes],
            wiring.edges(),
            lambda place: _describe(nodes[place]),
            functions,
            wiring.problems(),
        )

    def _read_operation(self, line: str) -> None:
        found = _OPERATION.match(line)
        if found is None:
            return
        op = found[2].removeprefix("stablehlo.").removeprefix("func.")
        rest, told = self._locations.cut(found[3])
        reads = list(self._find_reads(rest))
        if op == "return":
            self._return(reads, rest)
            return
        node = self._add(op, op, reads, read_types(rest), told)
        node.settings = "" if op == "call" else take_settings(rest)
        node.calls = tuple(_CALLED.findall(rest)) if op == "call" else ()
        for inside, value, output in _LOOPED.findall(rest):
            self._values[inside] = self._find(value, output)
        if found[1]:
            self._values[found[1]] = _Read(node, "0")
        if op == "while" or rest.endswith("{"):
            self._regions.append(_Region(node, op if op == "while" else "0"))

    def _enter(self, line: str) -> None:
        """Another part of the operation that was opened last: a condition, or what is done."""
        last, label = self._regions[-1], _REGION.search(line[-_LABEL:])
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
        rest, told = self._locations.cut(line)
        owner.outputs = owner.outputs or read_types(rest)
        owner.source = self._locations.find_line(told)
        scope = self._locations.find_scope(told) if self._is_entry else ""
        if scope:
            owner.name = self._names.take(f"{scope}/{owner.op}")

    def _name_inputs(self, line: str) -> None:
        for name, told in _ARGUMENT.findall(line):
            self._add_value(name, name, ARGUMENT, told)

    def _return(self, reads: list[_Read], rest: str) -> None:
        owner = self._regions[-1].owner
        if owner is not None:
            owner.reads += reads
            return
        op = OUTPUT if self._is_entry else RESULT
        types = read_types(rest)
        for number, source in enumerate(reads):
            self._add(f"result_{number}", op, [source], types[number : number + 1], "")

    def _add_value(self, value: str, name: str, op: str, told: str) -> None:
        node = self._add(name, op, [], read_types(told), "")
        self._values[value] = _Read(node, "0")

    def _add(
        self,
        name: str,
        op: str,
        reads: list[_Read],
        outputs: tuple[Output, ...],
        told: str,
    ) -> _Node:
        scope = self._locations.find_scope(told) if self._is_entry else ""
        path = self._names.take("/".join([scope or self._find_region(), name]).strip("/"))
        node = _Node(path, op, reads, outputs, source=self._locations.find_line(told))
        self._nodes.append(node)
        return node

    def _find_region(self) -> str:
        if len(self._regions) > _DEEPEST:
            raise FormatError(f"regions are nested more than {_DEEPEST} deep")
        last = self._regions[-1] if self._regions else _Region(None)
        return f"{last.owner.name}/{last.label}" if last.owner else ""

    def _find_reads(self, rest: str) -> Iterator[_Read]:
        looped = {inside for inside, _, _ in _LOOPED.findall(rest)}
        for value, output in _READ.findall(rest):
            if value not in looped:
                yield self._find(value, output)

    def _find(self, value: str, output: str) -> _Read:
        found = self._values.get(value) or _Read(f"%{value}", "0")
        return found._replace(output=output) if output else found


def _describe(node: _Node) -> Detail:
    key = "value" if node.op == "constant" else "settings"
    shown = {key: node.settings} if node.settings else {}
    return Detail(node.outputs, shown, calls=node.calls, source=node.source)
