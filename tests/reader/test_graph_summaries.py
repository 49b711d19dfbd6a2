"""``tracklight inspect --graph`` on real logs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.archives import extract
from tests.index import logs
from tracklight.cli import main
from tracklight.cli.demo.graphs import write_resnet

DATA = Path(__file__).parent.parent / "data"
CORPUS = DATA / "corpus"
CROSS = "\N{MULTIPLICATION SIGN}"


@pytest.fixture
def seed002(tmp_path: Path) -> Path:
    extract(CORPUS / "seed002.tar.xz", tmp_path)
    return tmp_path


def show(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["inspect", "--graph", *arguments]) == 0
    return capsys.readouterr().out


def test_formats_a_graph(seed002: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = show(capsys, str(seed002), "--run", "re:traced$", "--tag", "__run_graph__")
    lines = [line.strip() for line in output.splitlines()]
    assert lines[0].endswith("traced  __run_graph__  (graphs)")
    assert lines[1] == "12 nodes in 3 levels, 10 edges, 2 control edges, 1 function"
    assert lines[2].startswith("operations: Placeholder 7, ")
    assert f"images float32 8{CROSS}28{CROSS}28{CROSS}1" in lines[3]


def test_reports_an_empty_graph(seed002: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = show(capsys, str(seed002), "--json")
    graphs = {
        (graph["run"].split("/")[-1], graph["tag"]): graph for graph in json.loads(output)["graphs"]
    }
    assert graphs["traced", "__run_graph__"]["summary"]["nodes"] == 12
    assert graphs["traced", "__run_graph__"]["summary"]["ops"]["Placeholder"] == 7
    empty = graphs["20240527-031421", "model_trace"]
    assert (empty["summary"], empty["problem"]) == (
        None,
        "this graph is empty: it was logged without nodes",
    )


def test_counts_parameters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    extract(CORPUS / "seed000.tar.xz", tmp_path)
    output = show(capsys, str(tmp_path), "--run", "re:dense")
    # 28 * 28 * 512 + 512, 512 * 256 + 256, 256 * 10 + 10 (the tutorial's three layers).
    assert "535,818 parameters" in output


def test_reports_a_log_without_graphs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logs.write(tmp_path, "run", logs.points(range(3)))
    assert show(capsys, str(tmp_path)) == "no graphs found\n"


def test_reports_a_corrupt_graph(small_logdir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "5 bytes are not a GraphDef message" in show(capsys, str(small_logdir))


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("torch_export.onnx", "20 nodes in 5 levels, 21 edges"),
        ("function.pb", "7 nodes in 3 levels, 5 edges, 2 control edges, 5 functions"),
        ("function.pbtxt", "7 nodes in 3 levels, 5 edges, 2 control edges, 5 functions"),
    ],
)
def test_summarizes_model_files(name: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    output = show(capsys, str(DATA / "graphs" / name)).splitlines()
    assert output[:2] == [f"{name}  (file)", f"  {line}"]


def test_rejects_files_without_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "model.h5").write_bytes(b"\x89HDF")
    assert main(["inspect", "--graph", str(tmp_path / "model.h5")]) == 1
    assert 'cannot show "model.h5": it ends too early' in capsys.readouterr().err


def test_summarizes_graphs_of_tensorboardx_and_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = show(capsys, str(DATA / "graphs/tensorboardx"))
    assert "12 nodes in 5 levels, 11 edges" in output
    write_resnet(tmp_path / "resnet50", now=1_800_000_000)
    output = show(capsys, str(tmp_path))
    # The count of Keras for ResNet50, without the biases before normalization layers.
    assert "25,610,152 parameters" in output
    assert output.count("parameters") == 2
