"""Which groups of a graph are open in its default view."""

from __future__ import annotations

from itertools import accumulate

from tracklight.graphs.atlas import Atlas, Spot
from tracklight.graphs.hierarchy import ROOT
from tracklight.graphs.levels import Child
from tracklight.graphs.naming import BODY
from tracklight.graphs.sheet import Sheet

_MAX_OPENED = 20
#: A group is opened if it holds at least this share of what surrounds it.
_MIN_SHARE = 0.6
#: Scopes are opened while the picture has at most this many boxes.
_MAX_BOXES = 16
#: Finding calls takes a look at every node; in larger graphs no function is opened.
_MAX_SEARCHED_NODES = 20_000


def list_default_groups(atlas: Atlas) -> list[str]:
    """Return the groups to open at first, from the outermost on.

    A scope is opened if it is all there is, or most of it while there are few boxes to see. A
    function is opened if it holds most of the graph: TensorFlow wraps a whole training step in
    one call, without which there would be nothing of the model to see.
    """
    sizes = _Sizes(atlas)
    spot, scope, boxes, opened = Spot(atlas.root, "", ""), ROOT, 0, list[str]()
    while len(opened) < _MAX_OPENED:
        sheet = spot.sheet
        children = sheet.level(scope, fold=True).children
        boxes += len(children)
        groups = [child for child in children if sizes.is_group(sheet, child)]
        largest = max(groups, key=lambda child: sizes.of(sheet, child), default=None)
        if largest is None or largest.item is None:
            break
        holds_most = sizes.of(sheet, largest) >= _MIN_SHARE * sum(
            sizes.of(sheet, child) for child in children
        )
        if largest.kind != "scope":
            if not holds_most:
                break
            functions = atlas.find_functions(sheet, largest.item)
            bodies = [f"{spot.outwards(largest.path)}{BODY}{name}{BODY}" for name in functions]
            opened += bodies
            spot = atlas.locate(bodies[functions.index(max(functions, key=sizes.of_function))])
            scope = ROOT
            continue
        added = len(sheet.level(~largest.item, fold=True).children)
        if len(children) > 1 and not (holds_most and boxes + added <= _MAX_BOXES):
            break
        scope = ~largest.item
        opened.append(spot.outwards(largest.path))
    return opened


class _Sizes:
    """Number of nodes in children of a level, those of functions that they call included."""

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas
        functions = atlas.graph.functions
        nodes = len(atlas.graph) + sum(len(body) for body in functions.values())
        self._has_functions = bool(functions) and nodes <= _MAX_SEARCHED_NODES
        self._of_function: dict[str, int] = {}
        self._totals: dict[int, list[int]] = {}

    def is_group(self, sheet: Sheet, child: Child) -> bool:
        if child.kind == "scope":
            return True
        is_searched = self._has_functions and child.kind == "op" and child.item is not None
        return is_searched and bool(self._atlas.find_functions(sheet, child.item or 0))

    def of(self, sheet: Sheet, child: Child) -> int:
        if not self._has_functions:
            return child.last - child.first
        totals = self._sum_up(sheet)
        return totals[child.last] - totals[child.first]

    def of_function(self, name: str) -> int:
        known = self._of_function.get(name)
        if known is None:
            # A function that calls itself is counted once.
            self._of_function[name] = 0
            known = self._of_function[name] = self._sum_up(self._atlas.body(name))[-1]
        return known

    def _sum_up(self, sheet: Sheet) -> list[int]:
        """Return the size of all nodes before each rank."""
        totals = self._totals.get(id(sheet))
        if totals is None:
            sizes = (self._of_node(sheet, place) for place in sheet.hierarchy.order.tolist())
            totals = self._totals[id(sheet)] = [0, *accumulate(sizes)]
        return totals

    def _of_node(self, sheet: Sheet, place: int) -> int:
        names = self._atlas.find_functions(sheet, place)
        return 1 + sum(self.of_function(name) for name in names)
