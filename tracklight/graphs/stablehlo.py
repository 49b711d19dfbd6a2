"""Reads StableHLO as text, which ``jax.jit(f).lower(x).as_text()`` gives: one operation a line.

The function ``main`` is the graph, the others are functions that it calls. Operations inside of a
loop or a choice stand in a scope below it; what they return, the loop or the choice reads. With
``debug_info=True`` the text also tells named scopes and lines of the program.
"""

from __future__ import annotations

import re

from tracklight.errors import FormatError
from tracklight.graphs.model import Graph
from tracklight.graphs.stablehlo_body import Body
from tracklight.graphs.stablehlo_text import Locations

_FUNCTION = re.compile(r"func\.func\b[^@]*@([\w.$-]+|\"[^\"]*\")\((.*)$")
_ENTRY = "main"


def is_stablehlo(text: str) -> bool:
    return "stablehlo." in text and "func.func" in text


def read_stablehlo(text: str) -> Graph:
    locations = Locations(text)
    bodies: dict[str, Body] = {}
    body: Body | None = None
    for line in map(str.strip, text.splitlines()):
        opening = _FUNCTION.match(line)
        if opening:
            name = opening[1].strip('"')
            body = bodies[name] = Body(name == _ENTRY, locations)
            body.open(opening[2])
        elif body is not None:
            body.read(line)
    if not bodies:
        raise FormatError("the text holds no function")
    entry = bodies.pop(_ENTRY if _ENTRY in bodies else next(iter(bodies)))
    return entry.graph({name: body.graph({}) for name, body in bodies.items()})
