"""Parts of a line of StableHLO: the types of its results, its settings, and where it comes from."""

from __future__ import annotations

import re

from tracklight.formats.stack_trace import tell_line
from tracklight.graphs.model import Output, Shape

_TENSOR = re.compile(r"tensor<((?:(?:\d{1,19}|\?|\*)x){0,100})(complex<\w+>|\w+)")
_TYPES = {
    "i1": "bool",
    "bf16": "bfloat16",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
_NUMBER = re.compile(r"(u?)(?:s?)([if])(\d{1,3})")
_READ = re.compile(r"%[\w.$#-]+")
_OPERANDS = re.compile(r"\([^()%]{0,200}%[^()]{0,2000}\)")
_AROUND = " ,(){}<>="
_LONGEST = 500

_LOCATION = re.compile(r"loc\((#loc\d*|\"(?:[^\"\\]|\\.)*\"|unknown)[^()]*\)\s*$")
_NAMED = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\((#loc\d*)\))?$')
_FILE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d{1,9}):\d')
_CALLED = re.compile(r"callsite\((#loc\d*) at ")
_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_MOST_STEPS = 20


def read_types(text: str) -> tuple[Output, ...]:
    """What a line gives: after its arrow, or after its last colon where all types are the same."""
    _, arrow, after = text.rpartition("->")
    told = after if arrow else text.rpartition(" : ")[2] if " : " in text else text
    return tuple(
        Output(_name_type(kind), _read_shape(sizes)) for sizes, kind in _TENSOR.findall(told)
    )


def take_settings(text: str) -> str:
    """What stands beside the operands and before the types, cut where it is long."""
    plain = text.rpartition(" : ")[0] if " : " in text else text
    plain = _READ.sub("", _OPERANDS.sub("", plain)).strip(_AROUND)
    plain = re.sub(r"(?:\s*,\s*){2,}", ", ", plain).removeprefix("dense<")
    return plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}…"


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

    def cut(self, line: str) -> tuple[str, str]:
        """A line without its location, and the location."""
        found = _LOCATION.search(line[-2000:])
        return (line[: len(line) - len(found[0])].rstrip(), found[1]) if found else (line, "")

    def find_name(self, told: str) -> str:
        """What an argument is called, if its location says so."""
        _, location = self.cut(told.rstrip(", )") + ")") if "loc(" in told else ("", "")
        return location.strip('"').replace("/", ".") if location.startswith('"') else ""

    def find_scope(self, location: str) -> str:
        """The named scopes around an operation."""
        found = _NAMED.match(self._defined.get(location, ""))
        parts = found[1].split("/")[:-1] if found else []
        return "/".join(re.sub(r"^jit\((.*)\)$", r"\1", part) for part in parts if part)

    def find_line(self, location: str) -> str:
        function = ""
        for _ in range(_MOST_STEPS):
            told = self._defined.get(location, "")
            file, called, named = _FILE.match(told), _CALLED.match(told), _NAMED.match(told)
            if file:
                return tell_line(file[1], file[2], function)
            if called:
                location = called[1]
            elif named and named[2]:
                function, location = named[1], named[2]
            else:
                return ""
        return ""
