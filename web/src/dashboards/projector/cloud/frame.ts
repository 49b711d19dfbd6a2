import type { LayoutAnswer } from '../data/answers';

type Laid = Pick<LayoutAnswer, 'rows' | 'places'>;

/** What a layout is moved and divided by, so that it is seen as a whole. */
export interface Frame {
  readonly centre: readonly number[];
  readonly radius: number;
}

/** Of all distances from the middle this share decides how far out the frame reaches. */
const INSIDE = 0.995;
const MOST_MEASURED = 20_000;

export function measureFrame({ places }: Laid): Frame {
  const centre = places.map(meanOf);
  return { centre, radius: reachOf(places, centre) || 1 };
}

/** `x y z` for each of `count` rows, within about one radius; rows without a place are nowhere. */
export function layOut({ rows, places }: Laid, count: number, frame: Frame): Float32Array {
  const laid = new Float32Array(3 * count).fill(rows ? NaN : 0);
  if (rows) for (const row of rows) laid.fill(0, 3 * row, 3 * row + 3);
  places.slice(0, 3).forEach((column, axis) => {
    const middle = frame.centre[axis] ?? 0;
    for (let at = 0; at < column.length; at++) {
      const row = rows ? (rows[at] ?? 0) : at;
      laid[3 * row + axis] = ((column[at] ?? 0) - middle) / frame.radius;
    }
  });
  return laid;
}

function meanOf(column: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < column.length; at++) sum += column[at] ?? 0;
  return column.length > 0 ? sum / column.length : 0;
}

/** A few far away points must not make all others a dot. */
function reachOf(places: readonly Float32Array[], centre: readonly number[]): number {
  const count = places[0]?.length ?? 0;
  const stride = Math.max(1, Math.floor(count / MOST_MEASURED));
  const squares = new Float32Array(Math.ceil(count / stride));
  places.forEach((column, axis) => {
    const middle = centre[axis] ?? 0;
    for (let at = 0; at < squares.length; at++) {
      squares[at] = (squares[at] ?? 0) + ((column[at * stride] ?? 0) - middle) ** 2;
    }
  });
  const sorted = squares.sort();
  return Math.sqrt(sorted[Math.floor(INSIDE * (sorted.length - 1))] ?? 1);
}
