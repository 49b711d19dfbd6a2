"""`tracklight.summary` inside a ``tf.function`` logs whenever the function runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.frameworks.programs import HERE, need, run_program
from tests.writer.event_files import iter_events, read_scalars
from tracklight.formats.tensor import decode_tensor

PROGRAM = "tf_function_program.py"
#: Of its own: the program divides the processor into two devices, before TensorFlow uses it.
PROCESS = "tf.function"


class Logged(NamedTuple):
    logdir: Path
    output: Any


@pytest.fixture(scope="module")
def logged(tmp_path_factory: pytest.TempPathFactory) -> Logged:
    need("tensorflow")
    logdir = tmp_path_factory.mktemp("logs")
    return Logged(logdir, run_program(PROGRAM, logdir, process=PROCESS))


def list_steps(logdir: Path, tag: str) -> list[int]:
    return [step for name, step, _ in read_scalars(logdir) if name == tag]


def get_line(mark: str) -> int:
    lines = (HERE / PROGRAM).read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# line: {mark}")]
    return number


def test_logs_every_type_of_value_at_each_call(logged: Logged) -> None:
    values: dict[str, list[Any]] = {}
    plugins = {}
    for event in iter_events(logged.logdir / "kinds"):
        for value in event.summary.value:
            tag = value.tag.decode()
            values.setdefault(tag, []).append((event.step, decode_tensor(value.tensor)))
            plugins.setdefault(tag, value.metadata.plugin_data.plugin_name.decode())
    assert plugins == {
        "scalar": "scalars",
        "image": "images",
        "images": "images",
        "histogram": "histograms",
        "text": "text",
        "audio": "audio",
        "tensor": "",
        "write": "",
        "constant": "scalars",
    }
    for got in values.values():
        assert [step for step, _ in got] == [0, 1]
    assert [round(float(number), 4) for _, number in values["scalar"]] == [0.0, 0.5]
    assert values["text"][1][1].item() == b"step 1"
    assert values["histogram"][1][1][:, 2].tolist() == [4, 4, 4, 4]
    assert len(values["images"][0][1]) == 2 + 2


def test_step_tensor_is_evaluated_in_the_graph(logged: Logged) -> None:
    # The last call is made in a name scope outside of the function.
    assert list_steps(logged.logdir / "steps", "variable") == [10, 21, 34]
    assert list_steps(logged.logdir / "steps", "default variable") == [22, 23]


def test_default_step_is_read_at_each_call(logged: Logged) -> None:
    assert list_steps(logged.logdir / "steps", "default") == [3, 4]


def test_writer_and_step_can_be_set_inside_the_function(logged: Logged) -> None:
    assert read_scalars(logged.logdir / "inner") == [("inside", 7, 1.0)]


@pytest.mark.parametrize("tag", ["unrolled", "while/body/looped"])
def test_values_of_a_loop_stay_in_order(logged: Logged, tag: str) -> None:
    assert list_steps(logged.logdir / "steps", tag) == list(range(20))


def test_logs_to_the_default_writer_of_each_call(logged: Logged) -> None:
    for name in ("train", "test"):
        assert read_scalars(logged.logdir / name) == [("loss", 0, 0.0), ("loss", 1, 1.0)]


def test_record_if_is_evaluated_at_each_call(logged: Logged) -> None:
    logdir = logged.logdir / "conditions"
    assert list_steps(logdir, "python") == [1, 3]
    assert list_steps(logdir, "callable tensor") == [0, 2, 4]
    assert list_steps(logdir, "tensor") == [2, 3, 4]
    assert list_steps(logdir, "cond/branch") == [3]


def test_training_result_is_unchanged(logged: Logged) -> None:
    assert len(set(logged.output["losses"])) == 5
    losses = [value for _, _, value in read_scalars(logged.logdir / "train loop")]
    assert losses == pytest.approx(logged.output["losses"])
    assert list_steps(logged.logdir / "train loop", "forward/loss") == [0, 1, 2, 3, 4]


def test_tags_agree_with_tensorflow(logged: Logged) -> None:
    theirs, ours = logged.output["tags"]
    assert len(theirs) == 6
    assert ours == theirs


def test_only_the_first_replica_logs(logged: Logged) -> None:
    assert read_scalars(logged.logdir / "replicas") == [("replica", 3, 2.0)]


def test_keras_layer_logs_with_update_freq(logged: Logged) -> None:
    steps = [
        event.step
        for event in iter_events(logged.logdir / "keras" / "train")
        for value in event.summary.value
        if value.tag.endswith(b"activations")
    ]
    assert steps == [2, 4]


def test_run_logs_at_each_call(logged: Logged) -> None:
    steps: dict[str, list[int]] = {}
    for event in iter_events(logged.logdir / "run"):
        for value in event.summary.value:
            steps.setdefault(value.tag.decode(), []).append(event.step)
    for tag in ("loss", "nested/picture", "nested/weights"):
        assert steps[tag] == [0, 1, 2]


def test_misuse_causes_one_warning_at_the_source_line(logged: Logged) -> None:
    messages = {line: message for _, line, message in logged.output["warnings"]}
    assert {name for name, _, _ in logged.output["warnings"]} == {PROGRAM}
    assert len(messages) == len(logged.output["warnings"]) == 5
    assert "compiled by XLA (jit_compile=True)" in messages[get_line("XLA")]
    assert "`data` must be one number, not an array of shape [2]" in messages[get_line("shape")]
    assert "`step` is missing" in messages[get_line("no step")]
    assert "`data` is a RaggedTensor" in messages[get_line("ragged")]
    assert "`condition` is a symbolic tensor" in messages[get_line("condition")]


def test_misuse_raises_in_strict_mode(logged: Logged) -> None:
    assert "ArgumentError: `data` must be one number" in logged.output["strict"]


def test_docs_example_runs(tmp_path: Path) -> None:
    need("tensorflow")
    page = (HERE.parents[2] / "docs" / "writing.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (example,) = [block for block in blocks if "import tensorflow" in block]
    (tmp_path / "example.py").write_text(f"{example}\nprint('null')\n")
    example = str(tmp_path / "example.py")
    run_program(example, cwd=tmp_path, process=PROCESS, TRACKLIGHT_STRICT="1")
    events = list(iter_events(tmp_path / "logs" / "run2"))
    tags = [value.tag.decode() for event in events for value in event.summary.value]
    assert sorted(tags) == ["inputs"] * 10 + ["loss"] * 10
