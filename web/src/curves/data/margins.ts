import type { Band, Line } from '../../charts/types';
import type { CurveCard } from '../card';
import { lineId, runOf } from './drawing';

/**
 * Bands out of the lines of a card: where an edge was not logged at a place of its line, what it was
 * between the places around it holds. A run that lacks one of the three has no band. Nothing is
 * smoothed, as a smooth line says nothing of the edges that belong to its points.
 */
export function makeMargins(lines: readonly Line[], { margins }: CurveCard): Band[] {
  const byId = new Map(lines.map((line) => [line.id, line]));
  const runs = [...new Set(lines.map(({ id }) => runOf(id)))];
  return margins.flatMap(({ value, lower, upper }) =>
    runs.flatMap((run) => {
      const [line, low, high] = [value, lower, upper].map((tag) => byId.get(lineId(run, tag)));
      return line && low && high ? [bandOf(line, low, high)] : [];
    }),
  );
}

function bandOf(line: Line, low: Line, high: Line): Band {
  const { id, label, colour, axis, x, y, raw = y } = line;
  return { id, label, colour, axis, x, center: raw, low: along(x, low), high: along(x, high) };
}

/** What a line is at some rising places; NaN beyond its ends. */
function along(places: Line['x'], { x, y: smooth, raw: y = smooth }: Line): Float64Array {
  const found = new Float64Array(places.length).fill(NaN);
  let at = 0;
  for (let place = 0; place < places.length; place++) {
    const wanted = places[place] ?? NaN;
    while (at < x.length - 1 && (x[at + 1] ?? Infinity) <= wanted) at++;
    found[place] = between(x[at], y[at], x[at + 1], y[at + 1], wanted);
  }
  return found;
}

function between(x0 = NaN, y0 = NaN, x1 = NaN, y1 = NaN, wanted: number): number {
  if (wanted === x0) return y0;
  if (!(wanted > x0)) return NaN;
  return y0 + ((y1 - y0) * (wanted - x0)) / (x1 - x0);
}
