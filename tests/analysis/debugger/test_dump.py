"""Reading dumps of TensorFlow's debugger, compared with what TensorFlow reads in them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.analysis.debugger.dump_builder import (
    PROGRAM,
    Event,
    encode,
    make_execution,
    make_graph,
    make_op,
    make_trace,
    write_dump,
)
from tests.analysis.debugger.dumps import list_files, open_dump, open_dumps, open_file
from tracklight.analysis.debugger.dump import (
    DebugDump,
    TensorSummary,
    describe_tensor,
    iter_dumps,
)
from tracklight.formats import proto
from tracklight.formats.tensor import DType
from tracklight.formats.tfrecord import encode_record
from tracklight.logdir.discover import DEBUG_EVENT_KINDS

DUMPS = (
    "no_tensor",
    "curt_health",
    "concise_health",
    "full_health",
    "shape",
    "full_tensor",
    "circular",
)


def load(folder: Path, name: str) -> tuple[DebugDump, dict[str, Any]]:
    return open_dump(folder / name), json.loads((folder / f"{name}.json").read_text())


@pytest.mark.parametrize("name", DUMPS)
def test_reads_executions_as_tensorflow_does(dumps_folder: Path, name: str) -> None:
    dump, told = load(dumps_folder, name)
    columns = dump.executions
    rows = []
    for row, name_id in enumerate(columns.name.tolist()):
        execution = dump.execution_names[name_id]
        first_input = int(columns.input_end[row - 1]) if row else 0
        first_output = int(columns.output_end[row - 1]) if row else 0
        rows.append(
            {
                "wall_time": float(columns.wall_time[row]),
                "op_type": execution.op_type,
                "graph": execution.graph,
                "mode": execution.mode,
                "inputs": columns.input_id[first_input : int(columns.input_end[row])].tolist(),
                "outputs": columns.output_id[first_output : int(columns.output_end[row])].tolist(),
                "stack": [
                    [it.path, it.line, it.function] for it in dump.get_stack(execution.stack)
                ],
            }
        )
    expected = [{key: it[key] or "" if key == "graph" else it[key] for key in rows[0]}
                for it in told["executions"]]  # fmt: skip
    assert rows == expected


@pytest.mark.parametrize("name", DUMPS)
def test_reads_traces_as_tensorflow_does(dumps_folder: Path, name: str) -> None:
    dump, told = load(dumps_folder, name)
    traces = dump.traces
    assert len(traces.offset) == len(told["traces"])
    for row, expected in enumerate(told["traces"]):
        trace = traces.names[traces.name[row]]
        op = dump.find_op(trace.graph, trace.op)
        assert op is not None
        assert [op.type, trace.op, trace.slot, trace.mode, trace.device] == [
            expected[key] for key in ("op_type", "op_name", "slot", "mode", "device")
        ]
        assert dump.list_outer_graphs(trace.graph) == expected["graphs"]
        assert traces.wall_time[row] == expected["wall_time"]


@pytest.mark.parametrize("name", DUMPS)
def test_reads_tensors_as_tensorflow_does(dumps_folder: Path, name: str) -> None:
    dump, told = load(dumps_folder, name)
    if told["full"]:
        values = [_format_value(dump.read_trace_tensor(i)) for i in range(len(told["traces"]))]
        assert values == told["full"]["traces"]
        for row, expected in enumerate(told["full"]["executions"]):
            assert [_format_value(it) for it in dump.read_execution_tensors(row)] == expected
        return
    for row, trace in enumerate(told["traces"]):
        assert_summary(dump.read_trace_tensor(row), trace["value"] or [])
    for row, execution in enumerate(told["executions"]):
        tensors = dump.read_execution_tensors(row)
        for tensor, values in zip(tensors, execution["values"] or [], strict=True):
            assert_summary(tensor, values or [])


def _format_value(tensor: TensorSummary) -> str | None:
    if tensor.value is None:
        return None
    values = tensor.value.ravel().tolist()
    texts = [it.decode() if isinstance(it, bytes) else it for it in values]
    return f"{list(tensor.value.shape)} {texts if tensor.dtype != 'string' else values}"


def assert_summary(tensor: TensorSummary, values: list[float]) -> None:
    if tensor.mode == 2 and values:
        assert tensor.has_non_finite == bool(values[1])
    elif tensor.mode == 3 and values:
        assert [tensor.size, tensor.neg_inf, tensor.pos_inf, tensor.nan] == values[1:]
    elif tensor.mode == 4 and values:
        counts = [tensor.rank, tensor.size, tensor.neg_inf, tensor.pos_inf, tensor.nan]
        assert [*counts, tensor.negative, tensor.zero, tensor.positive] == values[3:]
    elif tensor.mode == 5 and values:
        rank = int(values[2])
        dims = [int(value) for value in values[4 : 4 + min(rank, 6)]]
        assert [tensor.rank, tensor.size] == values[2:4]
        assert tensor.shape == (*[None] * (rank - 6), *dims)
    else:
        assert tensor.size is None


@pytest.mark.parametrize("name", DUMPS)
def test_reads_graphs_and_files_as_tensorflow_does(dumps_folder: Path, name: str) -> None:
    dump, told = load(dumps_folder, name)
    assert sorted(dump.graphs) == told["graphs"]
    assert [list(it) for it in dump.source_files] == told["source_files"]
    ops = {
        f"{graph} {op.name}": [op.type, list(op.inputs)]
        for graph, by_name in dump.ops.items()
        for op in by_name.values()
    }
    assert ops == told["ops"]
    metadata = dump.metadata
    assert [metadata.tensorflow_version, metadata.run_id] == [told["version"], told["run_id"]]
    assert dump.damage == []


def test_reads_the_source_of_the_program(dumps_folder: Path) -> None:
    dump = open_dump(dumps_folder / "full_health")
    path = next(path for _, path in dump.source_files if "debug_dump_program" in path)
    lines = dump.read_source_lines(path)
    assert lines is not None
    assert any("tf.math.log(x)" in line for line in lines)
    assert dump.read_source_lines("/elsewhere.py") is None


def test_a_damaged_record_costs_only_itself(dumps_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(dumps_folder / "full_health", tmp_path / "dump")
    (path,) = folder.glob("*.graph_execution_traces")
    data = bytearray(path.read_bytes())
    whole = open_dump(folder)
    offset = int(whole.traces.offset[50])
    data[offset + 40] ^= 1
    path.write_bytes(data)
    dump = open_dump(folder)
    assert len(dump.traces.offset) == len(whole.traces.offset) - 1
    (damage,) = dump.damage
    assert (damage.file, damage.offset) == (str(path), offset)
    assert "checksum" in damage.reason.text


def test_a_damaged_header_costs_only_its_record(dumps_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(dumps_folder / "full_health", tmp_path / "dump")
    (path,) = folder.glob("*.graph_execution_traces")
    data = bytearray(path.read_bytes())
    whole = open_dump(folder)
    offset = int(whole.traces.offset[50])
    data[offset + 3] ^= 1
    path.write_bytes(data)
    dump = open_dump(folder)
    assert np.array_equal(dump.traces.offset, np.delete(whole.traces.offset, 50))
    assert [damage.offset for damage in dump.damage] == [offset]


@pytest.mark.parametrize("kind", DEBUG_EVENT_KINDS)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_opens_dumps_that_were_cut(
    dumps_folder: Path, tmp_path: Path, kind: str, share: float
) -> None:
    folder = shutil.copytree(dumps_folder / "full_health", tmp_path / "dump")
    (path,) = folder.glob(f"*.{kind}")
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    dump = open_dump(folder)
    for row in range(len(dump.traces.offset)):
        dump.read_trace_tensor(row)
    for row, name in enumerate(dump.executions.name.tolist()):
        dump.read_execution_tensors(row)
        dump.get_stack(dump.execution_names[name].stack)
    if share in (0.01, 0.999) or kind == "metadata":
        assert [damage.file for damage in dump.damage] == [str(path)]


@pytest.mark.parametrize("kind", ["metadata", "source_files", "graphs", "execution"])
def test_says_which_file_is_missing(dumps_folder: Path, tmp_path: Path, kind: str) -> None:
    folder = shutil.copytree(dumps_folder / "full_health", tmp_path / "dump")
    (path,) = folder.glob(f"*.{kind}")
    path.unlink()
    (damage,) = open_dump(folder).damage
    assert (damage.file, damage.reason.text) == (str(path), "the file is missing")


def test_reads_on_in_files_that_grow(dumps_folder: Path, tmp_path: Path) -> None:
    source, folder = dumps_folder / "concise_health", tmp_path / "dump"
    folder.mkdir()
    whole = open_dump(source)
    dump: DebugDump | None = None
    for share in (0.1, 0.35, 0.36, 0.8, 1.0):
        for path in source.iterdir():
            data = path.read_bytes()
            count = len(data) if path.suffix == ".metadata" else int(share * len(data))
            (folder / path.name).write_bytes(data[:count])
        ((_, hosts),) = iter_dumps(list_files(folder), open_file)
        if dump is None:
            dump = DebugDump(hosts, open_file)
        else:
            dump.update(hosts)
    assert dump is not None
    assert dump.damage == []
    assert np.array_equal(dump.traces.offset, whole.traces.offset)
    assert np.array_equal(dump.traces.name, whole.traces.name)
    assert dump.execution_names == whole.execution_names
    assert sorted(dump.ops) == sorted(whole.ops)


def test_starts_again_when_files_are_replaced(dumps_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(dumps_folder / "full_tensor", tmp_path / "dump")
    dump = open_dump(folder)
    shutil.rmtree(folder)
    shutil.copytree(dumps_folder / "circular", folder)
    ((_, hosts),) = iter_dumps(list_files(folder), open_file)
    dump.update(hosts)
    assert len(dump.traces.offset) == 20


def test_reads_traces_of_all_hosts_and_executions_of_the_first(
    dumps_folder: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(dumps_folder / "full_health", tmp_path / "dump")
    for path in list(folder.iterdir()):
        prefix, host, kind = path.name.rsplit(".", 2)
        shutil.copy(path, folder / f"{prefix}.{host}2.{kind}")
    single = open_dump(dumps_folder / "full_health")
    dump = open_dump(folder)
    assert len(dump.hosts) == 2
    assert len(dump.executions.offset) == len(single.executions.offset)
    assert len(dump.traces.offset) == 2 * len(single.traces.offset)
    last = len(dump.traces.offset) - 1
    assert dump.read_trace_tensor(last) == single.read_trace_tensor(last // 2)


def test_two_programs_in_one_folder_are_two_dumps(dumps_folder: Path, tmp_path: Path) -> None:
    for name in ("full_health", "circular"):
        shutil.copytree(dumps_folder / name, tmp_path / "logs/dump", dirs_exist_ok=True)
    dumps = open_dumps(tmp_path / "logs")
    assert len(dumps) == 2
    assert all(name.startswith("dump/tfdbg_events.") for name in dumps)
    assert sorted(len(dump.executions.offset) for dump in dumps.values())[0] == 20


def test_finds_dumps_at_any_depth(dumps_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(dumps_folder / "circular", tmp_path / "a/b/c")
    shutil.copytree(dumps_folder / "shape", tmp_path / "d")
    assert sorted(open_dumps(tmp_path)) == ["a/b/c", "d"]


def test_says_why_a_file_cannot_be_read(tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump", executions=[make_execution("Abs", {1: [1.0]})])
    hosts = [list_files(folder)]
    (path,) = folder.glob("*.execution")
    dump = DebugDump(hosts, open_file)
    path.unlink()
    assert dump.read_execution_tensors(0) == []
    (damage,) = DebugDump(hosts, open_file).damage
    assert damage.file == str(path)
    assert damage.reason.text == "the file cannot be read: No such file or directory"


def test_file_that_can_be_read_again_is_read(tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump", executions=[make_execution("Abs", {1: [1.0]})])
    hosts = [list_files(folder)]
    (path,) = folder.glob("*.execution")
    data = path.read_bytes()
    path.unlink()
    dump = DebugDump(hosts, open_file)
    path.write_bytes(data)
    dump.update(hosts)
    assert dump.damage == []
    assert len(dump.executions.offset) == 1


def test_tensors_of_files_that_changed_are_unknown(tmp_path: Path) -> None:
    traces = [make_trace("x", [1.0]), make_trace("y", [2.0])]
    executions = [make_execution("Abs", {1: [1.0]})]
    folder = write_dump(tmp_path / "dump", traces=traces, executions=executions)
    dump = open_dump(folder)
    for path in [*folder.glob("*.execution"), *folder.glob("*.graph_execution_traces")]:
        path.write_bytes(b"\xff" * 20)
    assert dump.read_execution_tensors(0) == []
    assert dump.read_trace_tensor(0) == dump.read_trace_tensor(1) == TensorSummary(mode=7)


def test_event_of_another_kind_is_ignored(tmp_path: Path) -> None:
    """A file has events of its own kind only; newer versions may add others."""
    device: Event = {"debugged_device": {"device_id": 3, "device_name": b"/device:GPU:0"}}
    other: Event = {"graph_execution_trace": {"op_name": b"x"}}
    kinds = ["source_files", "stack_frames", "graphs"]
    extra = {"metadata": [device], "graphs": [device, other]} | {it: [other] for it in kinds[:2]}
    dump = open_dump(write_dump(tmp_path / "dump", graphs=[make_op("x", "Abs")], extra=extra))
    assert dump.damage == []
    assert dump.devices == {3: "/device:GPU:0"}
    assert dump.source_files == [("host", PROGRAM)]
    assert list(dump.ops["g"]) == ["x"]
    assert [it.line for it in dump.get_stack(["f1"])] == [2]


def test_metadata_file_with_another_event_has_no_metadata(tmp_path: Path) -> None:
    other: Event = {"graph_execution_trace": {"op_name": b"x"}}
    dump = open_dump(write_dump(tmp_path / "dump", metadata=other))
    assert [it.reason.text for it in dump.damage] == ["it has no metadata"]


def test_record_that_is_no_event_is_damage(tmp_path: Path) -> None:
    folder = write_dump(tmp_path / "dump", graphs=[make_op("x", "Abs")])
    (path,) = folder.glob("*.graphs")
    record = encode_record(b"\xff\xff")
    path.write_bytes(record + path.read_bytes())
    dump = open_dump(folder)
    assert list(dump.ops["g"]) == ["x"]
    (damage,) = dump.damage
    assert (damage.file, damage.offset, damage.bytes) == (str(path), 0, len(record))
    assert damage.reason.text == "a record is not a debug event"


def test_graphs_of_all_hosts_are_merged(tmp_path: Path) -> None:
    folder = tmp_path / "dump"
    for host in ("a", "b"):
        graphs = [make_graph(f"graph-{host}", "f"), make_op(host, "Abs", graph=f"graph-{host}")]
        write_dump(folder, graphs=graphs, host=host)
    dump = open_dump(folder)
    assert sorted(dump.graphs) == sorted(dump.ops) == ["graph-a", "graph-b"]
    assert dump.find_op("graph-b", "b") is not None


@pytest.mark.parametrize("mode", [2, 3, 4, 5, 7])
@pytest.mark.parametrize("tensor", [b"", b"\xff", encode([1.0]), encode("text"), encode([1] * 99)])
def test_damaged_tensor_is_unknown(mode: int, tensor: bytes) -> None:
    summary = describe_tensor(tensor, mode)
    assert summary.mode == mode
    assert summary.has_non_finite is (False if mode == 7 and tensor == encode([1.0]) else None)


def test_summary_may_be_stored_value_by_value() -> None:
    values = [3.0, 10.0, 1.0, 0.0, 2.0]
    tensor = proto.TensorProto(dtype=DType.DOUBLE, double_val=values).SerializeToString()
    summary = describe_tensor(tensor, 3)
    assert (summary.size, summary.neg_inf, summary.pos_inf, summary.nan) == (10, 1, 0, 2)


def test_unknown_dtype_is_a_number() -> None:
    summary = describe_tensor(encode([3.0, 99, 1, 2, 2, 0]), 5)
    assert summary == TensorSummary(mode=5)
    summary = describe_tensor(encode([3.0, 99, 1, 2, 2, 0, 0, 0, 0, 0]), 5)
    assert (summary.dtype, summary.shape) == ("dtype 99", (2,))
