"""What the overview, the analysis of input and the comparison say, as the page asks."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import read_bytes, read_case, read_oracle
from tests.dashboards.profile.client import Asked, put_xplane
from tracklight.analysis.profiles.captures.files import open_capture
from tracklight.analysis.profiles.steps import StepPart, classify_events
from tracklight.analysis.profiles.summary import summarize
from tracklight.errors import UsageError
from tracklight.plugin import Stream


def test_the_overview_is_that_of_the_trace(asked: Asked) -> None:
    assert asked.get("overview", "keras/slow") == summarize(read_case("inputbound"))


def test_parts_of_all_steps_add_up(asked: Asked) -> None:
    overview, steps = (asked.get(path, "keras/slow") for path in ("overview", "steps"))
    counted = sum(part.counted for part in steps.parts) + steps.other
    assert counted == pytest.approx(steps.total_ms)
    first, end = steps.averaged
    assert (first, end) == (1, 5)
    assert steps.total_ms[first:end].mean() == pytest.approx(overview.steps.mean_ms)
    for part, told in zip(steps.parts, overview.parts, strict=False):
        assert part.counted[first:end].mean() == pytest.approx(told.ms)
        assert (part.alone >= part.counted - 1e-9).all()
    assert len(steps.names) == len(steps.start_ms) == overview.steps.count
    assert sum(part.share for part in overview.parts) == pytest.approx(1)


def test_by_xprofs_rules_the_numbers_are_xprofs(tmp_path: Path) -> None:
    put_xplane(tmp_path, "run", read_bytes("inputbound_steps"))
    asked = Asked(tmp_path)
    told = asked.get("overview", "run", rules="xprof")
    expected = read_oracle()["inputbound_steps"]["steps"]
    parts = {part.name: part.ms for part in told.parts}
    assert told.steps.averaged == len(expected)
    assert parts["input"] == pytest.approx(np.mean([step["input_ms"] for step in expected]))
    assert parts["host_compute"] == pytest.approx(np.mean([s["compute_ms"] for s in expected]))
    assert asked.get("overview", "run") != told
    ops = asked.get("ops", "run", rules="xprof")
    rows = zip(ops.names, ops.counts.tolist(), (1e3 * ops.self_ms).tolist(), strict=True)
    theirs = {op["name"]: op for op in read_oracle()["inputbound_steps"]["ops"]}
    assert ops.host_idle_ms * 1e3 == pytest.approx(theirs.pop("IDLE")["self_us"])
    assert {name: (count, own) for name, count, own in rows} == {
        name: (op["count"], pytest.approx(op["self_us"], abs=1e-6)) for name, op in theirs.items()
    }
    asked.close()


def test_findings_lead_to_the_events_that_they_are_about(asked: Asked) -> None:
    trace = read_case("inputbound")
    finding = asked.get("overview", "keras/slow").findings[0]
    assert finding.name == "input"
    part = classify_events(trace)
    for row in finding.evidence:
        assert part[row.event] == StepPart.INPUT
        assert row.name == trace.names[trace.name[row.event]]
        assert row.start_ps == trace.start_ps[row.event]
        assert row.duration_ps == trace.duration_ps[row.event]
    longest = finding.evidence[0]
    assert longest.duration_ps == trace.duration_ps[part == StepPart.INPUT].max()
    assert finding.start_ps <= longest.start_ps < finding.end_ps
    assert finding.query == f'"{longest.name}"'
    assert finding.code and "prefetch" in finding.code


def test_the_stage_that_is_waited_for(asked: Asked) -> None:
    told = asked.get("input", "keras/slow")
    assert told.share == pytest.approx(0.868, abs=0.0005)
    assert "much" in told.verdict and "MapAndBatch" in told.verdict
    (pipeline,) = told.pipelines
    assert [stage.op for stage in pipeline.stages] == ["Root", "MapAndBatch", "Shuffle", "Range"]
    (slowest,) = (stage for stage in pipeline.stages if stage.is_slowest)
    assert (slowest.op, slowest.parallel, slowest.parent) == ("MapAndBatch", 2, 0)
    # What is waited for, stage by stage, is all that the program waits for.
    waited = sum(stage.critical_ms for stage in pipeline.stages)
    assert waited == pytest.approx(told.ms, rel=0.01)


def test_what_is_prefetched_behind_the_step_costs_nothing(asked: Asked) -> None:
    """xprof counts the stages behind a prefetch and the wait for it, both."""
    told = asked.get("input", "keras/fast")
    (pipeline,) = told.pipelines
    by_op = {stage.op: stage for stage in pipeline.stages}
    assert by_op["Zip"].total_ms > 0.06
    assert by_op["Zip"].critical_ms == pytest.approx(0, abs=1e-3)
    assert "no matter" in told.verdict
    assert {stage.advice for stage in pipeline.stages} == {""}


def test_loaders_of_torch(asked: Asked) -> None:
    told = asked.get("input", "torch", host="a_1")
    (loader,) = told.loaders
    assert loader.name.startswith("enumerate(DataLoader)")
    assert loader.mean_ms > 20
    assert "loading" in {part.name for part in told.parts}


def test_two_captures_side_by_side(asked: Asked) -> None:
    before, after = (summarize(read_case(case)) for case in ("inputbound", "cnn"))
    told = asked.get("compare", "keras/fast", before="keras/slow")
    assert told.step.before_ms == pytest.approx(before.steps.mean_ms)
    assert told.step.after_ms == pytest.approx(after.steps.mean_ms)
    assert "4.0 times as fast" in told.verdict and "input" in told.verdict
    parts = {part.name: part for part in told.parts}
    assert parts["input"].before_ms == pytest.approx(before.parts[StepPart.INPUT].ms)
    assert parts["input"].after_ms == pytest.approx(after.parts[StepPart.INPUT].ms)
    assert {finding.name: finding.state for finding in told.findings} == {"input": "gone"}
    deltas = [abs(op.delta_ms) for op in told.ops]
    assert deltas == sorted(deltas, reverse=True)
    hue = next(op for op in told.ops if op.type == "AdjustHue")
    assert (hue.after_ms, hue.after_count) == (0, 0) and hue.before_count > 0


def test_hosts_beside_one_another(asked: Asked) -> None:
    waits, works = asked.get("hosts", "torch").hosts
    assert (waits.name, works.name) == ("a_1", "b_1")
    assert waits.parts_ms["input"] > 20 > works.parts_ms["input"]
    assert waits.step_ms == pytest.approx(sum(waits.parts_ms.values()))
    (broken,) = asked.get("hosts", "broken").hosts
    assert broken.step_ms is None and "vm.xplane.pb" in broken.problem.message


def test_nothing_to_compare_with_is_a_sentence(asked: Asked) -> None:
    with pytest.raises(UsageError, match="nothing to compare with"):
        asked.get("compare", "keras/fast")


def read(stream: Stream) -> bytes:
    return b"".join(stream.chunks)


def test_the_file_as_it_is(asked: Asked) -> None:
    stream = asked.get("file", "keras/slow")
    assert read(stream) == read_bytes("inputbound")
    assert stream.filename == "keras-slow-2026_11_15_00_37_55-vm.xplane.pb"


def test_the_same_for_perfetto(asked: Asked, tmp_path: Path) -> None:
    stream = asked.get("file", "keras/slow", format="chrome")
    path = tmp_path / stream.filename
    path.write_bytes(read(stream))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"/host:CPU", "python"} <= named
    again, trace = open_capture(path), read_case("inputbound")
    assert len(again) == len(trace)
    assert again.duration_ps.sum() == pytest.approx(trace.duration_ps.sum(), rel=1e-9)


def test_what_a_copy_of_the_board_knows(asked: Asked) -> None:
    slow, fast = asked.row("keras/slow"), asked.row("keras/fast")
    copied = dict(asked.profile.export_static(["keras/slow", "keras/fast"]))
    assert [row.id for row in copied["captures"].captures] == [fast.id, slow.id]  # type: ignore
    for path in ("tools", "overview", "steps", "input"):
        assert f"{path}?capture={slow.id}" in copied
    assert f"compare?capture={fast.id}&before={slow.id}" in copied
    assert dict(asked.profile.export_static([])) == {}
    torch = asked.row("torch")
    assert f"hosts?capture={torch.id}" in dict(asked.profile.export_static(["torch"]))
    broken = dict(asked.profile.export_static(["broken"]))
    assert list(broken) == ["captures"]


def test_findings_keep_to_chosen_thresholds_in_every_tool(asked: Asked) -> None:
    usual = asked.get("overview", "keras/slow")
    chosen = asked.get("overview", "keras/slow", thresholds="input:90")
    assert [each.name for each in chosen.findings] == [each.name for each in usual.findings[1:]]
    assert usual.findings[0].name == "input"
    compared = asked.get("compare", "keras/slow", "keras/fast", thresholds="input:90")
    assert "input" not in {each.name for each in compared.findings}
    with pytest.raises(UsageError, match="is no threshold"):
        asked.get("overview", "keras/slow", thresholds="input=90")
