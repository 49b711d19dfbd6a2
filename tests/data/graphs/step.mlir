module @jit_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<5xf32>, %arg1: tensor<4x5xf32>, %arg2: tensor<3x4xf32>) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]"}, tensor<3x5xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg2, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<5xf32>) -> tensor<1x5xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x5xf32>) -> tensor<3x5xf32>
    %3 = stablehlo.add %0, %2 : tensor<3x5xf32>
    %4 = call @relu(%3) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %5:3 = stablehlo.while(%iterArg = %4, %iterArg_4 = %c, %iterArg_5 = %cst) : tensor<3x5xf32>, tensor<i32>, tensor<f32>
    cond {
      %c_6 = stablehlo.constant dense<3> : tensor<i32>
      %15 = stablehlo.compare LT, %iterArg_4, %c_6, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    } do {
      %15 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_4) : (tensor<3x5xf32>, tensor<i32>) -> tensor<5xf32>
      %16 = func.call @closed_call(%iterArg_5, %15) : (tensor<f32>, tensor<5xf32>) -> tensor<f32>
      %c_6 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %iterArg_4, %c_6 : tensor<i32>
      stablehlo.return %iterArg, %17, %16 : tensor<3x5xf32>, tensor<i32>, tensor<f32>
    }
    %6 = stablehlo.while(%iterArg = %5#2) : tensor<f32>
    cond {
      %cst_4 = stablehlo.constant dense<1.000000e+01> : tensor<f32>
      %15 = stablehlo.compare LT, %iterArg, %cst_4, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    } do {
      %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
      %15 = stablehlo.multiply %iterArg, %cst_4 : tensor<f32>
      %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %16 = stablehlo.add %15, %cst_5 : tensor<f32>
      stablehlo.return %16 : tensor<f32>
    }
    %cst_0 = stablehlo.constant dense<3.000000e+00> : tensor<f32>
    %7 = stablehlo.compare GT, %6, %cst_0, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %8 = stablehlo.convert %7 : (tensor<i1>) -> tensor<i32>
    %9 = "stablehlo.case"(%8) ({
      %15 = stablehlo.negate %6 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }, {
      %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
      %15 = stablehlo.subtract %6, %cst_4 : tensor<f32>
      stablehlo.return %15 : tensor<f32>
    }) : (tensor<i32>) -> tensor<f32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %c_1, dims = [] : (tensor<i32>) -> tensor<1xi32>
    %cst_2 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %11 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<5xf32>
    %12 = "stablehlo.scatter"(%4, %10, %11) <{indices_are_sorted = true, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [0], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<3x5xf32>, tensor<1xi32>, tensor<5xf32>) -> tensor<3x5xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %13 = stablehlo.reduce(%12 init: %cst_3) applies stablehlo.maximum across dimensions = [1] : (tensor<3x5xf32>, tensor<f32>) -> tensor<3xf32>
    %14 = call @sort(%4) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %13, %9, %14 : tensor<3xf32>, tensor<f32>, tensor<3x5xf32>
  }
  func.func private @relu(%arg0: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3x5xf32>
    %1 = stablehlo.maximum %arg0, %0 : tensor<3x5xf32>
    return %1 : tensor<3x5xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<3x5xf32>, %arg1: tensor<i32>) -> tensor<5xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 5] : (tensor<3x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x5xf32>
    %1 = stablehlo.reshape %0 : (tensor<1x5xf32>) -> tensor<5xf32>
    return %1 : tensor<5xf32>
  }
  func.func private @closed_call(%arg0: tensor<f32>, %arg1: tensor<5xf32>) -> tensor<f32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.reduce(%arg1 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<5xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.convert %arg0 : tensor<f32>
    %2 = stablehlo.add %1, %0 : tensor<f32>
    return %2 : tensor<f32>
  }
  func.func private @sort(%arg0: tensor<3x5xf32>) -> tensor<3x5xf32> {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %1 = stablehlo.compare EQ, %arg1, %cst, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_0 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %2 = stablehlo.select %1, %cst_0, %arg1 : tensor<i1>, tensor<f32>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_1 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %4 = stablehlo.select %3, %cst_1, %2 : tensor<i1>, tensor<f32>
      %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %5 = stablehlo.compare EQ, %arg2, %cst_2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
      %6 = stablehlo.select %5, %cst_3, %arg2 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %arg2, %arg2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %cst_4 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
      %8 = stablehlo.select %7, %cst_4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare LT, %4, %8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %9 : tensor<i1>
    }) : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %0 : tensor<3x5xf32>
  }
}
