"""Ops of PyTorch's traces, and of any other in Chrome's form."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from tracklight.profiles.columns import numbering
from tracklight.profiles.ops.book import Book, Side
from tracklight.profiles.ops.opname import Op
from tracklight.profiles.trace import Trace

_OP, _PYTHON = "cpu_op", "python_function"
#: What stands around ops, launches them, or only happens at a time.
_NO_OPS = frozenset({
    "gpu_user_annotation", "user_annotation", "cuda_runtime", "cuda_driver", "overhead", "Trace",
    "cpu_instant_event", "thread_state", _PYTHON,
})  # fmt: skip
_ON_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


def name_chrome_ops(trace: Trace, book: Book) -> None:
    is_python = trace.find_categories(_PYTHON) & ~trace.on_device
    book.write_names(is_python, Side.PYTHON, lambda name: Op(name, "Python"))
    if _OP in trace.categories:
        book.write_names(trace.find_categories(_OP), Side.HOST, lambda name: Op(name, name))
        _write_shapes(trace, book)
        _write_kernels(trace, book)
        return
    # Who wrote this is not known: all that it tells apart is taken for what ops do.
    for category in {*trace.categories} - _NO_OPS:
        mine = trace.find_categories(category) & ~trace.on_device & (trace.duration_ps > 0)
        book.write_names(mine, Side.HOST, lambda name, kind=category: Op(name, kind))  # type: ignore[misc]
    _write_kernels(trace, book)


def _write_shapes(trace: Trace, book: Book) -> None:
    """Tell ops apart by the shapes of what they were given, where the capture recorded them."""
    events, which, texts = trace.find_unlike_texts("input_dims")
    is_op = book.op[events] >= 0
    events, which = events[is_op], which[is_op]
    pairs, pair = numbering.number(trace.name[events].astype(np.int64) * len(texts) + which)
    named = (divmod(each, len(texts)) for each in pairs.tolist())
    ops = [_name_shaped(trace.names[name], texts[text]) for name, text in named]
    book.write_many(events, pair, ops, Side.HOST)


def _name_shaped(kind: str, text: str) -> Op:
    shapes = _read_shapes(text)
    return Op(f"{kind} ({shapes})" if shapes else kind, kind)


@lru_cache(maxsize=65_536)
def _read_shapes(text: str) -> str:
    try:
        shapes = json.loads(text)
        return ", ".join("x".join(map(str, _iter_flat(shape))) for shape in shapes if shape)
    except (ValueError, TypeError, RecursionError):
        return ""


def _iter_flat(shape: object) -> Iterator[object]:
    """A shape, or the shapes of a list of tensors one after the other."""
    for each in shape if isinstance(shape, list) else ():
        yield "(" + "x".join(map(str, each)) + ")" if isinstance(each, list) else each


def _write_kernels(trace: Trace, book: Book) -> None:
    """Call what runs on a device after the op that launched it."""
    kernels = trace.find_categories(*_ON_DEVICE) & trace.on_device
    book.write_names(kernels, Side.DEVICE, lambda name: Op(name, "kernel"))
    events, numbers = trace.find_numbers("external")
    is_op = (book.op[events] >= 0) & ~trace.on_device[events]
    launchers = dict(zip(numbers[is_op].tolist(), events[is_op].tolist(), strict=True))
    mine = kernels[events]
    launched = zip(events[mine].tolist(), numbers[mine].tolist(), strict=True)
    naming = book.make()
    for event, launcher in ((event, launchers.get(number)) for event, number in launched):
        if launcher is not None:
            book.write(event, naming.ops[naming.op[launcher]], Side.DEVICE)
            book.call[event] = launcher
