"""Protobuf messages of event files and related formats, in a subset of the protobuf language.

One field per line. Two deviations from the original declarations do not change the encoding: text
from logs is declared as ``bytes``, so that invalid UTF-8 does not cost a record, and maps are
declared as repeated pairs, because the key of a map cannot be ``bytes``. Enums are ``int32``.

Fields numbered 1001 and above are tracklight's own; other readers skip them.
"""

from __future__ import annotations

from tracklight.formats.model_schema import ONNX, SAVED_MODEL
from tracklight.formats.profile_schema import HLO, PPROF
from tracklight.formats.tensor_schema import CHECKPOINTS, PROJECTOR

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
