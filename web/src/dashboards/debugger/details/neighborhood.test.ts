import { expect, it } from 'vitest';

import { toVisibleGroups } from './neighborhood';

it('shows the last part of the name of an operation, and its health', () => {
  const group = toVisibleGroups({
    nodes: [
      { name: 'model/loss/Log', type: 'Log', role: '', health: 2, tensor: null },
      { name: 'model/Relu', type: 'Relu', role: '', health: 1, tensor: null },
    ],
    edges: [[1, 0]],
    is_truncated: false,
  }).get('');
  expect(group?.nodes.map(({ label }) => label)).toEqual(['Log', 'Relu']);
  expect(group?.nodes.map(({ shape }) => shape)).toEqual(['NaN/Inf', 'Finite']);
  expect(group?.edges).toMatchObject([{ source: 1, target: 0 }]);
});

it('shows type and role of a tensor', () => {
  const nodes = [
    { name: 'fc1', type: 'Linear', role: 'output', health: 0, tensor: 3 },
    { name: 'fc1.weight', type: '', role: 'parameter', health: 1, tensor: 0 },
  ];
  const group = toVisibleGroups({ nodes, edges: [[1, 0]], is_truncated: false }).get('');
  expect(group?.nodes.map(({ op }) => op)).toEqual(['Linear · output', 'parameter']);
});
