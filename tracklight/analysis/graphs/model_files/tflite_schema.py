"""The schema of TensorFlow Lite models: operators, their options, and data types.

Generated from TensorFlow 2.21 (``tensorflow/lite/python/schema_py_generated.py``). The schema only
grows, so newer models are read as well.
"""

from __future__ import annotations

#: Names of operators by code.
OPERATORS = """
ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE
EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D
LOCAL_RESPONSE_NORMALIZATION LOGISTIC LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6
RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL
CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER BATCH_TO_SPACE_ND
SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST
PRELU MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN
TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW
ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK
REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR
LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS
WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG
REAL COMPLEX_ABS HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL
CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL
BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD
UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2 UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR
RIGHT_SHIFT STABLEHLO_LOGISTIC STABLEHLO_ADD STABLEHLO_DIVIDE STABLEHLO_MULTIPLY STABLEHLO_MAXIMUM
STABLEHLO_RESHAPE STABLEHLO_CLAMP STABLEHLO_CONCATENATE STABLEHLO_BROADCAST_IN_DIM
STABLEHLO_CONVOLUTION STABLEHLO_SLICE STABLEHLO_CUSTOM_CALL STABLEHLO_REDUCE STABLEHLO_ABS
STABLEHLO_AND STABLEHLO_COSINE STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG
STABLEHLO_MINIMUM STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER
STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SUBTRACT STABLEHLO_TANH STABLEHLO_SCATTER
STABLEHLO_COMPARE STABLEHLO_CONVERT STABLEHLO_DYNAMIC_SLICE STABLEHLO_DYNAMIC_UPDATE_SLICE
STABLEHLO_PAD STABLEHLO_IOTA STABLEHLO_DOT_GENERAL STABLEHLO_REDUCE_WINDOW STABLEHLO_SORT
STABLEHLO_WHILE STABLEHLO_GATHER STABLEHLO_TRANSPOSE DILATE STABLEHLO_RNG_BIT_GENERATOR
REDUCE_WINDOW STABLEHLO_COMPOSITE STABLEHLO_SHIFT_LEFT STABLEHLO_CBRT STABLEHLO_CASE
""".split()

#: Data types by code.
TYPES = """
float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64
resource variant uint32 uint16 int4 bfloat16 int2 uint4
""".split()

PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")

#: Fields of the options of operators, by the code of the options: ``index:name:kind``. Kinds are
#: i, u, l (integers of 32, 32 unsigned and 64 bits), f (float), b (bool), 8 (byte), s (string),
#: v (vector of integers), p (padding), a (activation) and t (data type).
OPTIONS = {
    1: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:fused_activation_function:a "
        "4:dilation_w_factor:i 5:dilation_h_factor:i 6:quantized_bias_type:t"
    ),
    2: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:depth_multiplier:i "
        "4:fused_activation_function:a 5:dilation_w_factor:i 6:dilation_h_factor:i"
    ),
    3: "0:num_channels:i 1:num_columns_per_channel:v 2:embedding_dim_per_channel:v",
    4: "0:type:8",
    5: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:filter_width:i 4:filter_height:i "
        "5:fused_activation_function:a"
    ),
    6: "0:rank:i 1:fused_activation_function:a 2:asymmetric_quantize_inputs:b",
    7: "0:fused_activation_function:a 1:asymmetric_quantize_inputs:b",
    8: (
        "0:fused_activation_function:a 1:weights_format:8 2:keep_num_dims:b "
        "3:asymmetric_quantize_inputs:b 4:quantized_bias_type:t"
    ),
    9: "0:beta:f",
    10: "0:axis:i 1:fused_activation_function:a",
    11: "0:fused_activation_function:a 1:pot_scale_int16:b",
    12: "0:fused_activation_function:a",
    13: "0:radius:i 1:bias:f 2:alpha:f 3:beta:f",
    14: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:kernel_type:8 "
        "4:asymmetric_quantize_inputs:b"
    ),
    15: "2:align_corners:b 3:half_pixel_centers:b",
    16: "0:subgraph:u",
    17: "0:new_shape:v",
    18: "0:ngram_size:i 1:max_skip_size:i 2:include_all_ngrams:b",
    19: "0:block_size:i",
    20: "0:combiner:8",
    21: "0:fused_activation_function:a",
    23: "0:axis:i 1:batch_dims:i",
    27: "0:keep_dims:b",
    28: "0:fused_activation_function:a 1:pot_scale_int16:b",
    29: "0:fused_activation_function:a",
    30: "0:squeeze_dims:v",
    31: "0:time_major:b 1:fused_activation_function:a 2:asymmetric_quantize_inputs:b",
    32: (
        "0:begin_mask:i 1:end_mask:i 2:ellipsis_mask:i 3:new_axis_mask:i 4:shrink_axis_mask:i "
        "5:offset:b"
    ),
    35: "0:num_splits:i",
    37: "0:in_data_type:t 1:out_data_type:t",
    40: "0:output_type:t",
    49: (
        "0:padding:p 1:stride_w:i 2:stride_h:i 3:fused_activation_function:a "
        "4:quantized_bias_type:t"
    ),
    50: "0:validate_indices:b",
    55: "0:out_type:t",
    57: "0:output_type:t",
    58: "0:min:f 1:max:f 2:num_bits:i 3:narrow_range:b",
    59: "0:values_count:i 1:axis:i",
    61: "0:axis:i",
    64: "0:num:i 1:axis:i",
    69: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:merge_outputs:b "
        "4:time_major:b 5:asymmetric_quantize_inputs:b"
    ),
    70: (
        "0:time_major:b 1:fused_activation_function:a 2:merge_outputs:b "
        "3:asymmetric_quantize_inputs:b"
    ),
    71: (
        "0:fused_activation_function:a 1:cell_clip:f 2:proj_clip:f 3:time_major:b "
        "4:asymmetric_quantize_inputs:b 5:diagonal_recurrent_tensors:b"
    ),
    74: "0:align_corners:b 1:half_pixel_centers:b",
    75: "0:alpha:f",
    77: "0:mode:8",
    79: "0:num_splits:i",
    80: "0:idx_out_type:t",
    87: "0:seq_dim:i 1:batch_dim:i",
    92: "0:then_subgraph_index:i 1:else_subgraph_index:i",
    93: "0:cond_subgraph_index:i 1:body_subgraph_index:i",
    94: "0:block_size:i",
    101: "0:adj_x:b 1:adj_y:b 2:asymmetric_quantize_inputs:b",
    102: "0:exclusive:b 1:reverse:b",
    103: "0:init_subgraph_index:i",
    106: (
        "0:padding:p 1:stride_d:i 2:stride_w:i 3:stride_h:i 4:fused_activation_function:a "
        "5:dilation_d_factor:i 6:dilation_w_factor:i 7:dilation_h_factor:i"
    ),
    107: "0:table_id:i 1:key_dtype:t 2:value_dtype:t",
    111: "0:container:s",
    114: "0:seed:l 1:seed2:l",
    116: "0:approximate:b",
}

OPTIONS_2 = {
    1: "0:dimension:l",
    4: (
        "5:input_batch_dimension:l 6:input_feature_dimension:l "
        "8:kernel_input_feature_dimension:l 9:kernel_output_feature_dimension:l "
        "11:output_batch_dimension:l 12:output_feature_dimension:l 14:feature_group_count:l "
        "15:batch_group_count:l"
    ),
    5: (
        "0:call_target_name:s 1:has_side_effect:b 2:backend_config:s 3:api_version:i "
        "4:called_computations:v"
    ),
    6: "1:body_subgraph_index:i",
    7: (
        "0:indices_are_sorted:b 4:index_vector_dim:l 5:unique_indices:b "
        "6:update_computation_subgraph_index:i"
    ),
    8: "0:comparison_direction:u 1:compare_type:u",
    11: "0:iota_dimension:l",
    13: "5:body_subgraph_index:i",
    14: "0:dimension:l 1:is_stable:b 2:comparator_subgraph_index:i",
    15: "0:cond_subgraph_index:i 1:body_subgraph_index:i",
    16: "3:index_vector_dim:l 5:indices_are_sorted:b",
    19: "0:algorithm:8",
    20: "0:reduce_function:i",
    21: ("0:name:s 1:decomposition_subgraph_index:i 3:composite_attributes_format:8 4:version:i"),
    23: "0:branch_subgraph_indices:v",
}
