"""``tracklight inspect --profile``."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.analysis.profiles.sample_captures import DATA, read_bytes
from tracklight.cli import main


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    session = tmp_path / "run" / "train" / "plugins" / "profile" / "2026_11_15_00_37_55"
    session.mkdir(parents=True)
    (session / "host.with.dots.xplane.pb").write_bytes(read_bytes("inputbound"))
    (session / "broken.xplane.pb").write_bytes(b"\xff" * 100)
    (tmp_path / "elsewhere.xplane.pb").write_bytes(b"")
    shutil.copyfile(DATA / "tgpu.pt.trace.json.gz", tmp_path / "worker0.17947.pt.trace.json.gz")
    return tmp_path


def test_json_of_all_kinds_of_captures(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(logs), "--json"]) == 0
    torch, elsewhere, broken, keras = json.loads(capsys.readouterr().out)["profiles"]
    assert elsewhere["session"] == "elsewhere"
    assert [torch[key] for key in ("run", "session", "host")] == [".", "17947", "worker0"]
    assert torch["summary"]["steps"]["averaged"] == 3
    assert (keras["run"], keras["host"]) == ("run/train", "host.with.dots")
    assert keras["session"] == "2026_11_15_00_37_55"
    assert keras["summary"]["steps"]["mean_ms"] == pytest.approx(49.3, abs=0.05)
    assert broken["summary"] is None and "broken.xplane.pb" in broken["problem"]


def test_formats_a_capture(logs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(logs / "run")]) == 0
    output = capsys.readouterr().out
    assert "train  2026_11_15_00_37_55  host.with.dots" in output
    assert "steps: batches profiled by Keras" in output
    assert "86.8 %  input: 42.787 ms" in output


def test_names_instructions_of_xla(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Their kinds, such as matrix product, do not tell them apart."""
    shutil.copyfile(DATA / "jax_bf16.xplane.pb", tmp_path / "vm.xplane.pb")
    assert main(["inspect", "--profile", "--logdir", str(tmp_path)]) == 0
    (line,) = (it for it in capsys.readouterr().out.splitlines() if "longest ops" in it)
    assert re.search(r" gemm_fusion_dot\.1 [\d.]+ µs,", line) and "matrix product" not in line


def test_reports_a_log_without_captures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--profile", "--logdir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no profiles found\n"


def test_lists_functions_and_lines_of_a_python_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A capture as `tracklight.profile` writes it without a framework: lines in functions."""
    events = [make_event("ProfilerStep#1", 0, 10_000, kind="user_annotation")]
    for name in ("<module> (train.py:1)", "train.py:50: load()", "load (train.py:5)"):
        events.append(make_event(name, 0, 10_000))
    # More lines than are listed, each with a longer own time than any function.
    events.append(make_event("train.py:7: parse(row)", 0, 7_000))
    events += [make_event(f"train.py:{8 + at}: x += 1", 7_000 + 100 * at, 100) for at in range(30)]
    (tmp_path / "vm_1.1.pt.trace.json").write_text(json.dumps({"traceEvents": events}))
    assert main(["inspect", "--profile", "--logdir", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "7.0 ms   70.0 %  train.py:7: parse(row)" in output
    assert "10.0 ms  load (train.py:5)" in output
    assert "Python 7.0 ms" not in output


def make_event(
    name: str, start_us: int, took_us: int, kind: str = "python_function"
) -> dict[str, object]:
    place = {"ph": "X", "cat": kind, "pid": 1, "tid": 1}
    return {**place, "name": name, "ts": start_us, "dur": took_us}


def test_summarizes_a_fresh_capture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """
import sys, time
import tracklight

def keep_busy():
    end = time.perf_counter() + 0.1
    while time.perf_counter() < end:
        sum(range(1000))

with tracklight.profile(sys.argv[1], steps=3) as profile:
    for _ in range(4):
        keep_busy()
        profile.step()
"""
    path = tmp_path / "busy.py"
    path.write_text(program)
    subprocess.run([sys.executable, path, tmp_path / "logs"], check=True, timeout=500)
    assert main(["inspect", "--profile", "--logdir", str(tmp_path / "logs")]) == 0
    output = capsys.readouterr().out
    assert "keep_busy (busy.py:5)" in output
    assert re.search(r"ms +\d+\.\d %  busy\.py:[78]: ", output), output
