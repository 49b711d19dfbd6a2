"""TorchScript: values that a program changes in place keep their place in the graph."""

from __future__ import annotations

import io
import zipfile

from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.parsers import parse_graph_file

CODE = """\
class Net(Module):
  __parameters__ = []
  def forward(self: __torch__.Net,
    x: Tensor) -> Tensor:
{body}
"""
#: An object of the class ``__torch__.Net`` without attributes.
PICKLE = b"\x80\x02c__torch__\nNet\n)\x81}b."


def parse_body(*lines: str) -> Graph:
    """Parse a module by the lines of its ``forward``."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("net/data.pkl", PICKLE)
        body = "\n".join(f"    {line}" for line in lines)
        archive.writestr("net/code/__torch__.py", CODE.format(body=body))
    return parse_graph_file("net.pt", packed.getvalue())


def list_edges(graph: Graph) -> set[tuple[str, str]]:
    names = [name.rpartition("/")[2] for name in graph.names]
    pairs = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    return {(names[source], names[target]) for source, target in pairs}


def test_list_that_is_appended_to_is_read_with_its_new_items() -> None:
    graph = parse_body(
        "parts = [x]",
        "_0 = torch.append(parts, torch.relu(torch.cat(parts, 1)))",
        "return torch.cat(parts, 1)",
    )
    assert list_edges(graph) == {
        ("x", "ListConstruct"),
        ("ListConstruct", "cat"),
        ("cat", "relu"),
        ("ListConstruct", "append"),
        ("relu", "append"),
        ("append", "cat_1"),
        ("cat_1", "output"),
    }


def test_tensor_that_is_changed_in_place_is_read_as_changed() -> None:
    graph = parse_body(
        "y = torch.relu(x)", "_0 = torch.add_(y, torch.sum(x))", "return torch.mul(y, 2)"
    )
    assert {("add_", "mul"), ("relu", "add_")} <= list_edges(graph)
    assert ("relu", "mul") not in list_edges(graph)


def test_list_that_is_used_once_is_no_node() -> None:
    once = parse_body("parts = [x, torch.relu(x)]", "return torch.cat(parts, 1)")
    assert "prim::ListConstruct" not in once.ops
    assert list_edges(once) == {("x", "relu"), ("x", "cat"), ("relu", "cat"), ("cat", "output")}
    twice = parse_body(
        "parts = [x, torch.relu(x)]", "return torch.add(torch.cat(parts), torch.stack(parts))"
    )
    assert twice.ops.count("prim::ListConstruct") == 1


def test_list_that_an_operator_returns_is_unpacked_as_a_list() -> None:
    graph = parse_body(
        "parts = torch.chunk(x, 2, 1)", "a, b, = parts", "return torch.add(a, torch.cat([b]))"
    )
    assert "prim::ListUnpack" in graph.ops
    assert "prim::TupleUnpack" not in graph.ops
