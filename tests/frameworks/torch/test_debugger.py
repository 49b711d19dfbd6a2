"""`tracklight.debugger` with PyTorch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.frameworks.recordings import analyze, check_root_cause, open_recording
from tests.frameworks.torch.debugger_zoo import BROKEN, HEALTHY, Program, make_batch
from tracklight.analysis.debugger.library import DebuggerLibrary
from tracklight.cli import main
from tracklight.debugger import check_numerics, recorder, watch
from tracklight.debugger.torch_statistics import DeviceStatistics
from tracklight.errors import NonFiniteError
from tracklight.formats.tensor_health import HISTOGRAM_BINS
from tracklight.index.catalog import Catalog
from tracklight.logdir.access import parse_roots

DDP_PROGRAM = Path(__file__).parents[1] / "programs/debugger_ddp.py"


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("program", BROKEN, ids=lambda program: program.__name__)
def test_finds_the_root_cause(program: Program, tmp_path: Path) -> None:
    program(tmp_path)
    check_root_cause(analyze(tmp_path).root_cause, *BROKEN[program])


@pytest.mark.parametrize("program", HEALTHY, ids=lambda program: program.__name__)
def test_healthy_programs_cause_no_alert(program: Program, tmp_path: Path) -> None:
    program(tmp_path)
    assert list(analyze(tmp_path).alerts) == []


def make_model() -> nn.Sequential:
    return nn.Sequential(nn.Linear(8, 4), nn.ReLU(), nn.Linear(4, 1))


def train_step(model: nn.Module, scale: float = 1.0) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    x, y = make_batch()
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x * scale), y).backward()
    optimizer.step()


def test_records_every_role_without_calls_of_step(tmp_path: Path) -> None:
    model = make_model()
    with watch(model, tmp_path, first=3, every=0):
        for _ in range(5):
            train_step(model)
    recording = open_recording(tmp_path)
    assert recording.step.tolist() == [0, 1, 2]
    roles = {(it.name, it.role) for it in recording.layout.tensors}
    assert {("0", "output"), ("0", "gradient"), ("0.weight", "parameter")} <= roles
    assert {("0.weight", "update"), ("0.weight", "gradient"), ("input", "input")} <= roles
    assert ("mse_loss", "output") in roles
    assert ("loss", "loss") in roles


def test_statistics_are_those_of_the_tensors(tmp_path: Path) -> None:
    model = make_model()
    outputs = []
    model[1].register_forward_hook(lambda module, args, output: outputs.append(output.detach()))
    with watch(model, tmp_path, first=2, every=0):
        for _ in range(2):
            train_step(model)
    recording = open_recording(tmp_path)
    row = next(i for i, it in enumerate(recording.layout.tensors) if it.type == "ReLU")
    for step, output in enumerate(outputs):
        expected = [output.min(), output.max(), output.mean(), output.std(correction=0)]
        np.testing.assert_allclose(recording.health[step, row, 6:10], expected, rtol=1e-5)
        assert recording.get_stat("zeros")[step, row] == (output == 0).sum()
        dead = int((output == 0).all(dim=0).sum())
        assert recording.get_stat("dead")[step, row] == dead


def test_update_is_the_change_of_the_parameter(tmp_path: Path) -> None:
    model = make_model()
    before = model[0].weight.detach().clone()
    with watch(model, tmp_path, first=1, every=0) as watcher:
        train_step(model)
        watcher.step()
    recording = open_recording(tmp_path)
    row = next(
        i
        for i, it in enumerate(recording.layout.tensors)
        if (it.name, it.role) == ("0.weight", "update")
    )
    norm = recording.get_stat("norm")[0, row]
    assert norm == pytest.approx(float((model[0].weight.detach() - before).norm()), rel=1e-4)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_device_and_kernel_agree(dtype: torch.dtype) -> None:
    tensor = torch.randn(4, 6, 5, 5).to(dtype)
    tensor[:, 2] = 0
    tensor[0, 0, 0, :3] = torch.tensor([torch.nan, torch.inf, -torch.inf]).to(dtype)
    row = recorder.make_row()
    name = str(dtype).removeprefix("torch.")
    array = tensor.view(torch.int16).numpy() if dtype == torch.bfloat16 else tensor.numpy()
    recorder.compute_health(array, name, row, 1)
    statistics = DeviceStatistics()
    statistics.add(0, 7, tensor, 1)
    (on_device,) = statistics.collect().values()
    assert on_device[0] == 7
    np.testing.assert_allclose(row[1:], on_device[1:], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [0, 1, 1000, 1025, 70_000, 1_300_001])
def test_threads_compute_the_same_as_one(dtype: torch.dtype, size: int) -> None:
    tensor = torch.randn(size).to(dtype)
    tensor[size // 2 : size // 2 + 3] = torch.inf
    kind = recorder.KERNEL_KINDS[str(dtype).removeprefix("torch.")]
    rows, samples = [], []
    for threads in (1, 2, 3, 7):
        row, sample = recorder.make_row(), np.zeros(recorder.get_sample_size(size), np.float32)
        address, shape = tensor.data_ptr(), tensor.shape
        recorder.compute_in_memory(address, shape, kind, row, None, sample, threads=threads)
        rows.append(row)
        samples.append(sample)
    expected = tensor[:: recorder.get_sample_stride(size)].float().numpy()
    for row, sample in zip(rows, samples, strict=True):
        np.testing.assert_array_equal(row, rows[0])
        np.testing.assert_array_equal(sample, expected)
    assert rows[0][3] == tensor.isinf().sum()


class Residual(torch.nn.Module):
    """Tensors that are seen several times, one of them after a change in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.same = torch.nn.Identity()
        self.changed = torch.nn.Identity()
        self.last = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        same = self.same(x)
        changed = self.changed(x.mul_(3))
        return self.last(changed) + same


def test_tensors_seen_again_have_their_own_statistics(tmp_path: Path) -> None:
    model = Residual()
    expected: dict[tuple[str, str], float] = {}
    inputs = torch.randn(8, 4)
    with torch.no_grad():
        first = model.first(inputs)
        expected["same", "output"] = float(first.norm())
        expected["changed", "output"] = float((3 * first).norm())
    with watch(model, tmp_path, every=1):
        for _ in range(3):
            model.zero_grad()
            model(inputs).square().sum().backward()
    recording = open_recording(tmp_path)
    norms = recording.get_stat("norm")
    rows = {(it.name, it.role): row for row, it in enumerate(recording.layout.tensors)}
    for key, norm in expected.items():
        assert norms[:, rows[key]] == pytest.approx([norm] * 3, rel=1e-5)
    # The addition passes its gradient on.
    total, last = norms[:, rows["add", "gradient"]], norms[:, rows["last", "gradient"]]
    np.testing.assert_array_equal(total, last)
    assert (norms[:, rows["changed", "gradient"]] != total).all()


def test_writes_the_history_and_the_tensors_of_the_first_problem(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = make_model()
    with watch(model, tmp_path, first=0, every=0, history=4):
        for step in range(10):
            train_step(model, float("nan") if step == 7 else 1.0)
    recording = open_recording(tmp_path)
    assert recording.step.tolist()[:4] == [4, 5, 6, 7]
    report = recording.reports[0]
    assert report.step == 7
    assert set(report.random_state) == {"torch"}
    batch = recording.read_value(report.values["batch 0"])
    assert batch is not None
    assert np.isnan(batch).all()
    message = capsys.readouterr().err
    assert message.count("tracklight:") == 1
    assert 'step 7: the input "input" contains 128 NaN' in message
    assert "test_debugger.py" in message


def test_stores_source_files_stacks_and_histograms(tmp_path: Path) -> None:
    model = make_model()
    with watch(model, tmp_path, first=2, every=0):
        for _ in range(4):
            train_step(model)
    recording = open_recording(tmp_path)
    assert recording.source_files[__file__] == Path(__file__).read_text()
    row = next(i for i, it in enumerate(recording.layout.tensors) if it.type == "ReLU")
    functions = [it.function for it in recording.get_stack(row)]
    assert functions[-2:] == ["test_stores_source_files_stacks_and_histograms", "train_step"]
    steps, histograms = recording.read_histograms(row, limit=60)
    assert steps.tolist() == [0, 1]
    zero = HISTOGRAM_BINS // 2
    assert not histograms[:, :zero].any(), "outputs of a ReLU are not negative"
    zeros = recording.get_stat("zeros")[:, row] / recording.layout.tensors[row].size
    np.testing.assert_allclose(histograms[:, zero] / 255, zeros, atol=0.01)


def test_stores_no_source_files_on_request(tmp_path: Path) -> None:
    model = make_model()
    with watch(model, tmp_path, save_code=False):
        train_step(model)
    assert open_recording(tmp_path).source_files == {}


def test_stops_on_request(tmp_path: Path) -> None:
    model = make_model()
    with (
        pytest.raises(NonFiniteError, match="step 1"),
        watch(model, tmp_path, on_problem="stop") as watcher,
    ):
        for step in range(5):
            train_step(model, float("inf") if step == 1 else 1.0)
            watcher.step()
    assert watcher.current_step == 2


def test_leaves_the_model_as_it_was(tmp_path: Path) -> None:
    model = make_model()
    with watch(model, tmp_path):
        train_step(model)
    assert not model[0]._forward_hooks
    assert not model[0]._forward_pre_hooks
    assert torch.amp.GradScaler.update.__qualname__ == "GradScaler.update"
    train_step(model)


def test_results_are_the_same_as_without_watching(tmp_path: Path) -> None:
    weights = []
    for is_watched in (False, True):
        torch.manual_seed(1)
        model = nn.Sequential(make_model(), nn.Dropout(0.5))
        if is_watched:
            with watch(model, tmp_path):
                for _ in range(3):
                    train_step(model)
        else:
            for _ in range(3):
                train_step(model)
        weights.append([it.detach().clone() for it in model.parameters()])
    assert all(torch.equal(a, b) for a, b in zip(*weights, strict=True))


def test_evaluation_is_not_recorded(tmp_path: Path) -> None:
    model = make_model()
    with watch(model, tmp_path, first=10) as watcher:
        train_step(model)
        watcher.step()
        with torch.no_grad():
            model(torch.full((2, 8), torch.nan))
    assert analyze(tmp_path).root_cause is None


def test_filters_by_name_type_and_dtype(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"names": r"^2"}, {"2", "2.weight", "2.bias"}),
        ({"types": ["ReLU"], "parameters": False, "gradients": False}, {"1"}),
        ({"dtypes": ["float16"]}, set()),
    ]
    for index, (options, expected) in enumerate(cases):
        model = make_model()
        with watch(model, tmp_path / str(index), **options):
            train_step(model)
        if expected:
            names = {it.name for it in open_recording(tmp_path / str(index)).layout.tensors}
            assert expected <= names
            assert not names & {"0", "0.weight"} or "types" in options


def test_compiled_models_say_what_is_missing(tmp_path: Path) -> None:
    model = torch.compile(make_model(), backend="eager")
    with watch(model, tmp_path, first=3):
        for step in range(3):
            train_step(model, float("nan") if step == 1 else 1.0)
    recording = open_recording(tmp_path)
    assert "compiled" in recording.layout.notes[0].text
    assert recording.reports[0].step == 1


def test_check_numerics() -> None:
    x = torch.tensor([1.0, 2.0])
    assert check_numerics(x) is x
    with pytest.raises(
        NonFiniteError, match=r"loss contains 1 NaN and 1 Inf of 3 values at test_debugger"
    ):
        check_numerics(torch.tensor([1.0, torch.nan, torch.inf]), "loss")

    @check_numerics
    def divide(x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"a": x / 0}

    with pytest.raises(NonFiniteError, match=r"the result of divide\['a'\]"):
        divide(x)


@pytest.mark.parametrize("wraps", ["model", "wrapper"])
def test_names_the_rank_of_distributed_training(
    wraps: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = [
        [sys.executable, DDP_PROGRAM, tmp_path, str(rank), str(int(wraps == "wrapper"))]
        for rank in range(2)
    ]
    processes = [subprocess.Popen(command) for command in commands]
    assert [process.wait(timeout=300) for process in processes] == [0, 0]
    assert main(["inspect", "--debugger", "--json", str(tmp_path / "logs")]) == 0
    dumps = json.loads(capsys.readouterr().out)["dumps"]
    assert dumps.keys() == {"ddp", "ddp (rank 1)"}
    cause = dumps["ddp (rank 1)"]["root_cause"]
    assert (cause["step"], cause["role"]) == (3, "input")
    # The gradients of rank 1 reach rank 0.
    assert 'The cause is in rank 1: "input"' in dumps["ddp"]["root_cause"]["hint"]
    catalog = Catalog(parse_roots(str(tmp_path / "logs")), cache=False)
    catalog.refresh()
    library = DebuggerLibrary(catalog)
    steps = {name: library.summarize(name).problem_step for name in library.list_names()}
    assert steps == {"ddp": None, "ddp (rank 1)": 3}
