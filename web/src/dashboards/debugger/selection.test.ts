import { describe, expect, it } from 'vitest';

import { isSameSelection, type Selection, selectionCodec } from './selection';

describe('selectionCodec', () => {
  const selections: Selection[] = [
    { kind: 'execution', index: 12 },
    { kind: 'graph_execution', index: 34 },
    { kind: 'tensor', index: 5, step: 80 },
    { kind: 'tensor', index: 5, step: null },
    { kind: 'value', name: 'layer/log:0' },
  ];

  it.each(selections)('round-trips %j', (selection) => {
    expect(selectionCodec.parse(selectionCodec.format(selection))).toEqual(selection);
  });

  it('ignores invalid text', () => {
    for (const text of ['', 'x1', 'e', 'e-1', 'g1.5'])
      expect(selectionCodec.parse(text)).toBeNull();
  });

  it('compares by content', () => {
    expect(isSameSelection({ kind: 'execution', index: 1 }, { kind: 'execution', index: 1 })).toBe(
      true,
    );
    expect(isSameSelection({ kind: 'execution', index: 1 }, null)).toBe(false);
  });
});
