import { expect, test } from 'vitest';

import { pathOf } from './pen';
import { SvgPen } from './svg';

const pen = (): SvgPen => new SvgPen((text) => text.length * 6);
const label = { colour: '#000', size: 10, align: 'left', baseline: 'top' } as const;

test('what names hold is text, whatever it looks like', () => {
  const drawn = pen();
  drawn.text('<b>&"\u0000\'', 0, 0, label);
  const file = drawn.finish(10, 10, '</svg>');
  expect(file).toContain('&#60;b&#62;&#38;&#34;&#39;');
  expect(file).not.toContain('<b>');
  expect(file).toContain('<title>&#60;/svg&#62;</title>');
});

test('a gap lifts the pen', () => {
  const drawn = pen();
  drawn.stroke(pathOf(0, 0, 1, 1, NaN, NaN, 3, 3.14159), { colour: 'red', width: 1 });
  expect(drawn.finish(10, 10, '')).toContain('d="M0 0L1 1M3 3.1"');
});

test('an area goes along its top and back, piece by piece', () => {
  const drawn = pen();
  const x = Float32Array.of(0, 1, 2, 3, 4);
  const low = Float32Array.of(5, 5, NaN, 5, 5);
  const high = Float32Array.of(2, 2, 2, 2, 2);
  drawn.area({ x, low, high, length: 5 }, { colour: 'red' });
  const file = drawn.finish(10, 10, '');
  expect(file).toContain('M0 2L1 2L1 5L0 5Z');
  expect(file).toContain('M3 2L4 2L4 5L3 5Z');
});

test('clips are named once', () => {
  const drawn = pen();
  const box = { left: 0, top: 0, width: 5, height: 5 };
  drawn.inside(box, () => drawn.dot(1, 1, 1, { colour: 'red' }));
  drawn.inside(box, () => drawn.dot(2, 2, 1, { colour: 'red' }));
  const file = drawn.finish(10, 10, '');
  expect(file.match(/<clipPath/g)).toHaveLength(1);
  expect(file.match(/<g clip-path="url\(#clip0\)">/g)).toHaveLength(2);
});
