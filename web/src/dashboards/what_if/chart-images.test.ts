import { expect, test } from 'vitest';

import { makeBarChartImage, makeHeatmapImage } from './chart-images';

test('cells have the color and text of the table', () => {
  const image = makeHeatmapImage(
    {
      ...{ xTitle: 'age', yTitle: 'job' },
      xLabels: ['20', '40', '60'],
      yLabels: ['clerk', 'nurse'],
      rows: [0, 1].map((row) =>
        [0, 1, 2].map((column) => ({ text: `0.${row}${column}`, place: column / 2 })),
      ),
    },
    (text, { size }) => text.length * size * 0.5,
  );
  const svg = image.exportSvg('Dependence on age × job');
  const texts = [...svg.matchAll(/<text[^>]*>([^<]*)</g)].map(([, text]) => text);
  expect(texts).toEqual([
    ...['Dependence on age × job', 'age', 'job', '20', '40', '60'],
    ...['clerk', '0.00', '0.01', '0.02', 'nurse', '0.10', '0.11', '0.12'],
  ]);
  const fills = [...svg.matchAll(/<rect[^>]*fill="([^"]+)"/g)].map(([, fill]) => fill);
  expect(fills).toHaveLength(7); // the background and six cells
  expect(fills[1]).toBe(fills[4]);
  expect(fills[1]).not.toBe(fills[3]);
});

test('a bar has a line at each of its marks', () => {
  const marks = [{ label: 'Threshold', value: 0.5 }];
  const image = makeBarChartImage(
    [
      { label: 'clerk', color: '#000', value: 1, marks },
      { label: 'nurse', color: '#000', value: 0.2 },
    ],
    (text, { size }) => text.length * size * 0.5,
  );
  const svg = image.exportSvg('Dependence on job');
  expect(svg.match(/stroke-dasharray/g)).toHaveLength(1);
});
