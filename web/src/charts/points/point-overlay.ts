import { FONT_FAMILY, type Point } from '../renderer/renderer';
import {
  getEyePosition,
  getHeightAtTarget,
  getViewAxes,
  type Orbit,
  type Projection,
} from '../webgl/orbit-camera';

interface ScreenSize {
  readonly width: number;
  readonly height: number;
}

/** Side of the cells of the search grid. */
const CELL_PX = 24;

/** Positions of points on the screen, with a grid to find points near a position. */
export class ScreenIndex {
  /** `x y` of each point; NaN if it is not visible. */
  readonly xy: Float32Array;
  readonly #size: ScreenSize;
  #cells: { readonly starts: Int32Array; readonly rows: Int32Array } | null = null;

  constructor(positions: Float32Array, visible: Uint8Array | null, view: CameraView) {
    this.#size = view.size;
    this.xy = projectPoints(positions, visible, view);
  }

  positionOf(row: number): Point | null {
    const [x = NaN, y = NaN] = this.xy.subarray(2 * row, 2 * row + 2);
    return Number.isNaN(x) || Number.isNaN(y) ? null : { x, y };
  }

  /** Return the nearest point within `radius` pixels; null for none. */
  findNearest({ x, y }: Point, radius: number): number | null {
    let [best, least] = [-1, radius * radius];
    this.#visitNear(x, y, radius, (row) => {
      const [dx, dy] = [(this.xy[2 * row] ?? 0) - x, (this.xy[2 * row + 1] ?? 0) - y];
      const square = dx * dx + dy * dy;
      if (square <= least) [best, least] = [row, square];
    });
    return best < 0 ? null : best;
  }

  /** Return the points in a box whose position `isInside`. */
  rowsInBox(
    from: Point,
    to: Point,
    isInside: (x: number, y: number) => boolean = () => true,
  ): number[] {
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    const rows: number[] = [];
    for (let row = 0; 2 * row < this.xy.length; row++) {
      const x = this.xy[2 * row] ?? NaN;
      const y = this.xy[2 * row + 1] ?? NaN;
      if (x >= left && x <= right && y >= top && y <= bottom && isInside(x, y)) rows.push(row);
    }
    return rows;
  }

  /** Return one point of each cell that has any, at most `limit` points. */
  sample(limit: number): number[] {
    const { starts, rows } = this.#getGrid();
    const found: number[] = [];
    for (let cell = 0; cell + 1 < starts.length; cell++) {
      const [start = 0, end = 0] = [starts[cell], starts[cell + 1]];
      if (end > start) found.push(rows[start] ?? 0);
    }
    const stride = Math.max(1, found.length / limit);
    return Array.from(
      { length: Math.min(limit, found.length) },
      (_, index) => found[Math.floor(index * stride)] ?? 0,
    );
  }

  #visitNear(x: number, y: number, radius: number, visit: (row: number) => void): void {
    const { starts, rows } = this.#getGrid();
    const { columns, lines } = getGridSize(this.#size);
    const [left, right] = [getCell(x - radius, columns), getCell(x + radius, columns)];
    for (let line = getCell(y - radius, lines); line <= getCell(y + radius, lines); line++) {
      const end = starts[line * columns + right + 1] ?? 0;
      for (let index = starts[line * columns + left] ?? 0; index < end; index++) {
        visit(rows[index] ?? 0);
      }
    }
  }

  /** Rows sorted by cell (counting sort), and where each cell starts. */
  #getGrid(): { readonly starts: Int32Array; readonly rows: Int32Array } {
    if (this.#cells) return this.#cells;
    const { columns, lines } = getGridSize(this.#size);
    const starts = new Int32Array(columns * lines + 1);
    const cells = this.#assignCells(columns, lines);
    for (let row = 0; row < cells.length; row++) {
      const cell = cells[row] ?? -1;
      if (cell >= 0) starts[cell + 1] = (starts[cell + 1] ?? 0) + 1;
    }
    for (let cell = 1; cell < starts.length; cell++) {
      starts[cell] = (starts[cell] ?? 0) + (starts[cell - 1] ?? 0);
    }
    const next = starts.slice();
    const rows = new Int32Array(starts.at(-1) ?? 0);
    for (let row = 0; row < cells.length; row++) {
      const cell = cells[row] ?? -1;
      if (cell < 0) continue;
      const index = next[cell] ?? 0;
      rows[index] = row;
      next[cell] = index + 1;
    }
    this.#cells = { starts, rows };
    return this.#cells;
  }

  /** Return the cell of each point; -1 for points outside of the screen. */
  #assignCells(columns: number, lines: number): Int32Array {
    const { width, height } = this.#size;
    const cells = new Int32Array(this.xy.length / 2);
    for (let row = 0; row < cells.length; row++) {
      const x = this.xy[2 * row] ?? NaN;
      const y = this.xy[2 * row + 1] ?? NaN;
      const isInside = x >= 0 && y >= 0 && x <= width && y <= height;
      cells[row] = isInside ? getCell(y, lines) * columns + getCell(x, columns) : -1;
    }
    return cells;
  }
}

function getGridSize({ width, height }: ScreenSize): { columns: number; lines: number } {
  return { columns: Math.floor(width / CELL_PX) + 1, lines: Math.floor(height / CELL_PX) + 1 };
}

function getCell(px: number, count: number): number {
  return Math.max(0, Math.min(count - 1, Math.floor(px / CELL_PX)));
}

export interface CameraView {
  readonly orbit: Orbit;
  readonly projection: Projection;
  readonly size: ScreenSize;
}

/** Project points to the screen, as the vertex shader does. */
function projectPoints(
  positions: Float32Array,
  visible: Uint8Array | null,
  { orbit, projection, size: { width, height } }: CameraView,
): Float32Array {
  const count = positions.length / 3;
  const xy = new Float32Array(2 * count);
  const { right, above, back } = getViewAxes(orbit, 'y');
  const [ex, ey, ez] = getEyePosition(orbit, projection, 'y');
  const [rx, ry, rz] = right;
  const [ax, ay, az] = above;
  const [bx, by, bz] = back;
  const isFlat = projection.orthographic;
  const scale = isFlat
    ? height / getHeightAtTarget(orbit, projection)
    : height / 2 / Math.tan((projection.fov * Math.PI) / 360);
  for (let row = 0; row < count; row++) {
    const x = (positions[3 * row] ?? 0) - ex;
    const y = (positions[3 * row + 1] ?? 0) - ey;
    const z = (positions[3 * row + 2] ?? 0) - ez;
    const distance = -(x * bx + y * by + z * bz);
    const isVisible = (!visible || visible[row] !== 0) && (isFlat || distance > 0.002);
    const pxPerUnit = isVisible ? (isFlat ? scale : scale / distance) : NaN;
    xy[2 * row] = width / 2 + (x * rx + y * ry + z * rz) * pxPerUnit;
    xy[2 * row + 1] = height / 2 - (x * ax + y * ay + z * az) * pxPerUnit;
  }
  return xy;
}

/** Return whether a position is inside a polygon (even-odd rule). */
export function isInsidePolygon(corners: readonly Point[], x: number, y: number): boolean {
  let isInside = false;
  for (let index = 0, previous = corners.length - 1; index < corners.length; previous = index++) {
    const [a, b] = [corners[index], corners[previous]];
    if (!a || !b || a.y > y === b.y > y) continue;
    if (x < ((b.x - a.x) * (y - a.y)) / (b.y - a.y) + a.x) isInside = !isInside;
  }
  return isInside;
}

/** A label beside a point. Earlier ones have priority where labels overlap. */
export interface PointLabel {
  readonly at: Point;
  readonly text: string;
  readonly isEmphasized: boolean;
}

/** What is drawn over the points. */
interface OverlayContent {
  readonly width: number;
  readonly height: number;
  readonly textColor: string;
  readonly background: string;
  readonly accent: string;
  readonly labels: readonly PointLabel[];
  /** Names of regions, centered; they have priority over labels. */
  readonly regions?: readonly { readonly at: Point; readonly text: string }[];
  /** Distance from the center of a point to its label. */
  readonly labelGap: number;
  /** Circles around points, in the color of text unless given. */
  readonly rings: readonly {
    readonly at: Point;
    readonly radius: number;
    readonly color?: string;
  }[];
  /** Lines from a point to its neighbors. */
  readonly neighborLines: { readonly from: Point; readonly to: readonly Point[] } | null;
  /** Lines between consecutive points of a sequence. */
  readonly sequenceLines: readonly (readonly [Point, Point])[];
  /** Outline of a selection that is being drawn. */
  readonly outline: readonly Point[];
}

const LABEL_HEIGHT_PX = 14;
const MAX_LABEL_CHARACTERS = 32;
const PLAIN_FONT = `11px ${FONT_FAMILY}`;
const EMPHASIZED_FONT = `600 12px ${FONT_FAMILY}`;
const REGION_FONT = `600 13px ${FONT_FAMILY}`;
const REGION_HEIGHT_PX = 18;

export function drawOverlay(canvas: CanvasRenderingContext2D, content: OverlayContent): void {
  canvas.clearRect(0, 0, content.width, content.height);
  drawSequenceLines(canvas, content);
  drawNeighborLines(canvas, content);
  drawRings(canvas, content);
  drawLabels(canvas, content);
  drawOutline(canvas, content);
}

function drawSequenceLines(
  canvas: CanvasRenderingContext2D,
  { sequenceLines, textColor }: OverlayContent,
): void {
  if (sequenceLines.length === 0) return;
  canvas.globalAlpha = 0.25;
  canvas.strokeStyle = textColor;
  canvas.lineWidth = 1;
  canvas.beginPath();
  for (const [from, to] of sequenceLines) {
    canvas.moveTo(from.x, from.y);
    canvas.lineTo(to.x, to.y);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
}

function drawNeighborLines(
  canvas: CanvasRenderingContext2D,
  { neighborLines, accent }: OverlayContent,
): void {
  if (!neighborLines) return;
  canvas.globalAlpha = 0.4;
  canvas.strokeStyle = accent;
  canvas.lineWidth = 1;
  canvas.beginPath();
  for (const { x, y } of neighborLines.to) {
    canvas.moveTo(neighborLines.from.x, neighborLines.from.y);
    canvas.lineTo(x, y);
  }
  canvas.stroke();
  canvas.globalAlpha = 1;
}

function drawRings(canvas: CanvasRenderingContext2D, { rings, textColor }: OverlayContent): void {
  canvas.lineWidth = 1.75;
  for (const { at, radius, color = textColor } of rings) {
    canvas.strokeStyle = color;
    canvas.beginPath();
    canvas.arc(at.x, at.y, radius, 0, 2 * Math.PI);
    canvas.stroke();
  }
}

/** Labels that would overlap others are left out. */
function drawLabels(canvas: CanvasRenderingContext2D, content: OverlayContent): void {
  const { labels, labelGap, textColor, background, width } = content;
  const placed: Box[] = drawRegions(canvas, content);
  canvas.lineJoin = 'round';
  canvas.textBaseline = 'middle';
  canvas.strokeStyle = background;
  canvas.fillStyle = textColor;
  canvas.lineWidth = 3;
  for (const { at, text, isEmphasized } of labels) {
    canvas.font = isEmphasized ? EMPHASIZED_FONT : PLAIN_FONT;
    const short =
      text.length > MAX_LABEL_CHARACTERS ? `${text.slice(0, MAX_LABEL_CHARACTERS - 1)}…` : text;
    const textWidth = canvas.measureText(short).width;
    const isCut = at.x + labelGap + textWidth > width;
    const left = isCut ? at.x - labelGap - textWidth : at.x + labelGap;
    const box = {
      left,
      right: left + textWidth,
      top: at.y - LABEL_HEIGHT_PX / 2,
      bottom: at.y + LABEL_HEIGHT_PX / 2,
    };
    if (placed.some((other) => overlaps(box, other))) continue;
    placed.push(box);
    canvas.globalAlpha = isEmphasized ? 1 : 0.8;
    canvas.strokeText(short, left, at.y);
    canvas.fillText(short, left, at.y);
  }
  canvas.globalAlpha = 1;
}

/** Return the boxes of the names; names that would overlap earlier ones are left out. */
function drawRegions(
  canvas: CanvasRenderingContext2D,
  { regions = [], textColor, background, width, height }: OverlayContent,
): Box[] {
  const placed: Box[] = [];
  canvas.save();
  canvas.font = REGION_FONT;
  canvas.textBaseline = 'middle';
  canvas.textAlign = 'center';
  canvas.lineJoin = 'round';
  canvas.lineWidth = 4;
  canvas.strokeStyle = background;
  canvas.fillStyle = textColor;
  for (const { at, text } of regions) {
    const half = canvas.measureText(text).width / 2;
    const box = {
      left: at.x - half,
      right: at.x + half,
      top: at.y - REGION_HEIGHT_PX / 2,
      bottom: at.y + REGION_HEIGHT_PX / 2,
    };
    const isOutside = at.x < 0 || at.y < 0 || at.x > width || at.y > height;
    if (isOutside || placed.some((other) => overlaps(box, other))) continue;
    placed.push(box);
    canvas.strokeText(text, at.x, at.y);
    canvas.fillText(text, at.x, at.y);
  }
  canvas.restore();
  return placed;
}

interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function overlaps(a: Box, b: Box): boolean {
  return a.left < b.right + 4 && a.right > b.left - 4 && a.top < b.bottom && a.bottom > b.top;
}

function drawOutline(canvas: CanvasRenderingContext2D, { outline, accent }: OverlayContent): void {
  const [first] = outline;
  if (!first) return;
  canvas.beginPath();
  canvas.moveTo(first.x, first.y);
  for (const { x, y } of outline) canvas.lineTo(x, y);
  canvas.closePath();
  canvas.fillStyle = canvas.strokeStyle = accent;
  canvas.globalAlpha = 0.1;
  canvas.fill();
  canvas.globalAlpha = 1;
  canvas.lineWidth = 1.5;
  canvas.setLineDash([5, 4]);
  canvas.stroke();
  canvas.setLineDash([]);
}
