/** The heat map of two features as an image, in the light theme. */
import { LIGHT_THEME, measureText, type Renderer } from '../../../charts/renderer/renderer';
import { renderPng, renderSvg } from '../../../charts/renderer/image-export';
import { getReadableTextColor, interpolateColor } from '../../../lib/colors';

export interface HeatmapImage {
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xLabels: readonly string[];
  readonly yLabels: readonly string[];
  /** The text and the place from 0 to 1 on the color scale of each cell, row by row. */
  readonly rows: readonly (readonly { readonly text: string; readonly place: number }[])[];
}

const MARGIN = 16;
const TITLE_HEIGHT = 36;
const ROW_HEIGHT = 26;
const MIN_CELL_WIDTH = 58;
const MAX_LABEL_WIDTH = 220;
const FONT = { size: 11.5 };

export function makeHeatmapImage(
  content: HeatmapImage,
  measure: Renderer['measureText'] = measureText,
): {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
} {
  const layout = layoutHeatmap(content, (text) => measure(text, FONT));
  const draw = (title: string) => (renderer: Renderer) =>
    drawHeatmap(renderer, content, layout, title);
  return {
    exportSvg: (title) => renderSvg(layout, title, draw(title), measure),
    exportPng: (title) => renderPng(layout, draw(title)),
  };
}

interface HeatmapLayout {
  readonly left: number;
  readonly top: number;
  readonly cellWidth: number;
  readonly width: number;
  readonly height: number;
}

function layoutHeatmap(
  { xLabels, yLabels, yTitle, rows }: HeatmapImage,
  measure: (text: string) => number,
): HeatmapLayout {
  const longest = Math.max(measure(yTitle), ...yLabels.map(measure));
  const left = MARGIN + Math.min(MAX_LABEL_WIDTH, longest) + 8;
  const texts = [...xLabels, ...rows.flat().map(({ text }) => text)];
  const widest = Math.min(MAX_LABEL_WIDTH, Math.max(0, ...texts.map(measure)));
  const cellWidth = Math.max(MIN_CELL_WIDTH, widest + 12);
  const top = TITLE_HEIGHT + 2 * ROW_HEIGHT;
  return {
    ...{ left, top, cellWidth },
    width: Math.ceil(left + xLabels.length * cellWidth + MARGIN),
    height: top + rows.length * ROW_HEIGHT + MARGIN,
  };
}

function drawHeatmap(
  renderer: Renderer,
  { xTitle, yTitle, xLabels, yLabels, rows }: HeatmapImage,
  { left, top, cellWidth, width, height }: HeatmapLayout,
  title: string,
): void {
  const { background, text, label: pale } = LIGHT_THEME;
  const style = { ...FONT, color: pale, align: 'center', baseline: 'middle' } as const;
  const write = (label: string, x: number, y: number, limit: number, more = {}) =>
    renderer.clip({ left: x - limit / 2, top: y, width: limit, height: ROW_HEIGHT }, () =>
      renderer.text(label, x, y + ROW_HEIGHT / 2, { ...style, ...more }),
    );
  renderer.rect({ left: 0, top: 0, width, height }, { color: background });
  renderer.text(title, MARGIN, 12, {
    ...{ size: 15, bold: true, color: text, align: 'left', baseline: 'top' },
  });
  const middle = left + (xLabels.length * cellWidth) / 2;
  renderer.text(xTitle, middle, TITLE_HEIGHT + ROW_HEIGHT / 2, { ...style, color: text });
  const rowStyle = { ...style, align: 'right' } as const;
  renderer.text(yTitle, left - 8, top - ROW_HEIGHT / 2, { ...rowStyle, color: text });
  xLabels.forEach((label, at) =>
    write(label, left + (at + 0.5) * cellWidth, top - ROW_HEIGHT, cellWidth),
  );
  rows.forEach((cells, row) => {
    const y = top + row * ROW_HEIGHT;
    renderer.clip({ left: MARGIN, top: y, width: left - MARGIN, height: ROW_HEIGHT }, () =>
      renderer.text(yLabels[row] ?? '', left - 8, y + ROW_HEIGHT / 2, rowStyle),
    );
    cells.forEach(({ text: value, place }, column) => {
      const color = interpolateColor(place);
      const x = left + column * cellWidth;
      renderer.rect({ left: x, top: y, width: cellWidth, height: ROW_HEIGHT }, { color });
      write(value, x + cellWidth / 2, y, cellWidth, { color: getReadableTextColor(color) });
    });
  });
}
