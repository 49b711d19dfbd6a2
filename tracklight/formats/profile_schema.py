"""Messages that profiles contain, declared as in `schema`.

Only the fields that are used are declared. A message that is declared as `bytes` is decoded when it
is needed.
"""

from __future__ import annotations

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
