"""In how many bits a device computed: by the types that ops and programs say, else by its kernels.

Names of kernels tell little and change with every library, so they are asked last, and a kernel of
which nothing is known is counted as that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from tracklight.errors import FormatError
from tracklight.formats.hlo import read_types
from tracklight.profiles.parts import Part, find_parts
from tracklight.profiles.trace import Trace

_SHORT = frozenset({"float16", "bfloat16", "float8", "c10::Half", "c10::BFloat16"})
_LONG = frozenset({"float32", "float64", "float", "double"})
_SHORT_KERNEL = re.compile(r"bf16|bfloat16|fp16|(?<!f)f16|half|h884|h1688|hmma|_hsh_|_tst_", re.I)
_LONG_KERNEL = re.compile(r"f32f32|tf32|float|sgemm|ffma", re.I)
#: What names of instructions have and names of kernels cannot.
_INNER = re.compile(r"[.-]")
_WORD = re.compile(r'"([^"]*)"')


class Precision(NamedTuple):
    """How long kernels ran, in ps."""

    short_ps: int
    """In 16 bits or fewer."""
    long_ps: int
    unknown_ps: int

    @property
    def short_share(self) -> float | None:
        """Of what is known; None where nothing is."""
        known = self.short_ps + self.long_ps
        return self.short_ps / known if known else None


def measure_precision(trace: Trace) -> Precision:
    kernels = np.flatnonzero((find_parts(trace) == Part.DEVICE_COMPUTE) & trace.on_device)
    said = _find_said(trace)
    sums = dict.fromkeys((True, False, None), 0)
    for kernel in kernels.tolist():
        short = said.get(kernel)
        if short is None:
            short = _by_name(trace.names[trace.name[kernel]])
        sums[short] += int(trace.duration_ps[kernel])
    return Precision(sums[True], sums[False], sums[None])


def _find_said(trace: Trace) -> dict[int, bool]:
    """Of the kernels of which it is known, whether they work on short numbers."""
    return dict(_iter_by_program(trace)) | dict(_iter_by_op(trace))


def _iter_by_program(trace: Trace) -> Iterator[tuple[int, bool]]:
    """By the instruction of XLA's program that a kernel is.

    Where many kernels were launched as one graph, only their own names tell which they are.
    """
    known = ((name, _is_short(each)) for name, each in _iter_types(trace))
    types = {name: short for name, short in known if short is not None}
    by_kernel = {_INNER.sub("_", name): short for name, short in types.items()}
    for kernel in np.flatnonzero(trace.on_device).tolist() if types else ():
        name = trace.names[trace.name[kernel]]
        if name in by_kernel:
            yield kernel, by_kernel[name]
    for event, name in zip(*trace.find_texts("hlo_op"), strict=True):
        if name in types:
            yield int(event), types[name]


def _iter_types(trace: Trace) -> Iterator[tuple[str, frozenset[str]]]:
    try:
        for program in trace.iter_programs():
            yield from read_types(program).items()
    except FormatError:
        pass  # of the kernels of a damaged program nothing is known


def _iter_by_op(trace: Trace) -> Iterator[tuple[int, bool]]:
    """By what the op of PyTorch that launched a kernel was given."""
    events, texts = trace.find_texts("input_types")
    types = dict(zip(events.tolist(), texts, strict=True))
    events, numbers = trace.find_numbers("external")
    given = {
        number: short
        for event, number in zip(events.tolist(), numbers.tolist(), strict=True)
        if event in types and (short := _is_short(_WORD.findall(types[event]))) is not None
    }
    for event, number in zip(events.tolist(), numbers.tolist(), strict=True):
        if event not in types and number in given:
            yield event, given[number]


def _is_short(types: Iterable[str]) -> bool | None:
    """Whether somebody who works on these works on short numbers; None: on no such numbers."""
    met = set(types)
    return True if met & _SHORT else False if met & _LONG else None


def _by_name(kernel: str) -> bool | None:
    if _SHORT_KERNEL.search(kernel):
        return True
    return False if _LONG_KERNEL.search(kernel) else None
