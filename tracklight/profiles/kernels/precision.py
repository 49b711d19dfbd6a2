"""In how many bits a device computed: by the types that ops and programs say, else by its kernels.

Names of kernels tell little and change with every library, so they are asked last, and a kernel of
which nothing is known is counted as that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import IntEnum
from itertools import chain
from typing import NamedTuple

import numpy as np

from tracklight.formats.hlo import find_types
from tracklight.profiles.columns.numbering import count, number
from tracklight.profiles.steps.parts import Part, find_parts
from tracklight.profiles.trace import Trace
from tracklight.types import Int32, Int64

_SHORT = frozenset({"float16", "bfloat16", "float8", "c10::Half", "c10::BFloat16"})
_LONG = frozenset({"float32", "float64", "float", "double"})
_SHORT_KERNEL = re.compile(r"bf16|bfloat16|fp16|(?<!f)f16|half|h884|h1688|hmma|_hsh_|_tst_", re.I)
_LONG_KERNEL = re.compile(r"f32f32|tf32|float|sgemm|ffma", re.I)
#: What names of instructions have and names of kernels cannot.
_INNER = re.compile(r"[.-]")
_WORD = re.compile(r'"([^"]*)"')


class Bits(IntEnum):
    SHORT = 0
    """16 or fewer."""
    LONG = 1
    UNKNOWN = 2


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


def measure_precision(trace: Trace, part: Int64 | None = None) -> Precision:
    """Measure kernels; ``part`` is what `find_parts` gives, where somebody has it."""
    part = find_parts(trace) if part is None else part
    kernels = np.flatnonzero((part == Part.DEVICE_COMPUTE) & trace.on_device)
    bits, took = find_bits(trace)[kernels], trace.duration_ps[kernels]
    short, long, unknown = (int(took[bits == each].sum()) for each in Bits)
    return Precision(short, long, unknown)


def find_bits(trace: Trace) -> Int32:
    """Of each event in how many bits it computes, one of `Bits`; only kernels are looked at."""
    bits = np.full(len(trace), Bits.UNKNOWN, np.int32)
    kernels = np.flatnonzero(trace.on_device)
    names, which = number(trace.name[kernels])
    types = _find_types(trace)
    by_kernel = {_INNER.sub("_", name): short for name, short in types.items()}
    said = [by_kernel.get(trace.names[name]) for name in names.tolist()]
    bits[kernels] = _look_up(said, which)
    _take(bits, trace.find_unlike_texts("hlo_op"), types)
    _take_from_ops(trace, bits)
    left = bits[kernels] == Bits.UNKNOWN
    said = [_by_name(trace.names[name]) for name in names.tolist()]
    bits[kernels[left]] = _look_up(said, which[left])
    return bits


def _take(bits: Int32, said: tuple[Int64, Int64, list[str]], types: dict[str, Bits]) -> None:
    """Write down what is known of the instructions that events say they are."""
    events, which, ops = said
    known = _look_up([types.get(op) for op in ops], which)
    is_known = known != Bits.UNKNOWN
    bits[events[is_known]] = known[is_known]


def _look_up(said: Sequence[Bits | None], which: Int64) -> Int32:
    known = [Bits.UNKNOWN if each is None else each for each in said]
    return np.array(known, np.int32)[which]


def _find_types(trace: Trace) -> dict[str, Bits]:
    """In how many bits instructions of XLA's programs compute, where that can be said."""
    _, ran = trace.find_numbers("program_id")
    numbers = set(count(ran)[0].tolist())
    modules = [module for module in trace.modules if module.id in numbers or not numbers]
    found = (find_types(module).items() for module in modules)
    known = ((name, _say_bits(types)) for name, types in chain.from_iterable(found))
    return {name: bits for name, bits in known if bits != Bits.UNKNOWN}


def _take_from_ops(trace: Trace, bits: Int32) -> None:
    """Go by what the op of PyTorch that launched a kernel was given."""
    ops, which, texts = trace.find_unlike_texts("input_types")
    given = np.full(len(trace), Bits.UNKNOWN, np.int32)
    given[ops] = _look_up([_say_bits(_WORD.findall(text)) for text in texts], which)
    events, numbers = trace.find_numbers("external")
    known = given[events] != Bits.UNKNOWN
    order = np.argsort(numbers[known], kind="stable")
    launchers, sorted_numbers = events[known][order], numbers[known][order]
    others = np.isin(events, ops, invert=True)
    events, numbers = events[others], numbers[others]
    # The last op of a number, as the one that launched it is the innermost.
    place = np.searchsorted(sorted_numbers, numbers, "right") - 1
    met = place >= 0
    met[met] = sorted_numbers[place[met]] == numbers[met]
    bits[events[met]] = given[launchers[place[met]]]


def _say_bits(types: Iterable[str]) -> Bits:
    """How somebody who works on these computes."""
    met = set(types)
    return Bits.SHORT if met & _SHORT else Bits.LONG if met & _LONG else Bits.UNKNOWN


def _by_name(kernel: str) -> Bits:
    if _SHORT_KERNEL.search(kernel):
        return Bits.SHORT
    return Bits.LONG if _LONG_KERNEL.search(kernel) else Bits.UNKNOWN
