import { describe, expect, it } from 'vitest';

import { foldFrames } from './stack-frames';

const frame = (path: string, isLibrary: boolean) => ({
  path,
  line: 1,
  function: 'f',
  code: '',
  is_library: isLibrary,
});

describe('foldFrames', () => {
  const frames = [
    frame('main.py', false),
    frame('keras/a.py', true),
    frame('keras/b.py', true),
    frame('model.py', false),
  ];

  it('folds library frames in a row, innermost first', () => {
    const kinds = foldFrames(frames, false).map((part) =>
      part.kind === 'folded' ? part.count : part.frame.path,
    );
    expect(kinds).toEqual(['model.py', 2, 'main.py']);
  });

  it('shows all frames when unfolded', () => {
    expect(foldFrames(frames, true)).toHaveLength(4);
  });
});
