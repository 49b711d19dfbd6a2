import type { Point } from '../../../charts/renderer/renderer';
import {
  getViewAxes,
  getEyePosition,
  getHeightAtTarget,
  type Projection,
  type Orbit,
} from '../../../charts/webgl/orbit-camera';

export interface ScreenSize {
  readonly width: number;
  readonly height: number;
}

/** Side of the squares in which points are looked for, in pixels. */
const CELL_PX = 24;

/** Where each point is on the screen, and which are near a place there. */
export class ScreenIndex {
  /** `x y` of each point; NaN where it is not seen. */
  readonly xy: Float32Array;
  readonly #size: ScreenSize;
  #cells: { readonly starts: Int32Array; readonly rows: Int32Array } | null = null;

  constructor(places: Float32Array, seen: Uint8Array | null, eye: CameraView) {
    this.#size = eye.size;
    this.xy = projectPoints(places, seen, eye);
  }

  positionOf(row: number): Point | null {
    const [x = NaN, y = NaN] = this.xy.subarray(2 * row, 2 * row + 2);
    return Number.isNaN(x) || Number.isNaN(y) ? null : { x, y };
  }

  /** The nearest point within `reach` pixels; null for none. */
  findNearest({ x, y }: Point, reach: number): number | null {
    let [best, least] = [-1, reach * reach];
    this.#visitNear(x, y, reach, (row) => {
      const [dx, dy] = [(this.xy[2 * row] ?? 0) - x, (this.xy[2 * row + 1] ?? 0) - y];
      const square = dx * dx + dy * dy;
      if (square <= least) [best, least] = [row, square];
    });
    return best < 0 ? null : best;
  }

  /** All points in a box whose place `isIn`. */
  rowsInBox(
    from: Point,
    to: Point,
    isIn: (x: number, y: number) => boolean = () => true,
  ): number[] {
    const [left, right] = [Math.min(from.x, to.x), Math.max(from.x, to.x)];
    const [top, bottom] = [Math.min(from.y, to.y), Math.max(from.y, to.y)];
    const rows: number[] = [];
    for (let row = 0; 2 * row < this.xy.length; row++) {
      const x = this.xy[2 * row] ?? NaN;
      const y = this.xy[2 * row + 1] ?? NaN;
      if (x >= left && x <= right && y >= top && y <= bottom && isIn(x, y)) rows.push(row);
    }
    return rows;
  }

  /** One point for each square of the screen that has any, at most `most` of them. */
  sample(most: number): number[] {
    const { starts, rows } = this.#getGrid();
    const found: number[] = [];
    for (let cell = 0; cell + 1 < starts.length; cell++) {
      const [start = 0, end = 0] = [starts[cell], starts[cell + 1]];
      if (end > start) found.push(rows[start] ?? 0);
    }
    const stride = Math.max(1, found.length / most);
    return Array.from(
      { length: Math.min(most, found.length) },
      (_, at) => found[Math.floor(at * stride)] ?? 0,
    );
  }

  #visitNear(x: number, y: number, reach: number, visit: (row: number) => void): void {
    const { starts, rows } = this.#getGrid();
    const { wide, high } = gridSize(this.#size);
    const [first, last] = [cellIndex(x - reach, wide), cellIndex(x + reach, wide)];
    for (let line = cellIndex(y - reach, high); line <= cellIndex(y + reach, high); line++) {
      const end = starts[line * wide + last + 1] ?? 0;
      for (let at = starts[line * wide + first] ?? 0; at < end; at++) visit(rows[at] ?? 0);
    }
  }

  /** Rows sorted by the square that they are in, counted first so that it takes one pass more. */
  #getGrid(): { readonly starts: Int32Array; readonly rows: Int32Array } {
    if (this.#cells) return this.#cells;
    const { wide, high } = gridSize(this.#size);
    const starts = new Int32Array(wide * high + 1);
    const cells = this.#assignCells(wide, high);
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
      const place = next[cell] ?? 0;
      rows[place] = row;
      next[cell] = place + 1;
    }
    this.#cells = { starts, rows };
    return this.#cells;
  }

  /** In which square each point is; -1 for those outside. */
  #assignCells(wide: number, high: number): Int32Array {
    const { width, height } = this.#size;
    const cells = new Int32Array(this.xy.length / 2);
    for (let row = 0; row < cells.length; row++) {
      const x = this.xy[2 * row] ?? NaN;
      const y = this.xy[2 * row + 1] ?? NaN;
      const isIn = x >= 0 && y >= 0 && x <= width && y <= height;
      cells[row] = isIn ? cellIndex(y, high) * wide + cellIndex(x, wide) : -1;
    }
    return cells;
  }
}

function gridSize({ width, height }: ScreenSize): { wide: number; high: number } {
  return { wide: Math.floor(width / CELL_PX) + 1, high: Math.floor(height / CELL_PX) + 1 };
}

function cellIndex(place: number, count: number): number {
  return Math.max(0, Math.min(count - 1, Math.floor(place / CELL_PX)));
}

export interface CameraView {
  readonly orbit: Orbit;
  readonly lens: Projection;
  readonly size: ScreenSize;
}

/** What the graphics card does to each point, once more for who looks for one. */
function projectPoints(
  places: Float32Array,
  seen: Uint8Array | null,
  eye: CameraView,
): Float32Array {
  const count = places.length / 3;
  const xy = new Float32Array(2 * count);
  const { right, above, back } = getViewAxes(eye.orbit, 'y');
  const [ex, ey, ez] = getEyePosition(eye.orbit, eye.lens, 'y');
  const { width, height } = eye.size;
  const [rx, ry, rz] = right;
  const [ax, ay, az] = above;
  const [bx, by, bz] = back;
  const isFlat = eye.lens.orthographic;
  const scale = isFlat
    ? height / getHeightAtTarget(eye.orbit, eye.lens)
    : height / 2 / Math.tan((eye.lens.fov * Math.PI) / 360);
  for (let row = 0; row < count; row++) {
    const x = (places[3 * row] ?? 0) - ex;
    const y = (places[3 * row + 1] ?? 0) - ey;
    const z = (places[3 * row + 2] ?? 0) - ez;
    const away = -(x * bx + y * by + z * bz);
    const isSeen = (!seen || seen[row] !== 0) && (isFlat || away > 0.002);
    const size = isSeen ? (isFlat ? scale : scale / away) : NaN;
    xy[2 * row] = width / 2 + (x * rx + y * ry + z * rz) * size;
    xy[2 * row + 1] = height / 2 - (x * ax + y * ay + z * az) * size;
  }
  return xy;
}

/** Whether a place is inside a line drawn around it. */
export function isInsidePolygon(line: readonly Point[], x: number, y: number): boolean {
  let inside = false;
  for (let at = 0, before = line.length - 1; at < line.length; before = at++) {
    const [one, other] = [line[at], line[before]];
    if (!one || !other || one.y > y === other.y > y) continue;
    if (x < ((other.x - one.x) * (y - one.y)) / (other.y - one.y) + one.x) inside = !inside;
  }
  return inside;
}
