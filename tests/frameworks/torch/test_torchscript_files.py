"""TorchScript files are read without PyTorch and without running their code."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import FormatError

#: PyTorch recommends torch.export, but there are many files of torch.jit.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Block(nn.Module):
    def __init__(self, size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(size, size, 3, padding=1)
        self.norm = nn.BatchNorm2d(size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.conv(x))) + x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.blocks = nn.Sequential(Block(8), Block(8))
        self.fc = nn.Linear(8, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: torch.Tensor, double: bool = True) -> torch.Tensor:
        x = self.fc(self.blocks(self.stem(x)).mean([2, 3]))
        if double:
            x = x * 2
        left, right = torch.split(x, 2, 1)
        return torch.cat([right, left], 1) * self.scale


def save(module: Any) -> bytes:
    file = io.BytesIO()
    torch.jit.save(module, file)
    return file.getvalue()


def count_ops(graph: Graph) -> dict[str, int]:
    return {op: graph.ops.count(op) for op in graph.ops if "::" in op}


def list_jit_ops(module: Any) -> dict[str, int]:
    """Return the operators of PyTorch's own inlined graph."""
    counts: dict[str, int] = {}
    for node in module.inlined_graph.nodes():
        if node.kind().startswith("aten::"):
            counts[node.kind()] = counts.get(node.kind(), 0) + 1
    return counts


def test_traced_module_has_the_operators_of_pytorch() -> None:
    module = torch.jit.trace(Net().eval(), torch.zeros(1, 3, 8, 8))
    graph = parse_graph_file("net.pt", save(module))
    found = {op: count for op, count in count_ops(graph).items() if op.startswith("aten::")}
    assert found == list_jit_ops(module)
    # The result of a split is a list, which is unpacked, as in PyTorch's graph and in Netron.
    assert graph.ops.count("prim::ListUnpack") == 1
    names = dict(zip(graph.names, graph.ops, strict=True))
    assert names["Net/Sequential[blocks]/Block[1]/Conv2d[conv]/_convolution"] == (
        "aten::_convolution"
    )
    assert not graph.problems


def test_weights_have_shapes_counts_and_values() -> None:
    net = Net().eval()
    graph = parse_graph_file("net.pt", save(torch.jit.script(net)))
    total = sum(graph.describe(node).parameters for node in range(len(graph)))
    assert total == sum(parameter.numel() for parameter in net.parameters())
    node = graph.names.index("Net/Linear[fc]/weight")
    assert graph.describe(node).outputs[0].shape == (4, 8)
    (values,) = graph.weights[node]().values()
    np.testing.assert_array_equal(values, net.fc.weight.detach().numpy())
    buffer = graph.names.index("Net/scale")
    assert graph.describe(buffer).parameters == 0


def test_branches_of_a_scripted_module_are_joined() -> None:
    graph = parse_graph_file("net.pt", save(torch.jit.script(Net().eval())))
    join = graph.ops.index("prim::If")
    sources = {
        graph.ops[source]
        for source, target in zip(
            graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True
        )
        if target == join
    }
    assert sources == {"aten::mul", "aten::linear", "Input"}
    # Functions that the source calls by another name are inlined.
    assert graph.ops.count("aten::batch_norm") == 2


def test_loops_and_attributes_do_not_fail() -> None:
    class Loop(nn.Module):
        def forward(self, x: torch.Tensor, count: int) -> torch.Tensor:
            for index in range(count):
                x = torch.tanh(x) + index
            while bool(x.sum() > 1):
                x = x / 2
            return x[0] if x.dim() > 1 else -x

    graph = parse_graph_file("loop.pt", save(torch.jit.script(Loop())))
    assert {"prim::Loop", "aten::tanh", "aten::neg", "aten::div"} <= {*graph.ops}


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, count: int) -> torch.Tensor:
        for _ in range(count):
            x = self.one(x) if bool(x.sum() > 0) else self.other(x).relu()
        return x


class StateSpace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.step, self.out = nn.Linear(4, 4), nn.Linear(4, 2)
        self.decay = nn.Parameter(torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        states = []
        for index in range(x.shape[1]):
            state = state * torch.exp(self.decay) + nn.functional.silu(self.step(x[:, index]))
            states.append(self.out(state))
        return torch.stack(states, 1)


class Messages(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        x = nn.functional.relu(self.layer(x))
        sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        return nn.functional.log_softmax(sums, -1)


class FastPath(nn.Module):
    """A flag is set in one branch and tested in another, as in ``nn.MultiheadAttention``."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        reason = ""
        if bool(mask.any()):
            reason = "masked"
        if len(reason) > 0:
            return self.layer(x.masked_fill(mask, 0.0))
        return self.layer(x).relu()


@pytest.mark.parametrize("module", [Experts(), StateSpace(), Messages(), FastPath()])
def test_branches_and_loops_have_the_operators_of_pytorch(module: nn.Module) -> None:
    scripted = torch.jit.script(module)
    graph = parse_graph_file("net.pt", save(scripted))
    found = {op: count for op, count in count_ops(graph).items() if op.startswith("aten::")}
    assert found == count_reachable_ops(scripted.inlined_graph)
    loops = [node for node in scripted.inlined_graph.nodes() if node.kind() == "prim::Loop"]
    assert graph.ops.count("prim::Loop") == len(loops)


def test_attention_has_all_its_layers() -> None:
    scripted = torch.jit.script(nn.MultiheadAttention(8, 2))
    graph = parse_graph_file("attention.pt", save(scripted))
    expected = count_reachable_ops(scripted.inlined_graph)
    for op in ("aten::linear", "aten::bmm", "aten::scaled_dot_product_attention"):
        assert graph.ops.count(op) == expected[op]


def count_reachable_ops(block: Any) -> dict[str, int]:
    """Count operators in a block and in the blocks inside, without branches that are never taken.

    A default argument such as ``inplace=False`` is a constant in the graph.
    """
    counts: dict[str, int] = {}
    for node in block.nodes():
        inner = [*node.blocks()]
        condition = next(node.inputs(), None)
        if node.kind() == "prim::If" and condition.node().kind() == "prim::Constant":
            inner = [inner[0] if condition.toIValue() else inner[1]]
        if node.kind().startswith("aten::"):
            counts[node.kind()] = counts.get(node.kind(), 0) + 1
        for one in inner:
            for kind, count in count_reachable_ops(one).items():
                counts[kind] = counts.get(kind, 0) + count
    return counts


def test_no_code_is_run() -> None:
    data = save(torch.jit.script(nn.Linear(2, 2)))
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.endswith(".py"):
                content = b"raise SystemExit\nimport os\n" + content
            target.writestr(name, content)
    assert "aten::linear" in parse_graph_file("linear.pt", file.getvalue()).ops


@pytest.mark.parametrize("member", [".py", "data.pkl"])
def test_damaged_members_give_one_sentence(member: str) -> None:
    data = save(torch.jit.script(nn.Linear(2, 2)))
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w") as target:
        for name in source.namelist():
            target.writestr(name, b"class (" if name.endswith(member) else source.read(name))
    with pytest.raises(FormatError, match=r'cannot show "linear\.pt"'):
        parse_graph_file("linear.pt", file.getvalue())
