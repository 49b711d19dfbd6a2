"""Recompute overlap, precision and findings of captures without the code under test.

The rules are those of docs/dashboards/profile.md, as loops over the events of `raw_captures`.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from statistics import mean

from tests.analysis.profiles.raw_captures import PARTS, RawEvent, get_fields
from tests.analysis.profiles.raw_ops import RawInstruction, RawProgram, name_host_op, read_programs
from tests.analysis.profiles.raw_steps import (
    divide_steps,
    get_path,
    get_raw_steps,
    list_part_events,
    load_raw,
)
from tracklight.analysis.profiles.trace import PS_PER_MS

Span = tuple[int, int]


def merge(rows: Iterable[Span]) -> list[Span]:
    """Return the union of intervals, sorted and disjoint."""
    merged: list[Span] = []
    for start, end in sorted(rows):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        elif end > start:
            merged.append((start, end))
    return merged


def intersect(one: list[Span], other: list[Span]) -> list[Span]:
    """Return the intersection of two disjoint sets of intervals."""
    common, at = [], 0
    for start, end in one:
        while at and other[at - 1][1] > start:
            at -= 1
        while at < len(other) and other[at][0] < end:
            if other[at][1] > start:
                common.append((max(start, other[at][0]), min(end, other[at][1])))
            at += 1
    return common


def subtract(one: list[Span], other: list[Span]) -> list[Span]:
    """Return the parts of disjoint intervals that are not in another such set."""
    edges = [-(1 << 62), *(edge for row in other for edge in row), 1 << 62]
    return intersect(one, [*zip(edges[::2], edges[1::2], strict=True)])


def measure(rows: Iterable[Span]) -> int:
    return sum(end - start for start, end in rows)


# --- Overlapped time -----------------------------------------------------------------------------


def _is_op(event: RawEvent) -> bool:
    return event.category == "cpu_op" or (
        ":" in event.name and name_host_op(replace(event, args={})) is not None
    )


@cache
def list_working_events(name: str) -> list[tuple[RawEvent, str]]:
    """Return the events that do not only wait for others.

    Where ops were recorded, other host events around them wait. Python frames between steps only
    count where nothing else runs.
    """
    rows = [
        (event, part)
        for event, part in list_part_events(name)
        if not (event.name.startswith("$") and part == "host_compute")
    ]
    on_host = [event for event, part in rows if part == "host_compute" and not event.on_device]
    has_ops = sum(map(_is_op, on_host)) > 0.2 * len(on_host)
    return [
        (event, part)
        for event, part in rows
        if "Synchronize" not in event.name
        and (event.on_device or part != "host_compute" or not has_ops or _is_op(event))
    ]


def measure_hidden_ms(name: str) -> dict[str, float]:
    """Return how much longer an average step spends in each part if it were the only one.

    Host work counts in the host span of a step, device work for the step that launched it. Work on
    both sides at the same time counts once.
    """
    steps, divided = get_raw_steps(name), divide_steps(name)
    part_of = {id(event): part for event, part in list_working_events(name)}
    hidden: dict[str, float] = {}
    for part in PARTS:
        host = merge(
            (event.start_ps, event.end_ps)
            for event, own in list_working_events(name)
            if own == part and not event.on_device
        )
        times = []
        for span, launched in zip(steps.host_spans, steps.work, strict=True):
            device = [
                (event.start_ps, event.end_ps)
                for event in launched
                if part_of.get(id(event)) == part
            ]
            times.append(measure(merge([*intersect(host, [span]), *device])))
        exclusive = [each[part] for each in divided]
        inclusive = [max(*pair) for pair in zip(times[steps.averaged], exclusive, strict=True)]
        hidden[part] = (mean(inclusive) - mean(exclusive)) / PS_PER_MS
    return hidden


@dataclass
class RawOverlap:
    host_ms: float
    both_ms: float
    neither_ms: float


def measure_overlap(name: str) -> RawOverlap:
    """Return how long the host, both sides and none of them worked in an average step."""
    steps = get_raw_steps(name)
    rows = list_working_events(name)
    host = merge((event.start_ps, event.end_ps) for event, _ in rows if not event.on_device)
    device = merge((event.start_ps, event.end_ps) for event, _ in rows if event.on_device)

    def average_ms(spans: list[Span], busy: list[Span]) -> float:
        times = [measure(intersect(busy, [span])) for span in spans[steps.averaged]]
        return mean(times) / PS_PER_MS

    busy = merge([*host, *device])
    return RawOverlap(
        host_ms=average_ms(steps.host_spans, host),
        both_ms=average_ms(steps.host_spans, intersect(host, device)),
        neither_ms=steps.step_ms - average_ms(steps.spans, busy),
    )


# --- Precision -----------------------------------------------------------------------------------

BYTE_TYPES, HALF_TYPES = ("c10::Float8", "c10::Float4"), ("c10::Half", "c10::BFloat16")
FULL_TYPES = ("float", "double")
#: ``PrimitiveType`` in xla_data.proto.
BYTE_XLA, HALF_XLA, FULL_XLA = {19, 20, 23, 24, 25, 28, 29, 33}, {10, 16}, {11, 12}
#: Parts of kernel names, which only count if types are unknown.
HALF_NAMES = ("bf16", "bfloat16", "fp16", "half", "hmma", "h884", "h1688")
FULL_NAMES = ("f32f32", "tf32", "float", "sgemm", "ffma", "tensorop_s", "tensorop_d")


LIBRARY = re.compile("nvjet|cutlass")


def _list_shape_types(shape: bytes) -> set[int]:
    fields = get_fields(shape)
    if fields[4]:
        return set().union(*map(_list_shape_types, fields[4]))
    return {fields[2][0]} if fields[2] else set()


def _classify_instruction(program: RawProgram, each: RawInstruction) -> str | None:
    types = _list_shape_types(each.shape)
    for operand in each.operands:
        if operand in program.by_id:
            types |= _list_shape_types(program.by_id[operand].shape)
    if types & BYTE_XLA:
        return "byte"
    return "half" if types & HALF_XLA else "full" if types & FULL_XLA else None


def _classify_name(kernel: str) -> str:
    lowered = kernel.lower()
    if any(part in lowered for part in HALF_NAMES) or re.search(r"(?<!f)f16", lowered):
        return "half"
    return "full" if any(part in lowered for part in FULL_NAMES) else "unknown"


def _get_only(kinds: set[str | None]) -> str | None:
    return next(iter(kinds)) if len(kinds) == 1 else None


def measure_precision_ms(name: str) -> dict[str, float]:
    """Return how long kernels ran in at most 8 bits, at most 16 ("low"), more, and unknown ones.

    In a CUDA graph, kernels of libraries are named after no instruction. If all library calls of
    the program have the same types, it is theirs.
    """
    path, events = get_path(name), load_raw(name)
    programs = [] if ".json" in path.name else read_programs(path)
    known: dict[tuple[int, str], str] = {}
    for program in programs:
        for each in program.by_id.values():
            kind = _classify_instruction(program, each)
            if kind:
                known[program.id, each.name] = kind
                known[program.id, re.sub("[.-]", "_", each.name)] = kind
    libraries = {
        program.id: {
            _classify_instruction(program, each)
            for each in program.computations.get(program.entry, ())
            if each.opcode == "custom-call"
        }
        for program in programs
    }
    launchers = {
        event.args["External id"]: event.args.get("Input type", [])
        for event in events
        if event.category == "cpu_op" and "External id" in event.args
    }
    times: dict[str, float] = defaultdict(float)
    for event, part in list_part_events(name):
        if part != "device_compute":
            continue
        types = launchers.get(event.args.get("External id", -1), [])
        program_id = event.args.get("program_id", -1)
        op = str(event.args.get("hlo_op", ""))
        if any(str(type).startswith(BYTE_TYPES) for type in types):
            kind = "byte"
        elif any(str(type).startswith(HALF_TYPES) for type in types):
            kind = "half"
        elif any(type in FULL_TYPES for type in types):
            kind = "full"
        else:
            kind = (
                known.get((program_id, op))
                or known.get((program_id, event.name))
                or (LIBRARY.search(event.name) and _get_only(libraries.get(program_id, set())))
                or _classify_name(event.name)
            )
        times[kind] += (event.end_ps - event.start_ps) / PS_PER_MS
    times["low"] = times["byte"] + times["half"]
    return times


# --- Findings ------------------------------------------------------------------------------------

#: Minimum shares of a step by finding.
THRESHOLDS = {
    "input": 0.05, "kernel launch": 0.15, "host": 0.2, "small kernels": 0.1, "copies": 0.05,
    "collectives": 0.15, "compilation": 0.05, "retracing": 0.05, "eager": 0.1, "other": 0.15,
}  # fmt: skip
FINDING_PARTS = {
    "input": ("input",),
    "kernel launch": ("kernel_launch",),
    "copies": ("host_to_device", "output"),
    "collectives": ("collectives",),
    "compilation": ("compilation",),
    "host": ("host_compute",),
}
MAX_LAUNCH_GAP_PS = 20_000_000


@dataclass
class RawFinding:
    """What a finding measures. ``rows`` are its events, or the gaps without events."""

    savings_ms: float
    measured_ms: float
    share: float
    """The share that the text tells."""
    rows: list[Span]
    query_ps: dict[str, int]
    """Total time of the events by name."""


def list_expected_findings(name: str) -> dict[str, RawFinding]:
    """Return the findings that a capture must have."""
    steps, divided, events = get_raw_steps(name), divide_steps(name), load_raw(name)
    has_device = any(event.on_device for event in events)
    findings: dict[str, RawFinding] = {}

    def add(finding: str, ms: float, proof: list[RawEvent]) -> None:
        if ms and ms / steps.step_ms >= THRESHOLDS[finding]:
            inside = [e for e in proof if _find_step(steps.spans, e.start_ps) is not None]
            totals: Counter[str] = Counter()
            for event in inside:
                totals[event.name] += event.end_ps - event.start_ps
            spans = [(event.start_ps, event.end_ps) for event in inside]
            findings[finding] = RawFinding(ms, ms, ms / steps.step_ms, spans, totals)

    def average_parts(*parts: str) -> float:
        return mean(sum(time[part] for part in parts) for time in divided) / PS_PER_MS

    for finding, parts in FINDING_PARTS.items():
        if finding != "host" or has_device:
            own = [event for event, part in list_part_events(name) if part in parts]
            add(finding, average_parts(*parts), own)
    for finding, is_own in (("retracing", _is_retraced), ("eager", _is_eager)):
        own = [event for event in events if is_own(event)]
        rows = [(event.start_ps, event.end_ps - event.start_ps) for event in own]
        add(finding, _average_starting(name, rows), own)
    gaps = _list_kernel_gaps(name)
    starts = [(event.start_ps, gap) for event, gap in gaps]
    add("small kernels", _average_starting(name, starts), [event for event, _ in gaps])
    other_ms = average_parts("other")
    if other_ms / steps.step_ms >= THRESHOLDS["other"]:
        busy = merge((event.start_ps, event.end_ps) for event, _ in list_part_events(name))
        idle = [gap for span in steps.spans for gap in subtract([span], busy)]
        findings["other"] = RawFinding(other_ms, other_ms, other_ms / steps.step_ms, idle, {})
    precision, compute_ms = measure_precision_ms(name), average_parts("device_compute")
    known_ms = precision["low"] + precision["full"]
    if known_ms and compute_ms >= 0.1 * steps.step_ms:
        share = precision["low"] / known_ms
        if share < 0.1:
            kernels = [e for e, part in list_part_events(name) if part == "device_compute"]
            spans = [
                (event.start_ps, event.end_ps)
                for event in kernels
                if _find_step(steps.spans, event.start_ps) is not None
            ]
            findings["precision"] = RawFinding(compute_ms / 2, compute_ms, share, spans, {})
    return findings


def _find_step(spans: list[Span], time_ps: int) -> int | None:
    return next((at for at, (start, end) in enumerate(spans) if start <= time_ps < end), None)


def _is_retraced(event: RawEvent) -> bool:
    return event.args.get("tf_function_call") in (
        "traced-xla", "traced-nonXla", b"traced-xla", b"traced-nonXla",
    )  # fmt: skip


def _is_eager(event: RawEvent) -> bool:
    return event.args.get("is_func") == 0


def _average_starting(name: str, rows: list[Span]) -> float:
    """Return the time per averaged step of rows, given as start and length, in their step."""
    steps = get_raw_steps(name)
    times = [0] * len(steps.spans)
    for start, length in rows:
        at = _find_step(steps.spans, start)
        if at is not None:
            times[at] += length
    return mean(times[steps.averaged]) / PS_PER_MS


def _list_kernel_gaps(name: str) -> list[tuple[RawEvent, int]]:
    """Return kernels that start less than 20 µs after the one before, with that time."""
    streams: dict[tuple[str, str], list[RawEvent]] = defaultdict(list)
    for event, part in list_part_events(name):
        if event.on_device and part == "device_compute":
            streams[event.process, event.thread].append(event)
    rows = []
    for kernels in streams.values():
        kernels.sort(key=lambda event: (event.start_ps, -event.end_ps))
        for before, after in pairwise(kernels):
            if 0 < after.start_ps - before.end_ps < MAX_LAUNCH_GAP_PS:
                rows.append((after, after.start_ps - before.end_ps))
    return rows


# --- Stages of tf.data ---------------------------------------------------------------------------


def measure_stages(name: str) -> dict[str, int]:
    """Return how long the program waited for each kind of stage of its input pipelines.

    While it waits for a stage, and a stage that feeds it works on any thread, it waits for the
    latter.
    """
    steps = get_raw_steps(name)
    window = merge(steps.spans[steps.averaged])
    events = [
        event
        for event in load_raw(name)
        if event.name.startswith("Iterator::")
        and event.end_ps > window[0][0]
        and event.start_ps < window[-1][1]
    ]
    parents = {e.args["id"]: e.args.get("parent_id") for e in load_raw(name) if "id" in e.args}

    def get_root(id: int) -> int:
        while parents.get(id):
            id = parents[id]
        return id

    stages: dict[tuple[int, str], list[Span]] = defaultdict(list)
    for event in events:
        path = re.sub(r"\[\d+\](?=::|$)", "", event.name)
        stages[get_root(event.args.get("id", 0)), path].append((event.start_ps, event.end_ps))

    def find_parent(key: tuple[int, str]) -> tuple[int, str] | None:
        root, path = key
        while "::" in path:
            path = path.rpartition("::")[0]
            if (root, path) in stages:
                return root, path
        return None

    waited: dict[tuple[int, str], list[Span]] = {}
    for key in sorted(stages, key=lambda key: key[1].count("::")):
        parent = find_parent(key)
        waited[key] = intersect(merge(stages[key]), window if parent is None else waited[parent])
    times: dict[str, int] = Counter()
    for key, spans in waited.items():
        below = merge(row for other in waited if find_parent(other) == key for row in waited[other])
        times[f"{key[0]} {key[1]}"] = measure(spans) - measure(below)
    return times
