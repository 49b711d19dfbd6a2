"""Custom data of nodes: formats of files, and the values of nodes and groups."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.analysis.graphs.graphdefs import graphdef
from tracklight.analysis.graphs.graph_index import GraphIndex
from tracklight.analysis.graphs.graphdef import build_graph
from tracklight.dashboards.graphs.overlays import (
    apply_overlay,
    list_unknown_names,
    parse_overlay_file,
    subtract_scales,
)
from tracklight.errors import FormatError

GRAPH = GraphIndex(build_graph(graphdef({"a/x": [], "a/y": ["a/x"], "b": ["a/y"]})))


def parse(text: str, name: str = "data.csv") -> dict[str, dict[str, float]]:
    overlay = parse_overlay_file(name, text.encode())
    return {column: dict(values) for column, values in overlay.columns.items()}


@pytest.mark.parametrize(
    "text",
    [
        "node,latency,note\na/x,1.5,slow\nb,2,\n",
        "latency;Name\n1.5;a/x\n2;b\n",
        "op_name\tlatency\na/x\t1.5\nb\t2\n",
        "\ufeffnode,latency\r\n'a/x',nan\r\na/x,1.5\r\nb,2e0\r\nb\r\n",
        json.dumps({"a/x": {"latency": 1.5, "note": "slow"}, "b": {"latency": "2"}}),
        json.dumps([{"node": "a/x", "latency": 1.5, "ok": True}, {"node": "b", "latency": 2}]),
        json.dumps([{"layer name": "a/x", "latency": 1.5}, {"layer name": "b", "latency": 2}]),
    ],
)
def test_files_have_numbers_by_node(text: str) -> None:
    assert parse(text) == {"latency": {"a/x": 1.5, "b": 2.0}}


def test_columns_may_have_lone_surrogates() -> None:
    # Python writes names that are not UTF-8 like this; no response can contain them.
    assert parse(json.dumps({"a/x": {"lat\udcffncy": 1.5}})) == {"lat\ufffdncy": {"a/x": 1.5}}


def test_plain_numbers_and_files_of_model_explorer_have_one_column() -> None:
    assert parse('{"a/x": 1.5, "b": 2}') == {"value": {"a/x": 1.5, "b": 2.0}}
    results = {"a/x": {"value": 1.5, "bgColor": "red"}, "b": {"value": 2}}
    file = {"results": results, "gradient": [{"stop": 0, "bgColor": "white"}]}
    assert parse(json.dumps(file)) == parse(json.dumps({"main graph": file}))
    assert parse(json.dumps(file)) == {"value": {"a/x": 1.5, "b": 2.0}}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe\x00", "data.json is not a text file"),
        (b'{"a": ', "data.json is not valid JSON"),
        (b"[" * 100_000, "data.json is not valid JSON"),
        (
            b'{"model_type": "bert", "hidden_size": 768, "num_hidden_layers": 12}',
            r"it has the settings of a Hugging Face model \(bert\), but neither its weights",
        ),
        (b"", "data.json has no numbers by node"),
        (b"node,note\na,b\n", "data.json has no numbers by node"),
        (b"[1, 2]", "data.json has no numbers by node"),
        (b'{"a": {"b": {"c": 1}}}', "data.json has no numbers by node"),
        (b'{"a": 1e999, "b": true}', "data.json has no numbers by node"),
        (b"node," + b",".join(b"c%d" % n for n in range(200)), "has no numbers"),
    ],
)
def test_other_files_are_refused_in_one_sentence(data: bytes, problem: str) -> None:
    with pytest.raises(FormatError, match=problem):
        parse_overlay_file("data.json", data)


def test_tables_with_very_many_columns_are_refused() -> None:
    cells = ",".join(map(str, range(101)))
    with pytest.raises(FormatError, match="has 101 columns; at most 100"):
        parse(f"node,{','.join(f'c{n}' for n in range(101))}\na,{cells}\n")


@pytest.mark.parametrize(("combine", "value"), [("max", -3.0), ("mean", -1.0), ("sum", -2.0)])
def test_groups_combine_the_values_of_their_nodes(combine: str, value: float) -> None:
    scale = apply_overlay(GRAPH.root, {"a/x": 1.0, "a/y:0": -3.0}, combine)  # type: ignore[arg-type]
    children = GRAPH.root.get_group("", True).children
    assert [scale.evaluate(child) for child in children[:1]] == [value]
    assert np.isnan(scale.evaluate(children[1]))


def test_a_value_of_a_group_is_used_as_it_is() -> None:
    scale = apply_overlay(GRAPH.root, {"a": 7.0, "a/x": 1.0}, "sum")
    assert scale.evaluate(GRAPH.root.get_group("", True).children[0]) == 7.0


def test_differences_need_values_in_both_columns() -> None:
    one = apply_overlay(GRAPH.root, {"a/x": 5.0, "a/y": 1.0, "a": 2.0}, "sum")
    other = apply_overlay(GRAPH.root, {"a/x": 2.0, "b": 1.0, "a": 3.0}, "sum")
    difference = subtract_scales(one, other)
    np.testing.assert_array_equal(difference.value, [3.0, np.nan, np.nan])
    assert difference.by_path == {"a": -1.0}


def test_names_that_are_not_in_the_graph_are_found() -> None:
    names = dict.fromkeys(["a", "a/x", "a/y:0", "c", "a/x/y"], 1.0)
    assert list_unknown_names(GRAPH, names) == ["c", "a/x/y"]
