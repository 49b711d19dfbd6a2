"""``tracklight inspect --fairness``."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.fairness.test_evaluate import ARGUMENTS, COLUMNS
from tracklight.cli import main
from tracklight.fairness import evaluate

TFMA = Path(__file__).parents[1] / "analysis" / "fairness" / "data"


@pytest.fixture
def logdir(tmp_path):
    evaluate(COLUMNS, **ARGUMENTS).write(tmp_path / "train", step=3)
    shutil.copytree(TFMA / "parquet", tmp_path / "tfma")
    return tmp_path


def test_json(logdir, capsys):
    assert main(["inspect", "--fairness", "--json", "--logdir", str(logdir)]) == 0
    logged, candidate, baseline = json.loads(capsys.readouterr().out)["evaluations"]
    assert (logged["run"], logged["tag"], logged["step"]) == ("train", "fairness", 3)
    assert logged["rows"] == len(COLUMNS["label"])
    assert logged["slices"] == ["Overall", "sex:F", "sex:M", "filter:age > 60"]
    expected = (COLUMNS["score"][COLUMNS["label"] == 1] > 0.5).mean()
    assert logged["overall"]["recall@0.5"] == pytest.approx(expected)
    assert (candidate["kind"], candidate["model"]) == ("folder", "candidate")
    assert candidate["validation"] is False
    assert baseline["validation"] is None


def test_text(logdir, capsys):
    assert main(["inspect", "--fairness", "--logdir", str(logdir)]) == 0
    text = capsys.readouterr().out
    assert "train  fairness  step 3\n  binary, 3,000 rows, 4 slices" in text
    assert "validation: failed" in text


def test_log_with_folders_only(tmp_path, capsys):
    shutil.copytree(TFMA / "tfrecord", tmp_path / "tfma")
    assert main(["inspect", "--fairness", "--logdir", str(tmp_path)]) == 0
    assert "model candidate" in capsys.readouterr().out


def test_damaged_folder_is_a_problem(tmp_path, capsys):
    shutil.copytree(TFMA / "tfrecord", tmp_path / "tfma")
    for path in (tmp_path / "tfma").glob("metrics*"):
        path.write_bytes(b"")
    main(["inspect", "--fairness", "--logdir", str(tmp_path)])
    assert "no evaluation in" in capsys.readouterr().out
