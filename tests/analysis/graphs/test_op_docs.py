"""Documentation of operators, and the names of their inputs."""

from __future__ import annotations

import pytest

from tracklight.analysis.graphs import TABLE_PATH, OpDoc, OpDocs


def test_framework_is_chosen_by_all_operators() -> None:
    # All three frameworks have operators for these, under different names.
    onnx = OpDocs(["Conv", "Relu", "Gemm", "Add"]).find("Gemm")
    assert onnx is not None
    assert onnx.inputs == ("A", "B", "C")
    tensorflow = OpDocs(["Conv2D", "Relu", "MatMul", "AddV2"]).find("Conv2D")
    assert tensorflow is not None
    assert tensorflow.inputs == ("input", "filter")
    assert "2-D convolution" in tensorflow.summary
    for name in ("aten::linear", "aten.linear.default"):
        torch = OpDocs([name]).find(name)
        assert torch is not None
        assert torch.list_input_names(3) == ["input", "weight", "bias"]
    assert OpDocs(["MyOp"]).find("MyOp") is None
    # Layers of Keras are not the operators with the same names.
    assert OpDocs(["InputLayer", "Conv2D", "BatchNormalization", "Add"]).find("Add") is None


@pytest.mark.parametrize(
    ("inputs", "count", "names"),
    [
        (("a", "b"), 2, ["a", "b"]),
        (("X", "W", "B"), 2, ["X", "W"]),
        (("values*", "axis"), 4, ["values", "values", "values", "axis"]),
        (("inputs*",), 3, ["inputs", "inputs", "inputs"]),
        # Without numbers, only the tensors are inputs.
        (("tensors*", "dim-"), 3, ["tensors", "tensors", "tensors"]),
        (("self", "other", "alpha-"), 2, ["self", "other"]),
        (("self", "other", "alpha-"), 3, ["self", "other", "alpha"]),
        # Which of the two optional inputs is missing cannot be told.
        (("input", "weight?", "bias?"), 2, ["input", ""]),
        (("input", "weight?", "bias?"), 1, ["input"]),
        ((), 2, ["", ""]),
        # Another signature of the operator has another name for this argument.
        (("self", "size~"), 2, ["self", ""]),
    ],
)
def test_inputs_have_names_where_they_are_certain(
    inputs: tuple[str, ...], count: int, names: list[str]
) -> None:
    assert OpDoc(inputs, "").list_input_names(count) == names


@pytest.mark.parametrize(
    ("op", "part"),
    [
        ("aten::_convolution", "convolution"),
        ("aten.convolution.default", "convolution"),
        ("aten::lstm", "multi-layer long short-term memory"),
        ("aten::slice", "elements from start to end"),
        ("aten::rsub", "Subtracts input"),
        ("aten::upsample_nearest2d", "nearest-neighbor"),
        ("aten._native_batch_norm_legit_no_training.default", "batch normalization"),
        ("aten::_softmax", "Softmax"),
        ("aten::softmax", "sum to 1"),
        ("aten::uniform_", "uniform distribution"),
        ("aten::fft_rfft", "Fourier transform"),
        ("aten::linalg_inv", "inverse of a square matrix"),
        ("aten::gelu_backward", "gradient of gelu"),
        ("aten::cross_entropy_loss", "cross entropy"),
        ("aten::Int", "integer"),
        ("aten::clip", "Clamps"),  # PyTorch says that it is an alias
        ("prim::NumToTensor", "tensor without dimensions"),
        ("prim::ListConstruct", "list"),
        ("quantized::conv2d_relu", "2D convolution"),
        ("IO Node", "input or an output"),
        ("aten.cummax.default", "cumulative maximum"),  # no empty line after its signature
        ("aten::exponential", "probability density"),  # only the version in place is documented
        ("aten::_cummin_helper", "cumulative minimum"),
        ("higher_order.cond", "one of two branches"),
        ("_operator.getitem", "item"),
        ("quantized_decomposed.quantize_per_tensor.default", "scale and zero point"),
        ("quantized.linear.default", "Quantized"),
    ],
)
def test_operations_of_traced_and_exported_models_are_documented(op: str, part: str) -> None:
    doc = OpDocs(["aten::relu", op]).find(op)
    assert doc is not None
    assert part in doc.summary


def test_documentation_has_no_markup() -> None:
    for line in TABLE_PATH.read_text(encoding="utf-8").splitlines():
        _, op, _, summary, _ = line.split("\t")
        if not op.startswith("TextLineReader"):  # its documentation has a line end
            marks = ("\\", "`", "<http", "~torch", "Args:")
            assert not any(mark in summary for mark in marks), line


def test_only_operators_of_tests_have_no_documentation() -> None:
    rows = [line.split("\t") for line in TABLE_PATH.read_text(encoding="utf-8").splitlines()]
    missing = [op for _, op, _, summary, _ in rows if not summary]
    assert all(op.startswith("_test_") or op == "_foobar" for op in missing)
