/** Bar charts as images, with the names and values beside the bars. */
import { formatValue } from '../../lib/format';
import { LIGHT_THEME, measureText, type Renderer } from '../renderer/renderer';
import { renderPng, renderSvg } from '../renderer/image-export';
import { layoutBars } from './BarChart.svelte';

interface ExportedBar {
  readonly label: string;
  readonly color: string;
  readonly value: number;
}

const WIDTH = 880;
const MARGIN = 16;
const TITLE_HEIGHT = 36;
const ROW_HEIGHT = 20;
const BAR_HEIGHT = 11;
const FONT_SIZE = 11.5;
const MAX_NAME_WIDTH = 300;
const VALUE_WIDTH = 70;

/** Return the image of a bar chart, in the light theme. */
export function makeBarChartImage(bars: readonly ExportedBar[]): {
  exportSvg(title: string): string;
  exportPng(title: string): Promise<Blob>;
} {
  const size = { width: WIDTH, height: TITLE_HEIGHT + bars.length * ROW_HEIGHT + MARGIN };
  const draw = (title: string) => (renderer: Renderer) => drawBars(renderer, bars, size, title);
  return {
    exportSvg: (title) => renderSvg(size, title, draw(title)),
    exportPng: (title) => renderPng(size, draw(title)),
  };
}

function drawBars(
  renderer: Renderer,
  bars: readonly ExportedBar[],
  size: { readonly width: number; readonly height: number },
  title: string,
): void {
  const { background, text, label: pale, axis } = LIGHT_THEME;
  const name = { size: FONT_SIZE, color: text, align: 'left', baseline: 'middle' } as const;
  renderer.rect({ left: 0, top: 0, ...size }, { color: background });
  renderer.text(title, MARGIN, 12, {
    ...{ size: 15, bold: true, color: text, align: 'left', baseline: 'top' },
  });
  const widths = bars.map(({ label }) => measureText(label, name));
  const nameWidth = Math.min(MAX_NAME_WIDTH, Math.max(0, ...widths));
  const left = MARGIN + nameWidth + 10;
  const width = size.width - left - VALUE_WIDTH - MARGIN;
  const layout = layoutBars(bars.map(({ value }) => value));
  bars.forEach(({ label, color, value }, at) => {
    const top = TITLE_HEIGHT + at * ROW_HEIGHT;
    const middle = top + ROW_HEIGHT / 2;
    renderer.clip({ left: MARGIN, top, width: nameWidth, height: ROW_HEIGHT }, () =>
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
    renderer.text(formatValue(value), left + width + 8, middle, { ...name, color: pale });
  });
  renderer.rect(
    {
      left: left + layout.zero * width - 0.5,
      top: TITLE_HEIGHT,
      width: 1,
      height: bars.length * ROW_HEIGHT,
    },
    { color: axis },
  );
}
