"""`add_graph` keeps the nesting of modules in exported and in traced graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.writer.event_files import iter_events
from tracklight.errors import UsageWarning
from tracklight.formats import proto

torch = pytest.importorskip("torch")

from tracklight.torch import SummaryWriter  # noqa: E402


class Net(torch.nn.Module):
    """Two branches through one encoder."""

    def __init__(self) -> None:
        super().__init__()
        inner = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout())
        self.encoder = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), inner)
        self.add = torch.nn.Parameter(torch.ones(8))

    def forward(self, a: Any, b: Any) -> Any:
        return self.encoder(a) + self.encoder(b) + self.add, torch.cat([a, b], 1)


class Branching(Net):
    """Has data-dependent control flow, so it can only be traced."""

    def forward(self, a: Any, b: Any) -> Any:
        if a.sum() > 0:
            a = a * 2
        return super().forward(a, b)


class Refusing(torch.nn.Module):
    def forward(self, a: Any) -> Any:
        raise RuntimeError("not today")


def read_nodes(logdir: Path) -> dict[str, Any]:
    """Return the nodes of a graph by name. Names must be unique."""
    graph, metadata = iter_events(logdir)
    assert metadata.tagged_run_metadata.tag == b"step1"
    nodes = proto.parse("GraphDef", graph.graph_def).node
    named = {node.name.decode(): node for node in nodes}
    assert len(named) == len(nodes)
    return named


def get_shapes(node: Any) -> list[list[int]]:
    (attribute,) = [item.value for item in node.attr if item.key == b"_output_shapes"]
    return [[dim.size for dim in shape.dim] for shape in attribute.list.shape]


def get_inputs(node: Any) -> list[str]:
    return [name.decode() for name in node.input]


@pytest.mark.parametrize("kind", [Net, Branching])
def test_keeps_the_nesting_of_modules(tmp_path: Path, kind: type[Net]) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(kind(), (torch.ones(2, 4), torch.ones(2, 4)))
    nodes = read_nodes(tmp_path)
    top = kind.__name__
    inner = f"{top}/Sequential[encoder]/Sequential[2]/Linear[0]"
    assert get_shapes(nodes[f"{inner}/weight"]) == [[8, 8]]
    # Both calls of the encoder are in the same module.
    linears = [name for name, node in nodes.items() if node.op == b"aten::linear"]
    assert len(linears) == 4
    for name in linears:
        if name.startswith(inner):
            assert {f"{inner}/weight", f"{inner}/bias"} < set(get_inputs(nodes[name]))
            assert get_shapes(nodes[name]) == [[2, 8]]
    assert nodes["input/a"].op == b"IO Node"
    assert get_shapes(nodes["output/output.2"]) == [[2, 8]]
    known = {name.partition(":")[0] for node in nodes.values() for name in get_inputs(node)}
    assert known <= set(nodes)


def test_operations_have_their_arguments(tmp_path: Path) -> None:
    model = torch.nn.Conv2d(1, 2, 3, stride=2)
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(model, torch.ones(1, 1, 9, 9))
    (conv,) = [node for node in read_nodes(tmp_path).values() if node.op == b"aten::conv2d"]
    assert conv.attr[0].key == b"attr"
    assert b"stride=[2, 2]" in conv.attr[0].value.s


@pytest.mark.parametrize("is_traced", [False, True])
def test_duplicate_inputs_are_kept(tmp_path: Path, is_traced: bool) -> None:
    class Square(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return x * x if not is_traced or x.sum() > 0 else x

    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(Square(), torch.ones(3))
    (product,) = [node for node in read_nodes(tmp_path).values() if node.op == b"aten::mul"]
    assert get_inputs(product) == ["input/x", "input/x"]


def test_operation_with_several_outputs(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(torch.nn.LSTM(3, 5), torch.ones(2, 1, 3))
    nodes = read_nodes(tmp_path)
    outputs = [get_inputs(nodes[f"output/output.{number}"]) for number in (1, 2, 3)]
    assert outputs == [["LSTM/lstm"], ["LSTM/lstm:1"], ["LSTM/lstm:2"]]
    assert get_shapes(nodes["LSTM/lstm"]) == [[2, 1, 5], [1, 1, 5], [1, 1, 5]]


def test_parts_of_a_traced_list_are_outputs_of_one_operation(tmp_path: Path) -> None:
    class Split(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            first, second = x.chunk(2)
            left, right = [first * 2, second + 1] if x.sum() > 0 else [second, first]
            return left - right

    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(Split(), torch.ones(4))
    nodes = read_nodes(tmp_path)
    by_op = {node.op.decode(): (name, get_inputs(node)) for name, node in nodes.items()}
    chunk = by_op["aten::chunk"][0]
    assert by_op["aten::mul"][1] == [chunk]
    assert by_op["aten::add"][1] == [f"{chunk}:1"]
    assert by_op["aten::sub"][1] == [by_op["aten::mul"][0], by_op["aten::add"][0]]


@pytest.mark.parametrize("is_traced", [False, True])
def test_graph_of_a_model_without_inputs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], is_traced: bool
) -> None:
    class Constant(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))

        def forward(self) -> Any:
            return self.weight * 2 if not is_traced or self.weight.sum() > 0 else self.weight

    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(Constant(), verbose=True)
    nodes = read_nodes(tmp_path)
    (product,) = [node for node in nodes.values() if node.op == b"aten::mul"]
    assert get_inputs(product) == ["Constant/weight"]
    assert "graph" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is:DeprecationWarning")
def test_accepts_a_scripted_module(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 2))))
    nodes = read_nodes(tmp_path)
    assert get_shapes(nodes["Sequential/Linear[0]/weight"]) == [[2, 4]]


def test_restores_training_mode(tmp_path: Path) -> None:
    model = Net()
    model.encoder[2].eval()
    before = [module.training for module in model.modules()]
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(model, (torch.ones(2, 4), torch.ones(2, 4)))
    assert [module.training for module in model.modules()] == before
    assert len(set(before)) == 2


def test_accepts_custom_result_classes(tmp_path: Path) -> None:
    """Language models, for example, return a cache along with their logits."""

    class Cache:
        pass

    class Speaking(Net):
        def forward(self, a: Any, b: Any) -> Any:
            return {"logits": super().forward(a, b)[0], "cache": Cache()}

    model = Speaking()
    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(model, (torch.ones(2, 4), torch.ones(2, 4)))
    nodes = read_nodes(tmp_path)
    assert get_shapes(nodes["output/output.1"]) == [[2, 8]]
    assert "output/output.2" not in nodes
    assert set(model(torch.ones(2, 4), torch.ones(2, 4))) == {"logits", "cache"}


def test_warning_explains_why_there_is_no_graph(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with SummaryWriter(tmp_path) as writer:
        with pytest.warns(UsageWarning, match="nor traced .RuntimeError: not today"):
            writer.add_graph(Refusing(), torch.ones(1))
        with pytest.warns(UsageWarning, match="`model` must be a torch.nn.Module, not a str"):
            writer.add_graph("model", torch.ones(1))
    assert list(iter_events(tmp_path)) == []
    assert capsys.readouterr() == ("", "")


def test_tensorboard_reads_the_graph(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with SummaryWriter(tmp_path, strict=True) as writer:
        writer.add_graph(Net(), (torch.ones(2, 4), torch.ones(2, 4)))
    accumulator = EventAccumulator(str(tmp_path))
    accumulator.Reload()
    names = {node.name for node in accumulator.Graph().node}
    assert "Net/Sequential[encoder]/ReLU[1]/relu" in names
    assert accumulator.Tags()["run_metadata"] == ["step1"]
