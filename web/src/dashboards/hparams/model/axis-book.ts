import { type Axis, placesOn } from './axis';
import type { Column } from './column';

/** An axis, and where each session stands on it. */
export interface Straight {
  readonly axis: Axis;
  readonly places: Float32Array;
  /** The same, but for those that share one of few places: they lie beside each other. */
  readonly spread: Float32Array;
}

/** Axes are laid out once, however many planes have them. */
export class AxisBook {
  readonly #known = new Map<string, Straight>();
  readonly #make: (column: Column) => Axis;

  constructor(make: (column: Column) => Axis) {
    this.#make = make;
  }

  get(column: Column): Straight {
    const known = this.#known.get(column.key);
    if (known) return known;
    const axis = this.#make(column);
    const places = placesOn(axis);
    const straight = { axis, places, spread: spreadOut(axis, places) };
    this.#known.set(column.key, straight);
    return straight;
  }
}

/** Part of the way to the next place that sessions lie within. */
const ROOM = 0.5;
/** The golden ratio puts neighbours far apart, however many there are. */
const GOLDEN = 0.6180339887;

function spreadOut({ ticks, hasFew }: Axis, places: Float32Array): Float32Array {
  if (!hasFew || ticks.length === places.length) return places;
  const room = Math.min(0.12, ROOM / Math.max(1, ticks.length));
  return places.map((place, row) => {
    const shift = (((row + 1) * GOLDEN) % 1) - 0.5;
    return Math.min(1, Math.max(0, place + shift * room));
  });
}
