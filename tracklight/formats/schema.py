"""Messages of files that hold tensors and are no logs, declared as in `schema`."""

from __future__ import annotations

CHECKPOINTS = """
message BundleHeaderProto {
  int32 num_shards = 1
  int32 endianness = 2
}
message BundleEntryProto {
  int32 dtype = 1
  TensorShapeProto shape = 2
  int32 shard_id = 3
  int64 offset = 4
  int64 size = 5
  fixed32 crc32c = 6
  repeated TensorSliceProto slices = 7
}
message TensorSliceProto {
  repeated SliceExtent extent = 1
}
message SliceExtent {
  int64 start = 1
  oneof has_length {
    int64 length = 2
  }
}
message TrackableObjectGraph {
  repeated TrackableObject nodes = 1
}
message TrackableObject {
  repeated ObjectReference children = 1
  repeated SerializedTensor attributes = 2
  repeated SlotVariable slot_variables = 3
}
message ObjectReference {
  int32 node_id = 1
  bytes local_name = 2
}
message SerializedTensor {
  bytes name = 1
  bytes full_name = 2
  bytes checkpoint_key = 3
}
message SlotVariable {
  int32 original_variable_node_id = 1
  bytes slot_name = 2
  int32 slot_variable_node_id = 3
}
"""

PROJECTOR = """
message ProjectorConfig {
  bytes model_checkpoint_path = 1
  repeated EmbeddingInfo embeddings = 2
  bytes model_checkpoint_dir = 3
}
message EmbeddingInfo {
  bytes tensor_name = 1
  bytes metadata_path = 2
  bytes bookmarks_path = 3
  repeated uint32 tensor_shape = 4
  SpriteMetadata sprite = 5
  bytes tensor_path = 6
}
message SpriteMetadata {
  bytes image_path = 1
  repeated uint32 single_image_dim = 2
}
"""


# Messages of files that hold a model's graph and are no logs, declared as in `schema`.

# Models and graphs of ONNX are walked through by hand, as weights fill most of such a file; tensors
# and graphs inside of attributes are left as bytes for the same reason.
ONNX = """
message OnnxNode {
  repeated bytes input = 1
  repeated bytes output = 2
  bytes name = 3
  bytes op_type = 4
  repeated OnnxAttribute attribute = 5
  bytes doc_string = 6
  bytes domain = 7
  repeated NamePair metadata_props = 9
}
message OnnxAttribute {
  bytes name = 1
  float f = 2
  int64 i = 3
  bytes s = 4
  bytes t = 5
  bytes g = 6
  repeated float floats = 7
  repeated int64 ints = 8
  repeated bytes strings = 9
  repeated bytes tensors = 10
  repeated bytes graphs = 11
  int32 type = 20
  bytes ref_attr_name = 21
}
message OnnxValue {
  bytes name = 1
  OnnxType type = 2
}
message OnnxType {
  OnnxTensorType tensor_type = 1
}
message OnnxTensorType {
  int32 elem_type = 1
  OnnxShape shape = 2
}
message OnnxShape {
  repeated OnnxDim dim = 1
}
message OnnxDim {
  oneof value {
    int64 dim_value = 1
    bytes dim_param = 2
  }
}
"""

# Of what TensorFlow exports, only the way to the graph.
SAVED_MODEL = """
message SavedModel {
  repeated MetaGraphDef meta_graphs = 2
}
message MetaGraphDef {
  GraphDef graph_def = 2
}
"""


# Messages that profiles contain, declared as in `schema`.
#
# Only the fields that are used are declared. A message that is declared as `bytes` is decoded when it
# is needed.

# xla/service/hlo.proto and xla/xla_data.proto of OpenXLA. Shapes and metadata repeat between
# instructions, so they are declared as bytes, which is what their decoders are cached by.
HLO = """
message HloProto {
  HloModuleProto hlo_module = 1
}
message HloModuleProto {
  bytes name = 1
  repeated HloComputationProto computations = 3
  int64 id = 5
  int64 entry_computation_id = 6
  bytes stack_frame_index = 17
}
message HloComputationProto {
  bytes name = 1
  repeated bytes instructions = 2
  int64 id = 5
  int64 root_id = 6
}
message HloInstructionProto {
  bytes name = 1
  bytes opcode = 2
  bytes shape = 3
  bytes metadata = 7
  int64 parameter_number = 9
  bytes fusion_kind = 11
  HloConvolutionDimensions convolution_dimension_numbers = 16
  bytes custom_call_target = 28
  HloDotDimensions dot_dimension_numbers = 30
  int64 id = 35
  repeated int64 operand_ids = 36
  repeated int64 called_computation_ids = 38
  bytes backend_config = 43
}
message HloConvolutionDimensions {
  int64 kernel_output_feature_dimension = 4
}
message HloDotDimensions {
  repeated int64 lhs_contracting_dimensions = 1
}
message HloShapeProto {
  int32 element_type = 2
  repeated int64 dimensions = 3
  repeated HloShapeProto tuple_shapes = 4
  HloLayoutProto layout = 5
}
message HloLayoutProto {
  repeated int64 minor_to_major = 1
}
message HloOpMetadata {
  bytes op_type = 1
  bytes op_name = 2
  bytes source_file = 3
  int32 source_line = 4
  int32 stack_frame_id = 15
}
message HloStackFrameIndex {
  repeated bytes file_names = 1
  repeated HloFileLocation file_locations = 3
  repeated HloStackFrame stack_frames = 4
}
message HloFileLocation {
  int32 file_name_id = 1
  int32 line = 3
}
message HloStackFrame {
  int32 file_location_id = 1
}
"""

# proto/profile.proto of pprof. Samples are decoded one by one, which needs less memory.
PPROF = """
message PprofProfile {
  repeated PprofValueType sample_type = 1
  repeated bytes sample = 2
  repeated PprofLocation location = 4
  repeated PprofFunction function = 5
  repeated bytes string_table = 6
}
message PprofValueType {
  int64 type = 1
}
message PprofSample {
  repeated uint64 location_id = 1
  repeated int64 value = 2
  repeated PprofLabel label = 3
}
message PprofLabel {
  int64 key = 1
  int64 str = 2
  int64 num = 3
}
message PprofLocation {
  uint64 id = 1
  repeated PprofLine line = 4
}
message PprofLine {
  uint64 function_id = 1
  int64 line = 2
}
message PprofFunction {
  uint64 id = 1
  int64 name = 2
  int64 filename = 4
}
"""


# Protobuf messages of event files and related formats, in a subset of the protobuf language.
#
# One field per line. Two deviations from the original declarations do not change the encoding: text
# from logs is declared as ``bytes``, so that invalid UTF-8 does not cost a record, and maps are
# declared as repeated pairs, because the key of a map cannot be ``bytes``. Enums are ``int32``.
#
# Fields numbered 1001 and above are tracklight's own; other readers skip them.

EVENT = """
message Event {
  double wall_time = 1
  int64 step = 2
  oneof what {
    bytes file_version = 3
    bytes graph_def = 4
    Summary summary = 5
    LogMessage log_message = 6
    SessionLog session_log = 7
    TaggedRunMetadata tagged_run_metadata = 8
    bytes meta_graph_def = 9
  }
  SourceMetadata source_metadata = 10
}
message SourceMetadata {
  bytes writer = 1
}
message LogMessage {
  int32 level = 1
  bytes message = 2
}
message SessionLog {
  int32 status = 1
  bytes checkpoint_path = 2
  bytes msg = 3
}
message TaggedRunMetadata {
  bytes tag = 1
  bytes run_metadata = 2
}
message Summary {
  repeated Value value = 1
}
message Value {
  bytes tag = 1
  oneof value {
    float simple_value = 2
    bytes obsolete_old_style_histogram = 3
    Image image = 4
    HistogramProto histo = 5
    Audio audio = 6
    TensorProto tensor = 8
  }
  bytes node_name = 7
  SummaryMetadata metadata = 9
}
message Image {
  int32 height = 1
  int32 width = 2
  int32 colorspace = 3
  bytes encoded_image_string = 4
}
message Audio {
  float sample_rate = 1
  int64 num_channels = 2
  int64 length_frames = 3
  bytes encoded_audio_string = 4
  bytes content_type = 5
}
message HistogramProto {
  double min = 1
  double max = 2
  double num = 3
  double sum = 4
  double sum_squares = 5
  repeated double bucket_limit = 6
  repeated double bucket = 7
}
message SummaryMetadata {
  PluginData plugin_data = 1
  bytes display_name = 2
  bytes summary_description = 3
  int32 data_class = 4
}
message PluginData {
  bytes plugin_name = 1
  bytes content = 2
}
message TensorProto {
  int32 dtype = 1
  TensorShapeProto tensor_shape = 2
  int32 version_number = 3
  bytes tensor_content = 4
  repeated float float_val = 5
  repeated double double_val = 6
  repeated int32 int_val = 7
  repeated bytes string_val = 8
  repeated float scomplex_val = 9
  repeated int64 int64_val = 10
  repeated bool bool_val = 11
  repeated double dcomplex_val = 12
  repeated int32 half_val = 13
  repeated uint32 uint32_val = 16
  repeated uint64 uint64_val = 17
  bytes float8_val = 18
}
message TensorShapeProto {
  repeated Dim dim = 2
  bool unknown_rank = 3
}
message Dim {
  int64 size = 1
  bytes name = 2
}
"""

GRAPH = """
message GraphDef {
  repeated NodeDef node = 1
  FunctionDefLibrary library = 2
  int32 version = 3
  VersionDef versions = 4
}
message VersionDef {
  int32 producer = 1
  int32 min_consumer = 2
  repeated int32 bad_consumers = 3
}
message NodeDef {
  bytes name = 1
  bytes op = 2
  repeated bytes input = 3
  bytes device = 4
  repeated Attr attr = 5
}
message Attr {
  bytes key = 1
  AttrValue value = 2
}
message AttrValue {
  oneof value {
    AttrList list = 1
    bytes s = 2
    int64 i = 3
    float f = 4
    bool b = 5
    int32 type = 6
    TensorShapeProto shape = 7
    TensorProto tensor = 8
    bytes placeholder = 9
    NameAttrList func = 10
  }
}
message AttrList {
  repeated bytes s = 2
  repeated int64 i = 3
  repeated float f = 4
  repeated bool b = 5
  repeated int32 type = 6
  repeated TensorShapeProto shape = 7
  repeated TensorProto tensor = 8
  repeated NameAttrList func = 9
}
message NameAttrList {
  bytes name = 1
  repeated Attr attr = 2
}
message FunctionDefLibrary {
  repeated FunctionDef function = 1
  repeated GradientDef gradient = 2
}
message FunctionDef {
  OpDef signature = 1
  repeated NodeDef node_def = 3
  repeated NamePair ret = 4
  repeated Attr attr = 5
  repeated NamePair control_ret = 6
  repeated ArgAttr arg_attr = 7
}
message ArgAttr {
  uint32 key = 1
  ArgAttrs value = 2
}
message ArgAttrs {
  repeated Attr attr = 1
}
message GradientDef {
  bytes function_name = 1
  bytes gradient_func = 2
}
message NamePair {
  bytes key = 1
  bytes value = 2
}
message OpDef {
  bytes name = 1
  repeated ArgDef input_arg = 2
  repeated ArgDef output_arg = 3
  repeated bytes control_output = 20
}
message RunMetadata {
  bytes step_stats = 1
  repeated bytes partition_graphs = 3
  repeated FunctionGraphs function_graphs = 4
}
message StepStats {
  repeated DeviceStepStats dev_stats = 1
}
message DeviceStepStats {
  bytes device = 1
  repeated NodeExecStats node_stats = 2
}
message NodeExecStats {
  bytes node_name = 1
  int64 all_start_micros = 2
  int64 all_end_rel_micros = 5
  repeated AllocatorMemoryUsed memory = 6
  repeated NodeOutput output = 7
  int64 all_end_rel_nanos = 16
}
message AllocatorMemoryUsed {
  bytes allocator_name = 1
  int64 total_bytes = 2
}
message NodeOutput {
  int32 slot = 1
  TensorDescription tensor_description = 3
}
message TensorDescription {
  int32 dtype = 1
  TensorShapeProto shape = 2
}
message FunctionGraphs {
  repeated bytes partition_graphs = 1
  bytes pre_optimization_graph = 2
  bytes post_optimization_graph = 3
}
message ArgDef {
  bytes name = 1
  bytes description = 2
  int32 type = 3
  bytes type_attr = 4
  bytes number_attr = 5
  bytes type_list_attr = 6
  bool is_ref = 16
}
"""

# The numbers from 1001 up keep what the old forms of these values carry and the new ones have no
# place for.
PLUGINS = """
message ScalarPluginData {
  int32 version = 1
}
message TextPluginData {
  int32 version = 1
}
message ImagePluginData {
  int32 version = 1
  bool converted_to_tensor = 2
  int32 colorspace = 1001
}
message AudioPluginData {
  int32 version = 1
  int32 encoding = 2
  bool converted_to_tensor = 3
  float sample_rate = 1001
  int64 num_channels = 1002
  int64 length_frames = 1003
  bytes content_type = 1004
}
message HistogramPluginData {
  int32 version = 1
  HistogramTotals totals = 1001
}
message HistogramTotals {
  double min = 1
  double max = 2
  double num = 3
  double sum = 4
  double sum_squares = 5
  int64 nan = 6
  int64 positive_infinity = 7
  int64 negative_infinity = 8
}
message PrCurvePluginData {
  int32 version = 1
  uint32 num_thresholds = 2
}
message MeshPluginData {
  int32 version = 1
  bytes name = 2
  int32 content_type = 3
  bytes json_config = 5
  repeated int32 shape = 6
  uint32 components = 7
}
message Layout {
  int32 version = 1
  repeated Category category = 2
}
message Category {
  bytes title = 1
  repeated Chart chart = 2
  bool closed = 3
}
message Chart {
  bytes title = 1
  oneof content {
    MultilineChartContent multiline = 2
    MarginChartContent margin = 3
  }
}
message MultilineChartContent {
  repeated bytes tag = 1
}
message MarginChartContent {
  repeated MarginSeries series = 1
}
message MarginSeries {
  bytes value = 1
  bytes lower = 2
  bytes upper = 3
}
"""

HPARAMS = """
message HParamsPluginData {
  int32 version = 1
  oneof data {
    Experiment experiment = 2
    SessionStartInfo session_start_info = 3
    SessionEndInfo session_end_info = 4
  }
}
message Experiment {
  bytes description = 1
  bytes user = 2
  double time_created_secs = 3
  repeated HParamInfo hparam_infos = 4
  repeated MetricInfo metric_infos = 5
  bytes name = 6
}
message HParamInfo {
  bytes name = 1
  bytes display_name = 2
  bytes description = 3
  int32 type = 4
  oneof domain {
    HParamValues domain_discrete = 5
    Interval domain_interval = 6
  }
  bool differs = 7
}
message HParamValues {
  repeated HParamValue values = 1
}
message HParamValue {
  oneof kind {
    int32 null_value = 1
    double number_value = 2
    bytes string_value = 3
    bool bool_value = 4
    HParamValues list_value = 6
  }
}
message Interval {
  double min_value = 1
  double max_value = 2
}
message MetricInfo {
  MetricName name = 1
  bytes display_name = 3
  bytes description = 4
  int32 dataset_type = 5
}
message MetricName {
  bytes group = 1
  bytes tag = 2
}
message SessionStartInfo {
  repeated HParam hparams = 1
  bytes model_uri = 2
  bytes monitor_url = 3
  bytes group_name = 4
  double start_time_secs = 5
}
message HParam {
  bytes key = 1
  HParamValue value = 2
}
message SessionEndInfo {
  int32 status = 1
  double end_time_secs = 2
}
"""

ALL = (EVENT, GRAPH, PLUGINS, HPARAMS, CHECKPOINTS, PROJECTOR, ONNX, SAVED_MODEL, HLO, PPROF)
