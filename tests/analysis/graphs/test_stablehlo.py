"""StableHLO texts are parsed to nodes, edges, scopes and source lines."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.analysis.graphs.conftest import FILES
from tests.analysis.graphs.test_graphdef import edges_of
from tests.archives import extract
from tracklight.analysis.graphs import Graph, NodeDetails, TensorSpec
from tracklight.analysis.graphs.model_files.stablehlo import parse_stablehlo
from tracklight.analysis.graphs.parsers import parse_graph_file
from tracklight.errors import FormatError

TEXTS = {name: (FILES / name).read_text() for name in ("step.mlir", "step_located.mlir")}


def describe_all(graph: Graph) -> dict[str, NodeDetails]:
    return {name: graph.describe(node) for node, name in enumerate(graph.names)}


@pytest.mark.parametrize("name", TEXTS)
def test_every_operation_is_a_node(name: str) -> None:
    graph = parse_graph_file(name, TEXTS[name].encode())
    bodies = [graph, *graph.functions.values()]
    ops = Counter(op for body in bodies for op in body.ops)
    expected = re.findall(r'^ +%\S+ = "?(?:stablehlo|func)?\.?(\w+)', TEXTS[name], re.MULTILINE)
    assert {op: ops[op] for op in expected} == Counter(expected)
    assert all(body.problems == () for body in bodies)
    calls = [
        call for body in bodies for node in describe_all(body).values() for call in node.functions
    ]
    assert sorted(calls) == sorted(graph.functions)


def test_loops_and_branches_read_the_results_of_their_regions() -> None:
    graph = parse_stablehlo(TEXTS["step.mlir"])
    inputs: dict[str, list[str]] = {}
    for source, _, target, _, _ in edges_of(graph):
        inputs.setdefault(target, []).append(source)
    assert inputs["while_1"] == ["while", "while_1/cond/compare", "while_1/do/add"]
    assert inputs["case"] == ["convert", "case/0/negate", "case/1/subtract"]
    assert ("while", "2", "while_1", 0, False) in edges_of(graph)
    details = describe_all(graph)
    assert details["dot_general"].outputs == (TensorSpec("float32", (3, 5)),)
    assert [output.dtype for output in details["while"].outputs] == ["float32", "int32", "float32"]
    assert details["compare"].outputs == (TensorSpec("bool", ()),)
    assert details["dot_general"].attributes["settings"].startswith("contracting_dims = [1] x [0]")
    assert details["constant"].attributes == {"value": "0.000000e+00"}
    sizes = {name: len(body) for name, body in graph.functions.items()}
    assert sizes["relu"] == 5
    assert graph.functions["relu"].ops[0] == "_Arg"
    assert graph.functions["relu"].ops[-1] == "_Retval"


def test_value_that_a_loop_does_not_change_is_read_once() -> None:
    text = """
module @loop {
  func.func public @main(%arg0: tensor<4xf32>) -> (tensor<4xf32>) {
    %0 = stablehlo.iota dim = 0 : tensor<4xf32>
    %1:2 = stablehlo.while(%iterArg = %0, %iterArg_0 = %arg0) : tensor<4xf32>, tensor<4xf32>
    cond {
      %c = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %2 = stablehlo.add %iterArg, %iterArg_0 : tensor<4xf32>
      stablehlo.return %iterArg, %2 : tensor<4xf32>, tensor<4xf32>
    }
    return %1#1 : tensor<4xf32>
  }
}
"""
    graph = parse_stablehlo(text)
    names, edges = graph.names, graph.edges
    pairs = Counter(
        (names[source], names[target])
        for source, target in zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    )
    loop = names[graph.ops.index("while")]
    assert pairs["iota", loop] == 1
    assert graph.problems == ()


def test_debug_info_gives_scopes_and_source_lines() -> None:
    details = describe_all(parse_stablehlo(TEXTS["step_located.mlir"]))
    assert {"params['b']", "params['w']", "x"} < set(details)
    assert re.fullmatch(r"make.py:\d+ in step", details["step/encoder/dot_general"].source)
    assert "step/loop/while/cond/compare" in details
    assert details["step/choice/case"].outputs == (TensorSpec("float32", ()),)


def test_locations_do_not_move_operations_out_of_their_region(tmp_path: Path) -> None:
    extract(FILES.parent / "netron/branches.tar.xz", tmp_path)
    details = describe_all(parse_stablehlo((tmp_path / "switch.mlir").read_text()))
    # A constant has the location of the whole switch.
    assert "switch/case/1/constant" in details
    assert details["switch/case/1/multiply"].source.endswith(" in <lambda>")
    assert "switch/case/2/case/0/sine" in details
    details = describe_all(parse_stablehlo((tmp_path / "scoped_loop.mlir").read_text()))
    assert {"scoped_loop/while/cond/compare", "scoped_loop/while/do/layer/add"} < set(details)


NAMED_RESULTS = """
module @jit_top {
  func.func public @main(%arg0: tensor<6x6xf32>) -> (tensor<6x2xf32>, tensor<6x2xi32>) {
    %values, %indices = chlo.top_k(%arg0, k = 2) : tensor<6x6xf32> -> (tensor<6x2xf32>, tensor<6x2xi32>)
    %sorted:2, %last = chlo.other(%indices) : tensor<6x2xi32> -> (tensor<1xi32>, tensor<2xi32>, tensor<3xi32>)
    return %sorted#1, %last, %values : tensor<2xi32>, tensor<3xi32>, tensor<6x2xf32>
  }
}
"""  # noqa: E501


def test_results_with_names_of_their_own() -> None:
    graph = parse_graph_file("top.mlir", NAMED_RESULTS.encode())
    assert graph.ops == ["Input", "chlo.top_k", "chlo.other", "Output", "Output", "Output"]
    assert {edge[:3] for edge in edges_of(graph)} == {
        ("arg0", "0", "chlo.top_k"),
        ("chlo.top_k", "1", "chlo.other"),
        ("chlo.other", "1", "result_0"),
        ("chlo.other", "2", "result_1"),
        ("chlo.top_k", "0", "result_2"),
    }


def test_reducer_is_a_region_of_its_reduction() -> None:
    """A reduction of two arrays, as of ``argmin``: the line of the reducer has no operation."""
    graph = parse_stablehlo(
        """func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xi32>) -> tensor<i32> {
    %0:2 = stablehlo.reduce(%arg0 init: %arg0), (%arg1 init: %arg1) across dimensions = [0]"""
        """ : (tensor<4xf32>, tensor<4xi32>) -> (tensor<f32>, tensor<i32>)
     reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>)  {
      %1 = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.select %1, %a, %b : tensor<i1>, tensor<f32>
      %3 = stablehlo.select %1, %c, %d : tensor<i1>, tensor<i32>
      stablehlo.return %2, %3 : tensor<f32>, tensor<i32>
    }
    return %0#1 : tensor<i32>
  }"""
    )
    ends = zip(graph.edges.source.tolist(), graph.edges.target.tolist(), strict=True)
    edges = {(graph.names[source], graph.names[target]) for source, target in ends}
    assert {edge for edge in edges if edge[1] == "result_0"} == {("reduce", "result_0")}
    assert {name for name in graph.names if name.startswith("reduce/")} == {
        *(f"reduce/0/{name}" for name in "abcd"),
        *("reduce/0/compare", "reduce/0/select", "reduce/0/select_1"),
    }
    # Without an arrow, the types of operands come before that of the result.
    details = describe_all(graph)
    assert details["reduce/0/select"].outputs == (TensorSpec("float32", ()),)
    assert details["reduce"].outputs == (TensorSpec("float32", ()), TensorSpec("int32", ()))


def test_types_of_an_operation_with_a_region_are_at_its_end() -> None:
    graph = parse_stablehlo(
        """func.func @main(%arg0: tensor<4xf32>) -> tensor<3xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg0) <{padding = dense<0> : tensor<1x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %1 = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }"""
    )
    assert describe_all(graph)["reduce_window"].outputs == (TensorSpec("float32", (3,)),)


def test_computation_of_one_device_has_its_arguments() -> None:
    graph = parse_stablehlo(
        """func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}]>]"""
        """ out_shardings=[<@mesh, [{}]>] manual_axes={"a"} (%arg1: tensor<2xf32>) {
      %1 = stablehlo.negate %arg1 : tensor<2xf32>
      sdy.return %1 : tensor<2xf32>
    } : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }"""
    )
    assert graph.problems == ()
    assert describe_all(graph)["sdy.manual_computation"].outputs == (TensorSpec("float32", (4,)),)
    inside = "sdy.manual_computation/0"
    assert {f"{inside}/arg1", f"{inside}/negate", "result_0"} <= {*graph.names}


def test_types_have_numpy_names() -> None:
    kinds = "bf16 ui8 i64 f8E4M3FN complex<f32> i1"
    arguments = ", ".join(
        f"%arg{number}: tensor<?x{kind}>" for number, kind in enumerate(kinds.split())
    )
    graph = parse_stablehlo(f"func.func public @main({arguments}) -> () {{\n  return\n}}")
    names = [graph.describe(node).outputs[0].dtype for node in range(len(graph))]
    assert names == ["bfloat16", "uint8", "int64", "f8E4M3FN", "complex64", "bool"]
    assert graph.describe(0).outputs[0].shape == (None,)


def test_invalid_texts() -> None:
    with pytest.raises(FormatError, match="has no function"):
        parse_stablehlo("module {}")
    nested = "func.func @main() {\n" + '%0 = "stablehlo.case"(%1) ({\n' * 200
    with pytest.raises(FormatError, match="more than 100 levels deep"):
        parse_stablehlo(nested)
    graph = parse_stablehlo("func.func @f(%a: tensor<2xf32>) {\n%0 = stablehlo.add %a, %gone")
    assert [str(it) for it in graph.problems] == ["missing inputs (1): %gone"]


LINES = TEXTS["step_located.mlir"].splitlines()
WORDS = st.sampled_from(
    ["", "}", "{", "}) : ", "%0 = ", "loc(#loc1)", "#loc1 = loc(#loc1)", "(" * 50]
)


@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), WORDS), max_size=12))
def test_arbitrary_text_is_parsed_or_raises_format_error(changes: list[tuple[int, str]]) -> None:
    lines = list(LINES)
    for number, word in changes:
        lines[number] = word
    try:
        graph = parse_stablehlo("\n".join(lines))
    except FormatError:
        return
    assert len(describe_all(graph)) == len(graph)
