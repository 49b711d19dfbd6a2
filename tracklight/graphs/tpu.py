"""Which operations of TensorFlow a TPU runs, as far as can be told without one."""

from __future__ import annotations

from collections.abc import Iterable

#: Operations by which a graph is known to be one of TensorFlow's.
_TENSORFLOW = frozenset(
    {"Const", "NoOp", "Placeholder", "ReadVariableOp", "VarHandleOp", "VariableV2", "_Arg"}
)


def is_tensorflow(ops: Iterable[str]) -> bool:
    return not _TENSORFLOW.isdisjoint(ops)


#: Those for which TensorFlow 2.21 has a kernel for XLA's compiler, through which a TPU is used, and
#: those that only lead values in and out or call others. The public build registers kernels for XLA
#: on a CPU only, so this is a stand-in: nearly all are the same ones.
RUNS_ON_TPU = frozenset(
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
