"""TorchScript: the source of modules, written by hand."""

from __future__ import annotations

import io
import zipfile

import pytest

from tracklight.analysis.graphs import Graph
from tracklight.analysis.graphs.model_files import torchscript
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import FormatError

#: An object of the class ``__torch__.Net`` without attributes.
PICKLE = b"\x80\x02c__torch__\nNet\n)\x81}b."


def parse_body(*lines: str) -> Graph:
    """Parse a module by the lines of its ``forward``."""
    signature = "  def forward(self: __torch__.Net,\n    x: Tensor) -> Tensor:"
    return parse_module(signature, *(f"    {line}" for line in lines))


def parse_module(*lines: str) -> Graph:
    """Parse a module by the lines of its class."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("net/data.pkl", PICKLE)
        code = "\n".join(["class Net(Module):", "  __parameters__ = []", *lines])
        archive.writestr("net/code/__torch__.py", code)
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


def test_empty_list_that_is_appended_to_is_read_with_its_items() -> None:
    graph = parse_body(
        "parts = annotate(List[Tensor], [])",
        "_0 = torch.append(parts, torch.relu(x))",
        "return torch.cat(parts, 1)",
    )
    assert list_edges(graph) == {
        ("x", "relu"),
        ("relu", "append"),
        ("append", "cat"),
        ("cat", "output"),
    }


def test_list_that_a_function_returns_empty_is_appended_to() -> None:
    graph = parse_module(
        "  def forward(self: __torch__.Net, x: Tensor) -> Tensor:",
        "    parts = (self).start()",
        "    _0 = torch.append(parts, x)",
        "    return torch.cat(parts)",
        "  def start(self: __torch__.Net) -> List[Tensor]:",
        "    return []",
    )
    assert list_edges(graph) == {("x", "append"), ("append", "cat"), ("cat", "output")}


def test_operators_of_the_language() -> None:
    graph = parse_body(
        "y = (x + 1) @ x",
        "y *= x",
        "z : Tensor = -y",
        "small = z < 1 and not x or z is x",
        "w = z if small else x.shape",
        "return w",
    )
    assert list_edges(graph) == {
        *{("x", "add"), ("add", "matmul"), ("x", "matmul"), ("matmul", "mul"), ("x", "mul")},
        *{("mul", "neg"), ("neg", "lt"), ("x", "__not__"), ("lt", "__and__")},
        *{("__not__", "__and__"), ("neg", "__is__"), ("x", "__is__"), ("__and__", "__or__")},
        *{("__is__", "__or__"), ("__or__", "If"), ("neg", "If"), ("x", "GetAttr")},
        *{("GetAttr", "If"), ("If", "output")},
    }
    assert graph.problems == ()


def test_operators_between_numbers_are_no_nodes() -> None:
    graph = parse_body("size = 2 * 3 if 1 < 2 else -4", "return torch.view(x, size)")
    assert list_edges(graph) == {("x", "view"), ("view", "output")}
    detail = graph.describe(graph.names.index("Net/view"))
    assert detail.attributes["argument 1"] == "2 * 3 if 1 < 2 else -4"


@pytest.mark.parametrize(
    ("lines", "source"),
    [
        (["if torch.gt(x, 0):", "  return torch.relu(x)", "else:", "  return torch.neg(x)"], "If"),
        (["if torch.gt(x, 0):", "  return torch.relu(x)", "return torch.neg(x)"], "neg"),
        (["if x:", "  y = torch.relu(x)", "else:", "  return torch.neg(x)", "return y"], "relu"),
        (["if True:", "  return torch.relu(x)", "return torch.neg(x)"], "relu"),
        (["with self:", "  return torch.relu(x)", "return torch.neg(x)"], "relu"),
        (["with self:", "  y = torch.relu(x)", "return torch.neg(y)"], "neg"),
    ],
)
def test_result_of_returns_in_blocks(lines: list[str], source: str) -> None:
    edges = list_edges(parse_body(*lines))
    assert {edge for edge in edges if edge[1] == "output"} == {(source, "output")}


def test_branches_after_a_flag_of_another_branch_are_all_shown() -> None:
    graph = parse_body(
        *("if torch.gt(x, 0):", "  flag, kind = True, 'a'", "else:", "  flag, kind = False, 'a'"),
        *("if flag:", "  y = torch.relu(x)", "else:", "  y = torch.neg(x)"),
        "return y",
    )
    assert list_edges(graph) == {
        *{("x", "gt"), ("gt", "If"), ("x", "relu"), ("x", "neg")},
        *{("If", "If_1"), ("relu", "If_1"), ("neg", "If_1"), ("If_1", "output")},
    }


def test_flag_that_follows_from_other_flags_is_unknown_without_a_node() -> None:
    graph = parse_body(
        *("if self.fast:", "  flag = True", "else:", "  flag = False"),
        *("if flag:", "  y = torch.relu(x)", "else:", "  y = torch.neg(x)"),
        "return y",
    )
    assert {("relu", "If"), ("neg", "If"), ("If", "output")} <= list_edges(graph)


def test_branches_that_assign_several_values_are_one_node() -> None:
    graph = parse_body(
        *("if torch.gt(x, 0):", "  a, b = torch.relu(x), x"),
        *("else:", "  a, b = torch.neg(x), torch.abs(x)"),
        "return torch.add(a, b)",
    )
    assert graph.ops.count("prim::If") == 1
    assert {("relu", "If"), ("neg", "If"), ("abs", "If"), ("If", "add")} <= list_edges(graph)


def test_functions_that_are_forked_are_shown() -> None:
    graph = parse_body(
        *("def __forked_function():", "  y = torch.relu(x)", "  return torch.neg(y)"),
        "return torch.wait(fork(__forked_function))",
    )
    assert list_edges(graph) == {
        *{("x", "relu"), ("relu", "neg"), ("neg", "fork"), ("fork", "wait"), ("wait", "output")}
    }


def test_objects_that_the_code_creates_keep_their_attributes() -> None:
    graph = parse_module(
        "  def forward(self, x):",
        "    pair = __torch__.Net.__new__(__torch__.Net)",
        "    _0 = (pair).set(torch.relu(x))",
        "    return (pair).get()",
        "  def set(self, value):",
        "    self.value = torch.neg(value)",
        "  def get(self):",
        "    return torch.abs(self.value)",
    )
    assert list_edges(graph) == {("x", "relu"), ("relu", "neg"), ("neg", "abs"), ("abs", "output")}


def test_first_signature_of_forward_is_shown() -> None:
    graph = parse_module(
        *("  def forward__0(self, x):", "    return torch.relu(x)"),
        *("  def forward__1(self, x):", "    return torch.neg(x)"),
    )
    assert list_edges(graph) == {("x", "relu"), ("relu", "output")}


def test_arguments_have_names_where_all_signatures_agree() -> None:
    graph = parse_body("return torch.reshape(torch.to(torch.softmax(x, -1), 6, False), [2, 3])")
    attributes = [graph.describe(node).attributes for node in range(1, 4)]
    assert attributes == [
        {"dim": "-1"},
        {"argument 1": "6", "argument 2": "False"},
        {"shape": "[2, 3]"},
    ]


def test_items_of_lists_and_unknown_collections() -> None:
    graph = parse_body(
        "a, b, = (self).pair(x)[0], [x, torch.relu(x)][1]",
        "c = [x][7]",
        "d, self.e = torch.chunk(x, 2)",
        "x.weight = torch.neg(x)",
        "return torch.cat([a, b, c, d])",
    )
    edges = list_edges(graph)
    assert {("relu", "cat"), ("__getitem__", "cat"), ("ListUnpack", "cat"), ("x", "neg")} <= edges


def test_statements_that_are_not_shown_are_named() -> None:
    graph = parse_body("assert x", "y = [z for z in x]", "return x")
    assert list_edges(graph) == {("x", "output")}
    assert [str(problem) for problem in graph.problems] == [
        "statements that are not shown: assert, listcomp"
    ]


def test_constant_that_is_no_tensor_is_an_argument() -> None:
    graph = parse_body("return torch.add(x, CONSTANTS.c0)")
    assert list_edges(graph) == {("x", "add"), ("add", "output")}


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["  def call(self, x):", "    return x"], "the module has no method forward"),
        (["  def forward(self, x):", "    return CONSTANTS.cx"], "the TorchScript file is damaged"),
        (["  def forward(self, x)", "    return x"], "the TorchScript file is damaged"),
        (["  def forward(self, x):", "    return (self).forward(x)"], "more than 100 levels deep"),
        (["  def forward(self, x):", f"    return x{' + x' * 5000}"], "file is damaged: Recursion"),
    ],
)
def test_reports_modules_that_have_no_graph(lines: list[str], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        parse_module(*lines)


def test_number_of_nodes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torchscript, "_MAX_NODES", 3)
    parse_body("return torch.relu(torch.relu(torch.relu(x)))")
    with pytest.raises(FormatError, match="more than 3 operations"):
        parse_body("return torch.relu(torch.relu(torch.relu(torch.relu(x))))")
