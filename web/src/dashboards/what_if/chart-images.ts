/** Bar charts and heat maps as images, in the light theme. */
import { type BarMark, layoutBars } from '../../charts/bar/BarChart.svelte';
import { renderPng, renderSvg } from '../../charts/renderer/image-export';
import { LIGHT_THEME, measureText, type Renderer } from '../../charts/renderer/renderer';
import { getReadableTextColor, interpolateColor } from '../../lib/colors';
import { formatValue } from '../../lib/format';

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** An image that is drawn with the title that the user gives it. */
interface ChartImage {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
}

const MARGIN = 16;
const TITLE_HEIGHT = 36;
const FONT = { size: 11.5 };

/** `draw` draws the chart below the title. */
function makeImage(
  { width, height }: ImageSize,
  draw: (renderer: Renderer) => void,
  measure: Renderer['measureText'] = measureText,
): ChartImage {
  const drawAll = (title: string) => (renderer: Renderer) => {
    const { background, text } = LIGHT_THEME;
    renderer.rect({ left: 0, top: 0, width, height }, { color: background });
    renderer.text(title, MARGIN, 12, {
      ...{ size: 15, bold: true, color: text, align: 'left', baseline: 'top' },
    });
    draw(renderer);
  };
  return {
    exportSvg: (title) => renderSvg({ width, height }, title, drawAll(title), measure),
    exportPng: (title) => renderPng({ width, height }, drawAll(title)),
  };
}

interface ExportedBar {
  readonly label: string;
  readonly color: string;
  readonly value: number;
  readonly marks?: readonly BarMark[];
}

const BARS_WIDTH = 880;
const BAR_ROW_HEIGHT = 20;
const BAR_HEIGHT = 11;
const MAX_NAME_WIDTH = 300;
const VALUE_WIDTH = 70;
const MARK_DASH = [3, 2];

/** Return the image of a bar chart, with the names and values beside the bars. */
export function makeBarChartImage(
  bars: readonly ExportedBar[],
  measure?: Renderer['measureText'],
): ChartImage {
  const height = TITLE_HEIGHT + bars.length * BAR_ROW_HEIGHT + MARGIN;
  return makeImage({ width: BARS_WIDTH, height }, (renderer) => drawBars(renderer, bars), measure);
}

function drawBars(renderer: Renderer, bars: readonly ExportedBar[]): void {
  const { text, label: pale, axis } = LIGHT_THEME;
  const name = { ...FONT, color: text, align: 'left', baseline: 'middle' } as const;
  const widths = bars.map(({ label }) => renderer.measureText(label, name));
  const nameWidth = Math.min(MAX_NAME_WIDTH, Math.max(0, ...widths));
  const left = MARGIN + nameWidth + 10;
  const width = BARS_WIDTH - left - VALUE_WIDTH - MARGIN;
  const layout = layoutBars(bars);
  bars.forEach(({ label, color, value }, at) => {
    const top = TITLE_HEIGHT + at * BAR_ROW_HEIGHT;
    const middle = top + BAR_ROW_HEIGHT / 2;
    renderer.clip({ left: MARGIN, top, width: nameWidth, height: BAR_ROW_HEIGHT }, () =>
      renderer.text(label, MARGIN, middle, name),
    );
    const bar = layout.bars[at];
    if (bar)
      renderer.rect(
        {
          left: left + bar.left * width,
          top: middle - BAR_HEIGHT / 2,
          width: bar.width * width,
          height: BAR_HEIGHT,
        },
        { color },
      );
    for (const place of layout.marks[at] ?? []) {
      const x = left + place * width;
      const points = Float32Array.of(x, top, x, top + BAR_ROW_HEIGHT);
      renderer.stroke({ points, length: 4 }, { color: pale, width: 1, dash: MARK_DASH });
    }
    renderer.text(formatValue(value), left + width + 8, middle, { ...name, color: pale });
  });
  renderer.rect(
    {
      left: left + layout.zero * width - 0.5,
      top: TITLE_HEIGHT,
      width: 1,
      height: bars.length * BAR_ROW_HEIGHT,
    },
    { color: axis },
  );
}

interface HeatmapContent {
  readonly xTitle: string;
  readonly yTitle: string;
  readonly xLabels: readonly string[];
  readonly yLabels: readonly string[];
  /** The text and the place from 0 to 1 on the color scale of each cell, row by row. */
  readonly rows: readonly (readonly { readonly text: string; readonly place: number }[])[];
}

const ROW_HEIGHT = 26;
const MIN_CELL_WIDTH = 58;
const MAX_LABEL_WIDTH = 220;

/** Return the image of a heat map. */
export function makeHeatmapImage(
  content: HeatmapContent,
  measure: Renderer['measureText'] = measureText,
): ChartImage {
  const layout = layoutHeatmap(content, (text) => measure(text, FONT));
  return makeImage(layout, (renderer) => drawHeatmap(renderer, content, layout), measure);
}

interface HeatmapLayout extends ImageSize {
  readonly left: number;
  readonly top: number;
  readonly cellWidth: number;
}

function layoutHeatmap(
  { xLabels, yLabels, yTitle, rows }: HeatmapContent,
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
  { xTitle, yTitle, xLabels, yLabels, rows }: HeatmapContent,
  { left, top, cellWidth }: HeatmapLayout,
): void {
  const { text, label: pale } = LIGHT_THEME;
  const style = { ...FONT, color: pale, align: 'center', baseline: 'middle' } as const;
  const write = (label: string, x: number, y: number, limit: number, more = {}) =>
    renderer.clip({ left: x - limit / 2, top: y, width: limit, height: ROW_HEIGHT }, () =>
      renderer.text(label, x, y + ROW_HEIGHT / 2, { ...style, ...more }),
    );
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
