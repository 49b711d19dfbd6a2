"""Programs: what the compiler made of the model, and how long each instruction took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from tracklight.dashboards.profile.asks import CaptureAsk
from tracklight.dashboards.profile.opened import Opened
from tracklight.dashboards.profile.overview import explain_empty
from tracklight.dashboards.profile.placing import get_placement, get_programs
from tracklight.dashboards.profile.store import Store
from tracklight.dashboards.profile.tool import Tool, Why
from tracklight.errors import UsageError
from tracklight.media.reader import has_mark
from tracklight.plugin import Route
from tracklight.profiles.program.program import Program
from tracklight.profiles.program.text import write_program, write_shape
from tracklight.profiles.program.times import Timed, time_instructions
from tracklight.types import Float64, Int32

_MS = 1e9
_MOST_LINES = 100_000


class ProgramRow(msgspec.Struct):
    """A program; ``index`` is what its text is asked for by."""

    index: int
    name: str
    number: int
    instructions: int
    total_ms: float


class ProgramAnswer(msgspec.Struct):
    """Programs and the instructions of them that ran, those that took longest first.

    ``programs_of`` are places in ``programs``. ``scopes`` are what the framework calls that which
    an instruction came of, with slashes between its parts. ``flops`` and ``bytes`` are counted from
    shapes, for all runs together. ``unplaced_ms`` is what ran on devices and is no known
    instruction.
    """

    programs: list[ProgramRow]
    names: list[str]
    opcodes: list[str]
    kinds: list[str]
    scopes: list[str]
    sources: list[str]
    shapes: list[str]
    programs_of: Int32
    counts: Int32
    total_ms: Float64
    flops: Float64
    bytes: Float64
    longest: Int32
    unplaced_ms: float
    steps: int


class TextAsk(CaptureAsk):
    """A program by its ``index``."""

    program: int = 0


class TextAnswer(msgspec.Struct):
    """A program line by line; ``ms`` is NaN on lines of what did not run by itself.

    ``rest`` is how many lines there are beyond those.
    """

    name: str
    lines: list[str]
    names: list[str]
    """The instruction of each line; empty for none."""
    ms: Float64
    rest: int


def answer_program(store: Store, ask: CaptureAsk) -> ProgramAnswer:
    def make(opened: Opened) -> ProgramAnswer:
        return _tell(opened, len(opened.find_steps(ask.marker).names))

    return store.find(ask, "program", ProgramAnswer, make)


def answer_text(store: Store, ask: TextAsk) -> TextAnswer:
    opened = store.open(ask)
    programs = get_programs(opened)
    if not 0 <= ask.program < len(programs):
        raise UsageError(f"this capture has {len(programs)} programs, counted from 0 on")
    program = programs[ask.program]
    took = {
        each.placed.instruction.name: each.total_ps
        for each in get_timed(opened)
        if each.placed.program is program
    }
    lines = list(write_program(program))
    names = [line.instruction.name if line.instruction else "" for line in lines[:_MOST_LINES]]
    return TextAnswer(
        name=program.module.name,
        lines=[line.text for line in lines[:_MOST_LINES]],
        names=names,
        ms=np.array([took.get(name, np.nan) for name in names], np.float64) / _MS,
        rest=max(0, len(lines) - _MOST_LINES),
    )


def get_timed(opened: Opened) -> list[Timed]:
    return opened.find("timed", lambda: time_instructions(opened.trace, get_placement(opened)))


def _tell(opened: Opened, steps: int) -> ProgramAnswer:
    timed, programs = get_timed(opened), get_programs(opened)
    places = {id(program): at for at, program in enumerate(programs)}
    of = np.array([places[id(each.placed.program)] for each in timed], np.int64)
    total_ms = np.array([each.total_ps for each in timed], np.float64) / _MS
    instructions = [each.placed.instruction for each in timed]
    return ProgramAnswer(
        programs=_tell_programs(
            programs, np.bincount(of, total_ms, len(programs)).astype(np.float64)
        ),
        names=[each.name for each in instructions],
        opcodes=[each.opcode for each in instructions],
        kinds=[each.kind for each in timed],
        scopes=[each.op_name for each in instructions],
        sources=[each.placed.program.find_source(each.placed.instruction) for each in timed],
        shapes=[write_shape(each.shape) for each in instructions],
        programs_of=of.astype(np.int32),
        counts=np.array([each.runs for each in timed], np.int32),
        total_ms=total_ms,
        flops=np.array([each.runs * each.cost.flops for each in timed], np.float64),
        bytes=np.array([each.runs * each.cost.bytes for each in timed], np.float64),
        longest=np.array([each.longest for each in timed], np.int32),
        unplaced_ms=_measure_unplaced(opened),
        steps=steps,
    )


def _tell_programs(programs: list[Program], took_ms: Float64) -> list[ProgramRow]:
    """Those that took longest first; what only prepared something took no time here."""
    rows = [
        ProgramRow(at, each.module.name, each.module.id, len(each.instructions), float(took_ms[at]))
        for at, each in enumerate(programs)
    ]
    return sorted(rows, key=lambda row: (-row.total_ms, -row.instructions))


def _measure_unplaced(opened: Opened) -> float:
    trace, placed = opened.trace, get_placement(opened).events
    left = trace.on_device.copy()
    left[placed] = False
    return float(trace.duration_ps[left].sum()) / _MS


def _explain(opened: Opened) -> Why | None:
    if get_programs(opened):
        return None
    return explain_empty(opened) or Why(
        "this capture carries no program of XLA",
        "JAX's captures do, and TensorFlow's of models compiled with jit_compile=True",
    )


def _routes(store: Store) -> Sequence[Route]:
    def program(ask: CaptureAsk) -> ProgramAnswer:
        """The programs of XLA that a capture carries, and how long their instructions took."""
        return answer_program(store, ask)

    def text(ask: TextAsk) -> TextAnswer:
        """One program as people read it, with the time that each line took."""
        return answer_text(store, ask)

    return [
        Route("program", CaptureAsk, program, "GET", immutable=has_mark),
        Route("program/text", TextAsk, text, "GET", immutable=has_mark),
    ]


def _copies(store: Store, ask: CaptureAsk) -> Iterator[tuple[str, object]]:
    answer = answer_program(store, ask)
    yield f"program?capture={ask.capture}", answer
    for row in answer.programs[:1]:
        path = f"program/text?capture={ask.capture}&program={row.index}"
        yield path, answer_text(store, TextAsk(ask.capture, program=row.index))


TOOL = Tool("program", "Program", _routes, _explain, _copies)
