import { expect, test } from 'vitest';

import { SvgPen } from '../pen/svg';
import { drawGuides } from './guides';
import { layOut } from './layout';
import { LIGHT } from './palette';

const measure = (text: string): number => text.length * 6;

function draw(xDomain: readonly [number, number], text: string): string {
  const layout = layOut(
    {
      x: { kind: 'linear', domain: xDomain, format: 'number' },
      y: { kind: 'linear', domain: [0, 1] },
      y2: null,
    },
    { width: 448, height: 230 },
    measure,
  );
  const pen = new SvgPen(measure);
  const guide = { id: 'a', x: Float64Array.of(0, 0.5, 1), y: Float64Array.of(0, 0.5, 1), text };
  drawGuides(pen, layout, [guide], LIGHT);
  return pen.finish(448, 230, '');
}

test('a guide has its word at the end that is seen', () => {
  expect(draw([0, 1], 'chance')).toContain('>chance</text>');
  const far = /<text transform="translate\(([\d.]+)/.exec(draw([0, 1], 'chance'))?.[1];
  const near = /<text transform="translate\(([\d.]+)/.exec(draw([0, 2], 'chance'))?.[1];
  expect(Number(near)).toBeLessThan(Number(far));
});

test('a guide that is not seen says nothing', () => {
  expect(draw([5, 6], 'chance')).not.toContain('chance');
  expect(draw([0, 1], '')).not.toContain('<text');
});
