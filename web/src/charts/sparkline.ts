import { getExtent, getRobustExtent } from '../lib/statistics';

/** A line reduced to pixel columns; null for columns without points. */
export interface SparklineSeries {
  readonly color: string;
  readonly dashed: boolean;
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  readonly last: readonly (number | null)[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

interface Scales {
  readonly x: (column: number) => number;
  readonly y: (value: number) => number;
}

const PAD = 2;
const DASH = [4, 3];
const BAND_OPACITY = 0.22;

/** Draw lines with common columns over the whole canvas. */
export function drawSparkline(canvas: HTMLCanvasElement, lines: readonly SparklineSeries[]): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.lineJoin = 'round';
  context.lineWidth = lines.length > 3 ? 1 : 1.3;
  const scales = makeScales(lines, width, height);
  for (const line of lines) drawLine(context, line, scales);
}

/** A single line is fully visible; outliers of several lines may be cut off. */
function makeScales(lines: readonly SparklineSeries[], width: number, height: number): Scales {
  const columns = lines.flatMap(({ min, max }) => [min, max]);
  const extent = lines.length > 1 ? getRobustExtent(columns) : getExtent(columns);
  const { low, high } = extent ?? { low: 0, high: 0 };
  const span = high - low;
  const count = lines[0]?.last.length ?? 1;
  return {
    x: (column) => PAD + ((column + 0.5) / count) * (width - 2 * PAD),
    y: (value) => {
      const part = span > 0 ? (value - low) / span : 0.5;
      return height - PAD - part * (height - 2 * PAD);
    },
  };
}

/** Draw the last values as a line and the extremes as a band behind it. */
function drawLine(context: CanvasRenderingContext2D, line: SparklineSeries, scales: Scales): void {
  const path = pointsOf(line.last, scales);
  context.strokeStyle = context.fillStyle = line.color;
  context.globalAlpha = BAND_OPACITY;
  tracePoints(context, [...pointsOf(line.max, scales), ...pointsOf(line.min, scales).reverse()]);
  context.fill();
  context.globalAlpha = 1;
  context.setLineDash(line.dashed ? DASH : []);
  tracePoints(context, path);
  context.stroke();
  const only = path.length === 1 ? path[0] : undefined;
  if (only) context.fillRect(only.x - 1.5, only.y - 1.5, 3, 3);
}

function pointsOf(values: readonly (number | null)[], { x, y }: Scales): Point[] {
  return values.flatMap((value, column) =>
    value === null || !Number.isFinite(value) ? [] : [{ x: x(column), y: y(value) }],
  );
}

function tracePoints(context: CanvasRenderingContext2D, points: readonly Point[]): void {
  context.beginPath();
  for (const { x, y } of points) context.lineTo(x, y);
}
