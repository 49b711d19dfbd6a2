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
