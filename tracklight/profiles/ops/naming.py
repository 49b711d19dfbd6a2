"""Which op each event is: one of a framework, an instruction of a program, a function of Python.

An op of a device is called after what launched it, so that the time that a device took and the time
that its host took stand under one name.
"""

from __future__ import annotations

import numpy as np

from tracklight.profiles.ops.book import Book, Naming, Side
from tracklight.profiles.ops.chrome import name_chrome_ops
from tracklight.profiles.ops.opname import Op, find_op
from tracklight.profiles.program.kinds import kind_of
from tracklight.profiles.program.program import Placement, place_events, read_programs
from tracklight.profiles.trace import Trace

_ALLOCATES = ("MemoryAllocation", "MemoryDeallocation")
#: What is said to be an op and is the whole program.
_NO_OP = "XlaModule:"


def name_ops(trace: Trace, placement: Placement | None = None) -> Naming:
    """Name the ops; ``placement`` saves finding out which instructions events are once more."""
    book = Book(trace)
    if any(trace.categories):
        name_chrome_ops(trace, book)
    else:
        placement = placement or place_events(trace, read_programs(trace))
        _name_plane_ops(trace, book, placement)
    return book.make()


def _name_plane_ops(trace: Trace, book: Book, placement: Placement) -> None:
    """Name the ops of TensorFlow and JAX: what is known more closely is written over the rest."""
    host = ~trace.on_device
    book.write_names(host, Side.HOST, find_op)
    book.write_names(trace.on_device & (trace.duration_ps > 0), Side.DEVICE, _name_kernel)
    _name_said(trace, book)
    _name_instructions(trace, book, placement)
    frames = host & trace.find_names(lambda name: name.startswith("$"))
    book.write_names(frames, Side.PYTHON, lambda name: Op(name[1:], "Python"))


def _name_said(trace: Trace, book: Book) -> None:
    """Name events after the op that they are said to be of; a host's own name goes before that."""
    events, which, texts = trace.find_unlike_texts("tf_op")
    ops = [find_op(text) or Op(text, "") if text not in ("", _NO_OP) else None for text in texts]
    is_named = np.array([op is not None for op in ops], bool)[which]
    is_named &= ~trace.find_names(lambda name: name in _ALLOCATES)[events]
    on_device = trace.on_device[events]
    for side, mine in ((Side.HOST, ~on_device & (book.op[events] < 0)), (Side.DEVICE, on_device)):
        book.write_many(events[is_named & mine], which[is_named & mine], ops, side)


def name_places(placement: Placement) -> list[Op]:
    """The op that each instruction is."""
    return [Op(each.instruction.name, kind_of(*each)) for each in placement.places]


def _name_instructions(trace: Trace, book: Book, placement: Placement) -> None:
    events, which, _ = placement
    named = name_places(placement)
    for side in (Side.HOST, Side.DEVICE):
        mine = trace.on_device[events] == (side == Side.DEVICE)
        book.write_many(events[mine], which[mine], named, side)


def _name_kernel(name: str) -> Op:
    """A kernel of which nothing else is known; copies are known by their names."""
    return Op(name, "copy" if name.lower().startswith("memcpy") else "kernel")
