import { describe, expect, it } from 'vitest';

import {
  formatBandwidth,
  formatFlopRate,
  formatPercent,
  shortenKernelName,
  shortenOpName,
} from './display';

describe('percentages', () => {
  it.each([
    [0, '0%'],
    [0.868, '86.8%'],
    [0.0004, '< 0.1%'],
    [0.9999, '> 99.9%'],
    [1, '100%'],
  ])('%d is %s', (share, text) => expect(formatPercent(share)).toBe(text));
});

it('formats rates per second', () => {
  expect(formatFlopRate(4.59e11, 1)).toBe('459 TFLOP/s');
  expect(formatFlopRate(5, 10)).toBe('500 FLOP/s');
  expect(formatBandwidth(3.4e9, 1)).toBe('3.4 TB/s');
});

it('removes the prefix of compiled functions', () => {
  expect(shortenOpName('StatefulPartitionedCall/flowers/conv2d/Relu')).toBe('flowers/conv2d/Relu');
  expect(shortenOpName('aten::mm (2x3, 3x4)')).toBe('aten::mm (2x3, 3x4)');
  expect(shortenOpName('StatefulPartitionedCall')).toBe('StatefulPartitionedCall');
});

describe('the short name of a kernel', () => {
  it('has no types and namespaces', () => {
    expect(
      shortenKernelName(
        'void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(' +
          'at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)',
      ),
    ).toBe('vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda');
    expect(
      shortenKernelName(
        'void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::X>',
      ),
    ).toBe('multi_tensor_apply_kernel');
    expect(shortenKernelName('void splitKreduce(float*, int)')).toBe('splitKreduce');
    expect(
      shortenKernelName(
        'void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2>' +
          '(cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2::Params)',
      ),
    ).toBe('cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align2');
  });

  it('is the full name without template arguments', () => {
    const name = 'nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT';
    expect(shortenKernelName(name)).toBe(name);
    expect(shortenKernelName('')).toBe('');
  });
});
