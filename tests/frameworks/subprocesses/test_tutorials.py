"""Tutorials log the same runs, tags and values after changing their imports.

The repository contains one program with parts of tutorials, which is compared with the original
writers. With ``TRACKLIGHT_CORPUS=directory``, the programs in ``scripts/`` of that corpus are run
as well and compared with the logs in ``logs/``.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.frameworks.programs import HERE, need, run_program
from tests.frameworks.record_comparison import iter_differences

pytestmark = pytest.mark.slow

CORPUS = os.environ.get("TRACKLIGHT_CORPUS")

#: Keras 3 no longer logs them.
GRAPHS = (": new (graph)", ": new keras")

#: The parts of tutorial.py, and known differences from the original writers.
PARTS: dict[str, set[str]] = {
    "train_with_every_option": set(),
    "train_by_hand": set(),
    "show_a_figure_each_epoch": set(),
    "try_hyperparameters": set(),
    "show_words": set(),
    "profile_in_mixed_precision": set(),
    # Keras logs every batch to the default writer of the program.
    "schedule_the_learning_rate": {
        "rate/metrics: no batch_loss",
        "rate/metrics: no batch_accuracy",
    },
}


@pytest.mark.parametrize("part", PARTS)
def test_tutorial_logs_the_same_values(part: str, tmp_path: Path) -> None:
    need("tensorflow", "keras", "tensorboard", "matplotlib")
    for imports in ("original", "tracklight"):
        (tmp_path / imports).mkdir()
        run_program(
            "tutorial.py",
            imports,
            part,
            cwd=tmp_path / imports,
            process="tutorial",
        )
    theirs, ours = tmp_path / "original/logs", tmp_path / "tracklight/logs"
    differences = set(iter_differences(theirs, ours, rtol=1e-5))
    assert {line for line in differences if not line.endswith(GRAPHS)} == PARTS[part]
    assert list_other_files(ours) == list_other_files(theirs)


def list_other_files(logdir: Path) -> set[tuple[str, int]]:
    """Return the sizes of other files than event files; of profiles only that they exist."""
    differences = set()
    for path in logdir.rglob("*"):
        if path.is_file() and "tfevents" not in path.name:
            is_profile = path.name.endswith(".xplane.pb")
            size = 0 if is_profile else path.stat().st_size
            differences.add(("a profile" if is_profile else path.name, size))
    return differences


class Script(NamedTuple):
    """A program of the corpus."""

    case: str
    #: Prefix of the names of the runs that it writes.
    runs: str
    #: Relative tolerance of the numbers.
    rtol: float
    differs: frozenset[str] = frozenset()


#: Known differences between Keras and tracklight in seed000.
KERAS = {
    # TensorFlow cannot log an int that does not fit into 64 bits.
    "logs/fibonacci_as_printed: other steps of fibonacci",
    # With update_freq=5, Keras drops values at other steps than every fifth.
    "logs/update_freq_5/train: new epoch_loss",
    "logs/update_freq_5/train: new epoch_accuracy",
    "logs/update_freq_5/train: new epoch_learning_rate",
    "logs/update_freq_5/validation: new epoch_loss",
    "logs/update_freq_5/validation: new epoch_accuracy",
    "logs/update_freq_5/validation: new evaluation_loss_vs_iterations",
    "logs/update_freq_5/validation: new evaluation_accuracy_vs_iterations",
}
#: tracklight's images of weights show negative values and all filters of a kernel.
WEIGHTS = {
    f"logs/all_options_20240527031421/train: other values of sequential_2/{name}/{weight}/image"
    for name in ("conv", "hidden", "out")
    for weight in ("kernel", "bias")
}
ONNX = "runs/" if importlib.util.find_spec("onnx") else "runs/(?!onnx)"

SCRIPTS = {
    "seed000.py": Script("seed000", "logs ?/(?!profile)", 1e-3, frozenset(KERAS | WEIGHTS)),
    "seed000_profile.py plain": Script("seed000", "logs/profile_plain", 1e-3),
    "seed000_profile.py optimized": Script("seed000", "logs/profile_optimized", 1e-3),
    "seed001.py": Script(
        "seed001", "", 1e-5, frozenset({"logs/scalars/20240527-031421/metrics: no batch_loss"})
    ),
    "seed002.py": Script("seed002", "", 1e-5),
    "seed003.py": Script(
        "seed003",
        "logs/(?!func)",
        1e-3,
        frozenset({"logs/custom_metrics/20240527-031421/learning_rate: no batch_loss"}),
    ),
    "seed003_graph.py printed": Script("seed003", "logs/func/printed", 1e-3),
    "seed003_graph.py fixed": Script("seed003", "logs/func/fixed", 1e-3),
    "seed003_graph.py graphonly": Script("seed003", "logs/func/graphonly", 1e-3),
    # PyTorch raises there.
    "torch_like.py torch": Script(
        "torch", ONNX, 1e-9, frozenset({"new run runs/hparams_odd/1716780141.0"})
    ),
}

IMPORTS = {
    r"^(import tensorflow as tf)$": r"\1; import tracklight.keras, tracklight.summary",
    r"\btf\.summary\.": "tracklight.summary.",
    r"\b(tf\.)?keras\.callbacks\.TensorBoard\b": "tracklight.keras.TensorBoard",
    r"from tensorboard\.plugins\.hparams import api as hp": "from tracklight import hparams as hp",
    r"from tensorboard\.plugins import projector": "from tracklight import projector",
    r"from torch\.utils\.tensorboard import": "from tracklight.torch import",
}


@pytest.mark.skipif(not CORPUS, reason="TRACKLIGHT_CORPUS is not set")
@pytest.mark.parametrize("script", SCRIPTS)
def test_corpus_script_logs_the_same_values(script: str, tmp_path: Path) -> None:
    need("tensorflow", "torch", "sklearn", "pandas")
    case, runs, rtol, differs = SCRIPTS[script]
    run_script(*script.split(), logdir=tmp_path)
    differences = iter_differences(Path(CORPUS or "", "logs", case), tmp_path / "logs" / case, rtol)
    own_runs = re.compile(f"(no run |new run )?{runs}")
    assert {
        line for line in differences if own_runs.match(line) and not line.endswith(GRAPHS)
    } == differs


def run_script(name: str, *arguments: str, logdir: Path) -> None:
    """Run a program of the corpus with changed imports; it logs to ``logdir``."""
    scripts = logdir / "scripts"
    shutil.copytree(Path(CORPUS or "", "scripts"), scripts)
    text = (scripts / name).read_text(encoding="utf-8")
    for pattern, change in IMPORTS.items():
        text = re.sub(pattern, change, text, flags=re.MULTILINE)
    (scripts / name).write_text(text, encoding="utf-8")
    paths = {"CORPUS_ROOT": str(logdir), "PYTHONPATH": str(HERE.parents[2])}
    command = [sys.executable, str(scripts / name), *arguments]
    (logdir / "work").mkdir()
    result = subprocess.run(
        command, env={**os.environ, **paths}, capture_output=True, text=True, timeout=500
    )
    assert result.returncode == 0, result.stderr[-4000:]
