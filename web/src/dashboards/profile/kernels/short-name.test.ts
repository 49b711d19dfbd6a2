import { describe, expect, it } from 'vitest';

import { shortName } from './short-name';

describe('the name of a kernel', () => {
  it('loses what only a compiler wants to know', () => {
    expect(
      shortName(
        'void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda(' +
          'at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)',
      ),
    ).toBe('vectorized_elementwise_kernel · bfloat16_copy_kernel_cuda');
    expect(
      shortName('void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::X>'),
    ).toBe('multi_tensor_apply_kernel');
    expect(shortName('void splitKreduce(float*, int)')).toBe('splitKreduce');
  });

  it('stays as it is where a library says all with it', () => {
    const name = 'nvjet_sm90_tst_64x64_64x13_2x1_v_bz_bias_TNT';
    expect(shortName(name)).toBe(name);
    expect(shortName('')).toBe('');
  });
});
