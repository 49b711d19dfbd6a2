import { extentOf } from '../base/extent';

/** One line reduced to columns of pixels, with null where a column has no point. */
export interface SparkLine {
  readonly colour: string;
  readonly dashed: boolean;
  readonly low: readonly (number | null)[];
  readonly high: readonly (number | null)[];
  readonly last: readonly (number | null)[];
}

const PAD = 2;
const DASH = [3, 2];

/** Draws lines that share their columns over the whole canvas, sharp on any screen. */
export function drawSparkline(canvas: HTMLCanvasElement, lines: readonly SparkLine[]): void {
  const context = canvas.getContext('2d');
  if (!context) return;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * devicePixelRatio);
  canvas.height = Math.round(height * devicePixelRatio);
  context.scale(devicePixelRatio, devicePixelRatio);
  const extent = extentOf(lines.flatMap((line) => [line.low, line.high]));
  if (!extent) return;
  const span = extent.high - extent.low;
  const y = (value: number): number => {
    const part = span > 0 ? (value - extent.low) / span : 0.5;
    return height - PAD - part * (height - 2 * PAD);
  };
  for (const line of lines) drawLine(context, line, width, y);
}

function drawLine(
  context: CanvasRenderingContext2D,
  line: SparkLine,
  width: number,
  y: (value: number) => number,
): void {
  const columns = line.last.length;
  const x = (column: number): number => PAD + ((column + 0.5) / columns) * (width - 2 * PAD);
  context.strokeStyle = context.fillStyle = line.colour;
  context.lineWidth = 1.25;
  context.lineJoin = 'round';
  context.setLineDash(line.dashed ? DASH : []);
  context.beginPath();
  const drawn = tracePath(context, line, x, y);
  context.stroke();
  if (drawn.length === 1 && drawn[0]) context.fillRect(drawn[0].x - 1.5, drawn[0].y - 1.5, 3, 3);
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Each column is a stroke from its lowest to its highest point that leaves where its last is. */
function tracePath(
  context: CanvasRenderingContext2D,
  line: SparkLine,
  x: (column: number) => number,
  y: (value: number) => number,
): Point[] {
  const points: Point[] = [];
  for (let column = 0; column < line.last.length; column++) {
    const values = [line.low[column], line.high[column], line.last[column]];
    for (const value of values) {
      if (value === null || value === undefined || !Number.isFinite(value)) continue;
      const point = { x: x(column), y: y(value) };
      const before = points.at(-1);
      if (before?.x === point.x && before.y === point.y) continue;
      if (before) context.lineTo(point.x, point.y);
      else context.moveTo(point.x, point.y);
      points.push(point);
    }
  }
  return points;
}
