"""`tracklight.run`: a run notes by itself what it is and how it ended."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracklight
from tests.sdk.reading import read_values
from tracklight.formats import proto
from tracklight.formats.hparams import Status
from tracklight.formats.tensor import decode


def read_texts(logdir: Path) -> dict[str, str]:
    return {
        value.tag.decode(): decode(value.tensor).item().decode()
        for value in read_values(logdir)
        if value.tag.startswith(b"run/")
    }


def read_hparams(logdir: Path) -> list[Any]:
    return [
        proto.parse("HParamsPluginData", value.metadata.plugin_data.content)
        for value in read_values(logdir)
        if value.tag.startswith(b"_hparams_")
    ]


def test_logs_config_scalars_and_the_end(tmp_path: Path) -> None:
    config = {"lr": 0.1, "optimizer": {"name": "adam", "beta": 0.9}}
    with tracklight.run(tmp_path, config=config) as run:
        assert run.path == str(tmp_path)
        assert run.log({"loss": 0.5, "val": {"acc": np.float32(0.25)}})
        assert run.log({"loss": 0.25}, step=10)
        assert run.log({"loss": 0.125})
        assert tracklight.summary.text("note", "hello", step=1)
    assert not tracklight.summary.should_record_summaries()
    start, end = read_hparams(tmp_path)
    names = {pair.key for pair in start.session_start_info.hparams}
    assert names == {b"lr", b"optimizer.name", b"optimizer.beta"}
    assert end.session_end_info.status == Status.SUCCESS
    log = tracklight.open(tmp_path)
    assert log.scalar(".", "loss").step.tolist() == [0, 10, 11]
    assert log.scalar(".", "val/acc").value.tolist() == [0.25]


def test_notes_source_and_surroundings(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(
        "import sys, tracklight\n"
        "run = tracklight.run(sys.argv[1], config={'lr': 0.1})\n"
        "run.log({'loss': 1.0})\n"
    )
    subprocess.run([sys.executable, script, tmp_path / "logs"], check=True, timeout=60)
    texts = read_texts(tmp_path / "logs")
    assert "run.log({'loss': 1.0})" in texts["run/source"]
    assert "train.py" in texts["run/surroundings"]
    assert f"`{sys.version.split()[0]}`" in texts["run/surroundings"]
    assert read_hparams(tmp_path / "logs")[-1].session_end_info.status == Status.SUCCESS


@pytest.mark.parametrize("script", ["raise ValueError('x')", "with run: raise ValueError('x')"])
def test_program_that_fails_is_noted(tmp_path: Path, script: str) -> None:
    program = f"import sys, tracklight\nrun = tracklight.run(sys.argv[1])\n{script}\n"
    answer = subprocess.run([sys.executable, "-c", program, tmp_path], capture_output=True)
    assert answer.returncode == 1
    assert read_hparams(tmp_path)[-1].session_end_info.status == Status.FAILURE


def test_finish_twice_is_harmless(tmp_path: Path) -> None:
    run = tracklight.run(tmp_path, note_source=False)
    run.finish()
    run.finish(failed=True)
    (end,) = read_hparams(tmp_path)
    assert end.session_end_info.status == Status.SUCCESS
    assert set(read_texts(tmp_path)) == {"run/surroundings"}


def test_run_gets_a_folder_by_name_and_time(tmp_path: Path) -> None:
    with tracklight.run(tmp_path, name="big", timestamp=True) as run:
        pass
    assert re.fullmatch(r"big-\d{8}-\d{6}", Path(run.path).name)
    with tracklight.run(tmp_path, timestamp=True) as run:
        pass
    assert re.fullmatch(r"\d{8}-\d{6}", Path(run.path).name)
