import { type Axis, placesOn } from './axis';
import type { Column } from './column';

/** An axis with some room at its ends, and where each session stands on it. */
export interface Straight {
  readonly axis: Axis;
  readonly places: Float32Array;
  /** The same, but sessions that share one of few places lie beside each other: across, and up. */
  readonly across: Float32Array;
  readonly up: Float32Array;
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
    const axis = withRoom(this.#make(column));
    const places = placesOn(axis);
    const [across, up] = [GOLDEN, PLASTIC].map((share) => spreadOut(axis, places, share));
    const straight = { axis, places, across: across ?? places, up: up ?? places };
    this.#known.set(column.key, straight);
    return straight;
  }
}

/** Room at both ends, as parts of the axis: more where sessions lie beside each other. */
const END = 0.03;
const WIDE_END = 0.12;

/** The same axis, but no session stands at the very edge. */
function withRoom(axis: Axis): Axis {
  if (axis.column.words) return axis;
  const room = axis.hasFew ? WIDE_END / 2 : END;
  const inwards = (place: number): number => room + place * (1 - 2 * room);
  return {
    ...axis,
    at: (value) => inwards(axis.at(value)),
    valueAt: (place) => axis.valueAt((place - room) / (1 - 2 * room)),
    ticks: axis.ticks.map(({ place, text }) => ({ place: inwards(place), text })),
  };
}

/** Part of the way to the next place that sessions lie within. */
const ROOM = 0.5;
/**
 * Multiples of such numbers put neighbours far apart, however many there are; two of them, so that
 * dots do not line up where both axes have few places.
 */
const GOLDEN = 0.6180339887;
const PLASTIC = 0.569840291;

function spreadOut({ ticks, hasFew }: Axis, places: Float32Array, share: number): Float32Array {
  if (!hasFew || ticks.length === places.length) return places;
  const room = Math.min(WIDE_END, ROOM / Math.max(1, ticks.length));
  return places.map((place, row) => place + ((((row + 1) * share) % 1) - 0.5) * room);
}
