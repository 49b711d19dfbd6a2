import { expect, it } from 'vitest';

import { shortOp } from './op-name';

it('loses what stands before every op', () => {
  expect(shortOp('StatefulPartitionedCall/flowers/conv2d/Relu')).toBe('flowers/conv2d/Relu');
  expect(shortOp('aten::mm (2x3, 3x4)')).toBe('aten::mm (2x3, 3x4)');
  expect(shortOp('StatefulPartitionedCall')).toBe('StatefulPartitionedCall');
});
