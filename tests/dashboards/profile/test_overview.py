"""Overview, input analysis, comparison, hosts and download."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from tests.analysis.profiles.sample_captures import read_bytes, read_case, read_oracle
from tests.dashboards.profile.client import ProfileClient, put_xplane
from tracklight.analysis.profiles.captures import open_capture
from tracklight.analysis.profiles.findings.summary import summarize
from tracklight.analysis.profiles.steps import StepPart, classify_events
from tracklight.errors import UsageError
from tracklight.plugin import Stream


def test_overview_is_summary_of_the_trace(client: ProfileClient) -> None:
    assert client.get("overview", "keras/slow") == summarize(read_case("inputbound"))


def test_step_parts_add_up(client: ProfileClient) -> None:
    overview, steps = (client.get(path, "keras/slow") for path in ("overview", "steps"))
    counted = sum(part.exclusive_ms for part in steps.parts) + steps.other_ms
    assert counted == pytest.approx(steps.total_ms)
    first, end = steps.averaged
    assert (first, end) == (1, 5)
    assert steps.total_ms[first:end].mean() == pytest.approx(overview.steps.mean_ms)
    for part, response in zip(steps.parts, overview.parts, strict=False):
        assert part.exclusive_ms[first:end].mean() == pytest.approx(response.ms)
        assert (part.inclusive_ms >= part.exclusive_ms - 1e-9).all()
    assert len(steps.names) == len(steps.start_ms) == overview.steps.count
    assert sum(part.share for part in overview.parts) == pytest.approx(1)


def test_xprof_rules_match_xprof(tmp_path: Path) -> None:
    put_xplane(tmp_path, "run", read_bytes("inputbound_steps"))
    client = ProfileClient(tmp_path)
    response = client.get("overview", "run", rules="xprof")
    expected = read_oracle()["inputbound_steps"]["steps"]
    parts = {part.name: part.ms for part in response.parts}
    assert response.steps.averaged == len(expected)
    assert parts["input"] == pytest.approx(np.mean([step["input_ms"] for step in expected]))
    assert parts["host_compute"] == pytest.approx(np.mean([s["compute_ms"] for s in expected]))
    assert client.get("overview", "run") != response
    ops = client.get("ops", "run", rules="xprof")
    rows = zip(ops.names, ops.counts.tolist(), (1e3 * ops.self_ms).tolist(), strict=True)
    xprof_ops = {op["name"]: op for op in read_oracle()["inputbound_steps"]["ops"]}
    assert ops.host_idle_ms * 1e3 == pytest.approx(xprof_ops.pop("IDLE")["self_us"])
    assert {name: (count, own) for name, count, own in rows} == {
        name: (op["count"], pytest.approx(op["self_us"], abs=1e-6))
        for name, op in xprof_ops.items()
    }
    client.close()


def test_evidence_of_findings_matches_trace(client: ProfileClient) -> None:
    trace = read_case("inputbound")
    finding = client.get("overview", "keras/slow").findings[0]
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


def test_input_analysis_names_slowest_stage(client: ProfileClient) -> None:
    response = client.get("input", "keras/slow")
    assert response.share == pytest.approx(0.868, abs=0.0005)
    bound, cause = map(str, response.verdict)
    assert "highly" in bound and "MapAndBatch" in cause
    (pipeline,) = response.pipelines
    assert [stage.op for stage in pipeline.stages] == ["Root", "MapAndBatch", "Shuffle", "Range"]
    (slowest,) = (stage for stage in pipeline.stages if stage.is_slowest)
    assert (slowest.op, slowest.parallelism, slowest.parent) == ("MapAndBatch", 2, 0)
    # The waiting times of all stages add up to that of the program.
    waited = sum(stage.critical_ms for stage in pipeline.stages)
    assert waited == pytest.approx(response.ms, rel=0.01)


def test_prefetched_stages_cost_nothing(client: ProfileClient) -> None:
    """xprof counts both the stages behind a prefetch and the wait for it."""
    response = client.get("input", "keras/fast")
    (pipeline,) = response.pipelines
    by_op = {stage.op: stage for stage in pipeline.stages}
    assert by_op["Zip"].total_ms > 0.06
    assert by_op["Zip"].critical_ms == pytest.approx(0, abs=1e-3)
    assert "not input-bound" in response.verdict[0].text
    assert {stage.advice for stage in pipeline.stages} == {None}


@pytest.mark.parametrize("run", ["keras/slow", "keras/fast", "torch"])
def test_input_parts_add_up_to_the_wait(client: ProfileClient, run: str) -> None:
    host = {"host": "a_1"} if run == "torch" else {}
    response = client.get("input", run, **host)
    assert sum(part.ms for part in response.parts) == pytest.approx(response.ms)
    assert sum(part.share for part in response.parts) == pytest.approx(response.share)
    overview = client.get("overview", run, **host)
    parts = {part.name: part.ms for part in overview.parts}
    assert response.ms == pytest.approx(parts["input"])
    assert response.copy_ms == pytest.approx(parts["host_to_device"])


def test_input_analysis_lists_torch_loaders(client: ProfileClient) -> None:
    response = client.get("input", "torch", host="a_1")
    (loader,) = response.loaders
    assert loader.name.startswith("enumerate(DataLoader)")
    assert loader.mean_ms > 20
    assert "loading" in {part.name for part in response.parts}


def test_compares_two_captures(client: ProfileClient) -> None:
    before, after = (summarize(read_case(case)) for case in ("inputbound", "cnn"))
    response = client.get("compare", "keras/fast", before="keras/slow")
    assert response.step.before_ms == pytest.approx(before.steps.mean_ms)
    assert response.step.after_ms == pytest.approx(after.steps.mean_ms)
    factor, gain, noise, programs = map(str, response.verdict)
    assert "different programs" in programs
    assert "4.0 times as fast" in factor and "input" in gain
    assert noise.startswith("The difference exceeds the variation between steps")
    parts = {part.name: part for part in response.parts}
    assert parts["input"].before_ms == pytest.approx(before.parts[StepPart.INPUT].ms)
    assert parts["input"].after_ms == pytest.approx(after.parts[StepPart.INPUT].ms)
    assert {finding.name: finding.state for finding in response.findings} == {"input": "gone"}
    deltas = [abs(op.delta_ms) for op in response.ops]
    assert deltas == sorted(deltas, reverse=True)
    hue = next(op for op in response.ops if op.type == "AdjustHue")
    assert (hue.after_ms, hue.after_count) == (0, 0) and hue.before_count > 0


def test_lists_hosts_of_a_capture(client: ProfileClient) -> None:
    waits, works = client.get("hosts", "torch").hosts
    assert (waits.name, works.name) == ("a_1", "b_1")
    assert waits.parts_ms["input"] > 20 > works.parts_ms["input"]
    assert waits.step_ms == pytest.approx(sum(waits.parts_ms.values()))
    (broken,) = client.get("hosts", "broken").hosts
    assert broken.step_ms is None and "vm.xplane.pb" in broken.problem.message


def test_comparison_requires_another_capture(client: ProfileClient) -> None:
    with pytest.raises(UsageError, match="nothing to compare with"):
        client.get("compare", "keras/fast")


def read(stream: Stream) -> bytes:
    return b"".join(stream.chunks)


def test_downloads_original_file(client: ProfileClient) -> None:
    stream = client.get("file", "keras/slow")
    assert read(stream) == read_bytes("inputbound")
    assert stream.filename == "keras-slow-2026_11_15_00_37_55-vm.xplane.pb"


def test_downloads_chrome_trace(client: ProfileClient, tmp_path: Path) -> None:
    stream = client.get("file", "keras/slow", format="chrome")
    path = tmp_path / stream.filename
    path.write_bytes(read(stream))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    named = {event["args"]["name"] for event in events if event["ph"] == "M"}
    assert {"/host:CPU", "python"} <= named
    again, trace = open_capture(path), read_case("inputbound")
    assert len(again) == len(trace)
    assert again.duration_ps.sum() == pytest.approx(trace.duration_ps.sum(), rel=1e-9)


def test_static_export_contains_captures(client: ProfileClient) -> None:
    slow, fast = client.row("keras/slow"), client.row("keras/fast")
    exported = dict(client.profile.export_static(["keras/slow", "keras/fast"]))
    assert [row.id for row in exported["captures"].captures] == [fast.id, slow.id]  # type: ignore
    for path in ("tools", "overview", "steps", "input"):
        assert f"{path}?capture={slow.id}" in exported
    assert f"compare?capture={fast.id}&baseline={slow.id}" in exported
    assert dict(client.profile.export_static([])) == {}
    torch = client.row("torch")
    assert f"hosts?capture={torch.id}" in dict(client.profile.export_static(["torch"]))
    broken = dict(client.profile.export_static(["broken"]))
    assert list(broken) == ["captures"]


def test_chosen_thresholds_apply_to_every_tool(client: ProfileClient) -> None:
    default = client.get("overview", "keras/slow")
    chosen = client.get("overview", "keras/slow", thresholds="input:90")
    assert [each.name for each in chosen.findings] == [each.name for each in default.findings[1:]]
    assert default.findings[0].name == "input"
    compared = client.get("compare", "keras/slow", "keras/fast", thresholds="input:90")
    assert "input" not in {each.name for each in compared.findings}
    with pytest.raises(UsageError, match="Invalid threshold"):
        client.get("overview", "keras/slow", thresholds="input=90")


def test_xprof_rules_are_not_offered_for_devices(client: ProfileClient) -> None:
    """xprof ignores the host if there is a device, which these rules do not."""
    assert client.get("tools", "keras/slow").has_xprof_rules
    assert not client.get("tools", "torch", host="a_1").has_xprof_rules
    ours = client.get("overview", "torch", host="a_1")
    assert client.get("overview", "torch", host="a_1", rules="xprof") == ours
