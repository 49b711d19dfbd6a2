"""Summaries of a whole graph: totals, per-node statistics and color scales.

`summarize_graph` is the short form for the command line. `compute_node_statistics` gives columns
by rank, from which `list_color_scales` derives what the nodes can be colored by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from math import isnan, nan
from typing import Literal

import numpy as np

from tracklight.analysis.graphs import (
    MAX_ELEMENTS,
    Graph,
    NodeDetails,
    TensorSpec,
    count_known_elements,
    format_shape,
)
from tracklight.analysis.graphs.comparison import CHANGE_NAMES, Comparison
from tracklight.analysis.graphs.graphdef import NodeExecution
from tracklight.analysis.graphs.hierarchy import Hierarchy
from tracklight.types import Float64, Int32, Int64
from tracklight.util.html import format_count

_MAX_SUMMARY_TENSORS = 5
_MAX_SUMMARY_OPS = 12

#: The attribute with the XLA cluster of a node.
_CLUSTER = "_XlaCluster"
_DTYPE_BITS = re.compile(r"[a-z]+(\d+)")

ScaleName = Literal[
    "device", "op", "time", "memory", "parameters", "cluster", "tpu", "change", "overlay"
]
ScaleUnit = Literal["", "us", "bytes"]
_TPU_CATEGORIES = ("compatible", "incompatible")


@dataclass(frozen=True, slots=True)
class LargeTensor:
    """An output of a node with many elements."""

    name: str
    dtype: str
    shape: str
    count: int


@dataclass(frozen=True, slots=True)
class GraphSummary:
    """Totals of a graph, without the nodes of its functions."""

    nodes: int
    edges: int
    control_edges: int
    depth: int
    functions: int
    ops: dict[str, int]
    """Number of nodes by operation, the most frequent first."""
    parameters: int
    largest: tuple[LargeTensor, ...]
    problems: tuple[str, ...]


def summarize_graph(graph: Graph) -> GraphSummary:
    """Return the totals of a graph; describes every node."""
    control = int(graph.edges.control.sum())
    details = [graph.describe(node) for node in range(len(graph))]
    tensors = _iter_tensors(graph.names, details)
    return GraphSummary(
        nodes=len(graph),
        edges=len(graph.edges) - control,
        control_edges=control,
        depth=max((name.count("/") + 1 for name in graph.names), default=0),
        functions=len(graph.functions),
        ops=dict(Counter(graph.ops).most_common()),
        parameters=sum(detail.parameters for detail in details),
        largest=tuple(nlargest(_MAX_SUMMARY_TENSORS, tensors, key=lambda item: item.count)),
        problems=tuple(map(str, graph.problems)),
    )


def iter_summary_lines(summary: GraphSummary) -> Iterator[str]:
    """Format a summary as lines of text."""
    counts = [(summary.edges, "edge"), (summary.control_edges, "control edge")]
    counts.append((summary.functions, "function"))
    rest = [format_count(number, noun) for number, noun in counts if number]
    size = f"{format_count(summary.nodes, 'node')} in {format_count(summary.depth, 'level')}"
    yield ", ".join([size, *rest])
    if summary.parameters:
        yield f"{summary.parameters:,} parameters"
    if summary.ops:
        yield f"operations: {_format_ops(summary.ops)}"
    if summary.largest:
        tensors = (
            f"{item.name} {item.dtype} {item.shape}".replace("  ", " ") for item in summary.largest
        )
        yield f"largest tensors: {', '.join(tensors)}"
    yield from summary.problems


def _format_ops(ops: dict[str, int]) -> str:
    listed = list(ops.items())[:_MAX_SUMMARY_OPS]
    texts = [f"{name or 'unnamed'} {count:,}" for name, count in listed]
    more = len(ops) - len(listed)
    return ", ".join(texts) + (f" and {more:,} other kinds" if more else "")


def _iter_tensors(names: Sequence[str], details: Sequence[NodeDetails]) -> Iterator[LargeTensor]:
    for name, node in zip(names, details, strict=True):
        for output in node.outputs:
            count = output.count_elements()
            if count is not None and count > 1:
                yield LargeTensor(name, output.dtype, format_shape(output.shape), count)


@dataclass(frozen=True, slots=True, eq=False)
class LabelColumn:
    """A label for each node, as a code; code 0 is the empty label for unknown."""

    names: Sequence[str]
    code: Int32


@dataclass(frozen=True, slots=True, eq=False)
class NodeStatistics:
    """Properties of all nodes, as columns by rank."""

    op: LabelColumn
    device: LabelColumn
    cluster: LabelColumn
    parameters: Int64
    output_elements: Int64
    """Elements of the largest output; unknown dimensions count as 1."""
    output_bytes: Float64
    """Size of the largest output."""


def compute_node_statistics(hierarchy: Hierarchy) -> NodeStatistics:
    """Describe every node and collect its statistics."""
    graph, nodes = hierarchy.graph, hierarchy.node_by_rank.tolist()
    # Keep only these values of each node: the details of a huge graph would fill the memory.
    rows = [_summarize_node(graph.describe(node)) for node in nodes]
    device, cluster, parameters, elements, size = zip(*rows, strict=True) if rows else ((),) * 5
    return NodeStatistics(
        _encode_labels(graph.ops[node] for node in nodes),
        _encode_labels(device),
        _encode_labels(cluster),
        np.array(parameters, np.int64),
        np.array(elements, np.int64),
        np.array(size, np.float64),
    )


def _summarize_node(details: NodeDetails) -> tuple[str, str, int, int, float]:
    elements, size_bytes = max(map(_measure_output, details.outputs), default=(0, 0.0))
    cluster = details.attributes.get(_CLUSTER, "")
    return details.device, cluster, min(details.parameters, MAX_ELEMENTS), elements, size_bytes


def get_item_bytes(dtype: str) -> float:
    """Return the size of one element; 0 for types that are not numbers."""
    if dtype == "bool":
        return 1.0
    match = _DTYPE_BITS.match(dtype)
    return int(match[1]) / 8 if match else 0.0


def _measure_output(output: TensorSpec) -> tuple[int, float]:
    count = count_known_elements(output) or 0
    return count, count * get_item_bytes(output.dtype)


def _encode_labels(labels: Iterable[str]) -> LabelColumn:
    codes = {"": 0}
    column = [codes.setdefault(label, len(codes)) for label in labels]
    return LabelColumn(list(codes), np.array(column, np.int32))


@dataclass(frozen=True, slots=True, eq=False)
class CategoryScale:
    """A category for each leaf, by rank."""

    by: ScaleName
    names: Sequence[str]
    code: Int32
    """Index in ``names``; -1 if unknown."""

    def count(self, first: int, last: int) -> list[tuple[int, int]]:
        """Return category indexes and their counts in a range of ranks, most frequent first."""
        known = self.code[first:last]
        counts = np.bincount(known[known >= 0], minlength=len(self.names))
        order = np.argsort(-counts, kind="stable")
        return [(int(index), int(counts[index])) for index in order if counts[index]]


@dataclass(frozen=True, slots=True, eq=False)
class NumberScale:
    """A number for each leaf, by rank; NaN if unknown."""

    by: ScaleName
    unit: ScaleUnit
    value: Float64

    def total(self, first: int, last: int) -> float:
        """Return the sum over a range of ranks; NaN if all are unknown."""
        known = self.value[first:last]
        known = known[~np.isnan(known)]
        return float(known.sum()) if len(known) else nan


ColorScale = CategoryScale | NumberScale


def list_color_scales(
    hierarchy: Hierarchy,
    statistics: NodeStatistics,
    profile: Mapping[str, NodeExecution],
    comparison: Comparison | None = None,
) -> list[ColorScale]:
    """Return the scales for which the graph, a profile or a comparison has data."""
    parameters = np.where(statistics.parameters, statistics.parameters, nan)
    scales: list[ColorScale] = [
        CategoryScale("op", *_drop_unknown(statistics.op)),
        CategoryScale("device", *_drop_unknown(statistics.device)),
        CategoryScale("cluster", *_drop_unknown(statistics.cluster)),
        NumberScale("parameters", "", parameters),
        *_iter_profile_scales(hierarchy, profile),
    ]
    if is_tensorflow_graph(statistics.op.names):
        scales.append(_make_tpu_scale(statistics))
    if comparison is not None:
        change = comparison.change[hierarchy.node_by_rank]
        scales.append(CategoryScale("change", CHANGE_NAMES, change))
    return [scale for scale in scales if _has_data(scale)]


def _iter_profile_scales(
    hierarchy: Hierarchy, profile: Mapping[str, NodeExecution]
) -> Iterator[ColorScale]:
    if not profile:
        return
    names = hierarchy.graph.names
    executions = [profile.get(names[node]) for node in hierarchy.node_by_rank.tolist()]
    times = [nan if execution is None else execution.duration_us for execution in executions]
    memory = [
        nan if execution is None else float(execution.memory_bytes) for execution in executions
    ]
    yield NumberScale("time", "us", np.array(times))
    yield NumberScale("memory", "bytes", np.array(memory))


def _drop_unknown(labels: LabelColumn) -> tuple[Sequence[str], Int32]:
    return labels.names[1:], labels.code - np.int32(1)


def _make_tpu_scale(statistics: NodeStatistics) -> CategoryScale:
    op = statistics.op
    code = np.array([-1 if not name else int(name not in TPU_OPS) for name in op.names])
    return CategoryScale("tpu", _TPU_CATEGORIES, code[op.code].astype(np.int32))


def _has_data(scale: ColorScale) -> bool:
    if isinstance(scale, CategoryScale):
        return bool((scale.code >= 0).any())
    total = scale.total(0, len(scale.value))
    return not isnan(total) and total > 0


#: Operations that only occur in TensorFlow graphs.
_TENSORFLOW_OPS = frozenset(
    {"Const", "NoOp", "Placeholder", "ReadVariableOp", "VarHandleOp", "VariableV2", "_Arg"}
)


def is_tensorflow_graph(ops: Iterable[str]) -> bool:
    return not _TENSORFLOW_OPS.isdisjoint(ops)


#: Operations with an XLA kernel in TensorFlow 2.21, plus arguments, results and calls. The public
#: build registers XLA kernels for CPU only; nearly all of them exist for TPU as well.
TPU_OPS = frozenset(
    """
    Abs Acos Acosh Add AddN AddV2 AdjustContrastv2 AdjustHue AdjustSaturation All Angle Any
    ApproxTopK ApproximateEqual ArgMax ArgMin Asin Asinh Assert AssignAddVariableOp
    AssignSubVariableOp AssignVariableOp AssignVariableXlaConcatND Atan Atan2 Atanh AvgPool
    AvgPool3D AvgPool3DGrad AvgPoolGrad BatchMatMul BatchMatMulV2 BatchMatMulV3 BatchToSpace
    BatchToSpaceND BesselI0e BesselI1e Betainc BiasAdd BiasAddGrad BiasAddV1 Bincount Bitcast
    BitwiseAnd BitwiseOr BitwiseXor BroadcastArgs BroadcastGradientArgs BroadcastTo Bucketize Case
    Cast Ceil CheckNumerics Cholesky ClipByValue CollectiveAssignGroupV2 CollectiveReduceV2 Complex
    ComplexAbs Concat ConcatOffset ConcatV2 Conj ConjugateTranspose Const ControlTrigger Conv Conv2D
    Conv2DBackpropFilter Conv2DBackpropInput Conv3D Conv3DBackpropFilterV2 Conv3DBackpropInputV2 Cos
    Cosh Cross Cumprod Cumsum CumulativeLogsumexp DataFormatDimMap DataFormatVecPermute
    DenseBincount DepthToSpace DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
    DepthwiseConv2dNativeBackpropInput Dequantize DeviceIndex Diag DiagPart Digamma Div DivNoNan
    DynamicPartition DynamicStitch Einsum Elu EluGrad Empty EmptyTensorList EnsureShape Equal Erf
    Erfc Erfinv Exp ExpandDims Expm1 ExtractImagePatches FFT FFT2D FFT3D FakeParam
    FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
    FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel
    FakeQuantWithMinMaxVarsPerChannelGradient Fill Floor FloorDiv FloorMod FusedBatchNorm
    FusedBatchNormGrad FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3
    Gather GatherNd GatherV2 Greater GreaterEqual HSVToRGB IFFT IFFT2D IFFT3D IRFFT IRFFT2D IRFFT3D
    Identity IdentityN If Igamma IgammaGradA Igammac Imag InTopKV2 Inv Invert InvertPermutation
    IsFinite IsInf IsNan L2Loss LRN LRNGrad LeakyRelu LeakyReluGrad LeftShift Less LessEqual Lgamma
    LinSpace ListDiff Log Log1p LogSoftmax LogicalAnd LogicalNot LogicalOr LowerBound MatMul
    MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2
    MatrixDiagV3 MatrixInverse MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 MatrixSolve
    MatrixTriangularSolve Max MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad
    MaxPoolGradGrad MaxPoolGradGradV2 MaxPoolGradV2 MaxPoolV2 Maximum Mean Min Minimum MirrorPad
    MirrorPadGrad Mod Mul MulNoNan Multinomial Ndtri Neg NextAfter NoOp NonMaxSuppressionV3
    NonMaxSuppressionV4 NotEqual OneHot OnesLike Pack Pad PadV2 ParallelDynamicStitch
    ParameterizedTruncatedNormal PartitionedCall PlaceholderWithDefault Polygamma PopulationCount
    Pow PreventGradient Prod Qr QuantizeAndDequantizeV2 QuantizeAndDequantizeV3
    QuantizeAndDequantizeV4 RFFT RFFT2D RFFT3D RGBToHSV RandomGammaGrad RandomShuffle
    RandomStandardNormal RandomUniform RandomUniformInt Range Rank ReadVariableOp
    ReadVariableXlaSplitND Real RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad
    Reshape ResizeBilinear ResizeBilinearGrad ResizeNearestNeighbor ResourceApplyAdaMax
    ResourceApplyAdadelta ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2
    ResourceApplyAdam ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl
    ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum
    ResourceApplyMomentum ResourceApplyPowerSign ResourceApplyProximalAdagrad
    ResourceApplyProximalGradientDescent ResourceApplyRMSProp ResourceGather ResourceScatterAdd
    ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul ResourceScatterNdAdd
    ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate
    ResourceStridedSliceAssign Reverse ReverseSequence ReverseV2 RightShift Rint RngReadAndSkip
    RngSkip Roll Round Rsqrt RsqrtGrad ScatterNd SegmentMaxV2 SegmentMinV2 SegmentProdV2
    SegmentSumV2 Select SelectV2 SelfAdjointEigV2 Selu SeluGrad Shape ShapeN Sigmoid SigmoidGrad
    Sign Sin Sinh Size Slice Snapshot Softmax SoftmaxCrossEntropyWithLogits Softplus SoftplusGrad
    Softsign SoftsignGrad SpaceToBatch SpaceToBatchND SpaceToDepth SparseMatMul
    SparseSoftmaxCrossEntropyWithLogits SparseToDense Split SplitV Sqrt SqrtGrad Square
    SquaredDifference Squeeze StackCloseV2 StackPopV2 StackPushV2 StackV2 StatefulPartitionedCall
    StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt
    StatefulUniformInt StatelessCase StatelessIf StatelessMultinomial
    StatelessParameterizedTruncatedNormal StatelessRandomGetAlg StatelessRandomGetKeyCounter
    StatelessRandomGetKeyCounterAlg StatelessRandomNormal StatelessRandomNormalV2
    StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
    StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformV2
    StatelessTruncatedNormal StatelessTruncatedNormalV2 StatelessWhile StochasticCastToInt
    StopGradient StridedSlice StridedSliceGrad Sub Sum Svd SymbolicGradient Tan Tanh TanhGrad
    TensorArrayCloseV3 TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayGradV3 TensorArrayReadV3
    TensorArrayScatterV3 TensorArraySizeV3 TensorArraySplitV3 TensorArrayV3 TensorArrayWriteV3
    TensorListConcatV2 TensorListElementShape TensorListFromTensor TensorListGather
    TensorListGetItem TensorListLength TensorListPopBack TensorListPushBack TensorListReserve
    TensorListSetItem TensorListSplit TensorListStack TensorScatterAdd TensorScatterMax
    TensorScatterMin TensorScatterSub TensorScatterUpdate TensorStridedSliceUpdate Tile ToBool
    TopKV2 Transpose TridiagonalMatMul TridiagonalSolve TruncateDiv TruncateMod TruncatedNormal
    UniformDequantize UniformQuantize UniformQuantizedAdd UniformQuantizedClipByValue
    UniformQuantizedConvolution UniformQuantizedDot UniformRequantize Unique UniqueV2 Unpack
    UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum UpperBound
    VarIsInitializedOp VariableShape Where While Xdivy XlaAllReduce XlaBroadcastHelper XlaCallModule
    XlaConcatND XlaConv XlaConvV2 XlaCustomCall XlaCustomCallV2 XlaDequantize XlaDot XlaDotV2
    XlaDynamicSlice XlaDynamicUpdateSlice XlaEinsum XlaGather XlaIf XlaKeyValueSort
    XlaOptimizationBarrier XlaPad XlaRecv XlaReduce XlaReducePrecision XlaReduceScatter
    XlaReduceWindow XlaRemoveDynamicDimensionSize XlaReplicaId XlaRngBitGenerator XlaScatter
    XlaSelectAndScatter XlaSelfAdjointEig XlaSend XlaSetBound XlaSetDynamicDimensionSize XlaSharding
    XlaSort XlaSplitND XlaSpmdFullToShardShape XlaSpmdShardToFullShape XlaSvd XlaVariadicReduce
    XlaVariadicReduceV2 XlaVariadicSort XlaWhile Xlog1py Xlogy ZerosLike Zeta _Arg _ArrayToList
    _EagerConst _FusedBatchNormEx _FusedConv2D _ListToArray _Retval _UnaryOpsComposition
    _XlaAotOnlyVarHandleOp
    _DeviceArg _DeviceRetval Placeholder PlaceholderV2 PartitionedCall
    """.split()
)
