"""Messages of files that hold a model's graph and are no logs, declared as in `schema`."""

from __future__ import annotations

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
